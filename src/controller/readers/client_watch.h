// src/controller/readers/client_watch.h - those who wait for jobs: they are told how the jobs come along, and jobs
// whose srun or salloc is gone end (absent_clients.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "client.pb.h"
#include "controller/clients.h"
#include "controller/readers/absent_clients.h"
#include "controller/readers/reader.h"

namespace millrace {

// Whoever waits for a job hears once that it has started and once that it has ended, and in between of nodes that it
// lost. A client that leaves waits no more.
class ClientWatch final : public Reader {
 public:
  struct Waiter {
    ClientId client;
    std::uint64_t number;
    bool until_started;
    bool as_client = false;  // it is what the job is for
    bool told_start = false;
    std::size_t told_lost = 0;  // nodes that failed while the job went on
  };
  using View = std::function<ReadView()>;

  ClientWatch(const Context& context, View view) : c_(context), view_(std::move(view)) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;
  void time(Time now) override;

  // Its answer comes when there is news, perhaps at once.
  void wait_for(JobKey key, Waiter waiter);
  // A job was submitted whose client has yet to ask how it comes along.
  void expect(JobKey key) { absent_.expect(c_.commit.decided(), key, c_.loop.steady()); }
  void client_left(ClientId client);

 private:
  // What those who wait for a job are told.
  struct Standing {
    wire::JobProgress progress;
    bool started = false;
    std::size_t lost = 0;
  };
  void tell(JobKey key);
  Standing standing_of(JobKey key) const;
  static std::optional<wire::Reply> news_for(Waiter& waiter, const Standing& standing);
  wire::JobProgress progress_of(JobKey key) const;

  const Context& c_;
  View view_;
  std::map<JobKey, std::vector<Waiter>> waiters_;
  AbsentClients absent_;
};

}  // namespace millrace
