// src/adapters/own_agents.h - our own agents as a resource manager: one authenticated session per node, numbered
// orders, signed launches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "ports/loop.h"
#include "ports/resource_manager.h"
#include "ports/transport.h"
#include "wire/credential.h"

namespace millrace::wire {
class ToAgent;
class ToController;
class AgentHello;
}  // namespace millrace::wire

namespace millrace {

class OwnAgents final : public ResourceManager {
 public:
  struct Settings {
    std::string cluster_name;
    std::uint32_t heartbeat_seconds = 10;
    Duration credential_life = seconds(120);  // a launch that arrives later is refused and given again
  };
  // One connection of a relay. The next one of the same name is another relay: it may have another key.
  using RelayId = std::uint64_t;
  // Clients of relays, named by the relay and its number for them.
  struct RelayHooks {
    std::function<void(RelayId relay, const KeyName& key, std::uint64_t client, UserId uid, GroupId gid,
                       std::string_view request)>
        request;
    std::function<void(RelayId relay, std::uint64_t client)> closed;
    std::function<void(RelayId relay)> relay_gone;  // and with it all of its clients
  };

  OwnAgents(Loop& loop, const CredentialSigner& signer, Settings settings, std::function<void(const std::string&)> say);
  ~OwnAgents() override;
  // Before the first agent is accepted.
  void serve(ResourceObserver& observer, Epoch epoch, RelayHooks relay = {});

  // A connected agent; who it is was proved by the transport. Returns the handler to give to the link.
  LinkHandler& accept(std::unique_ptr<Link> link, KeyName key);
  LinkHandler& accept(std::unique_ptr<Link> link, std::string node) {
    return accept(std::move(link), KeyName{KeyRole::node, std::move(node)});
  }
  // Connections with a key of this name of an earlier generation end now.
  void revoke(const std::string& node, std::uint32_t generation);

  void launch(const std::string& node, const wire::LaunchPlan& plan, const Owner& owner,
              const std::string& boot_id) override;
  void kill(const std::string& node, const wire::Kill& kill) override;
  void forget(const std::string& node, const wire::Forget& forget) override;
  bool tell_step_manager(const std::string& node, const wire::StepToNode& step) override;
  void signal(const std::string& node, const wire::SignalAttempt& signal) override;
  void suspend(const std::string& node, const wire::Suspend& suspend) override;
  bool tell_step(const std::string& node, const wire::StepOrder& order) override;
  void stop_nodes() override;
  void start_again(const std::string& node) override;
  void reboot(const std::string& node) override;
  void read_configuration() override;
  void set_logging(const std::string& node, const wire::SetLogging& wish) override;
  void log_to(Log& log) { lines_ = &log; }  // lines with levels, besides what is always said
  // For lines that who has a key can cause as often as it likes; without one they are said like all others.
  using SayOften = std::function<void(const std::string& kind, const std::string& line)>;
  void count_lines(SayOften say) { say_often_ = std::move(say); }
  void reply_relayed(RelayId relay, std::uint64_t client, std::string reply);
  // How much waits for a relay, and when it is less: what its clients ask for must not fill its link.
  std::size_t unsent_to(RelayId relay);
  void when_unsent_below(RelayId relay, std::size_t bytes, Task then);

 private:
  class Session;
  void received(Session& session, const wire::ToController& message);
  void hello(Session& session, const wire::AgentHello& hello);
  void refuse(Session& session, const std::string& reason);  // and its end
  void left(Session& session, std::string_view why);
  void end(Session& session);
  void send(Session& session, wire::ToAgent& message);
  bool pass_on(Session& session, JobKey job, wire::ToAgent& message, bool must_arrive);  // false: no room for it
  void send_words(Session& session);
  std::uint64_t configuration_number() const { return epoch_.value << 32 | configuration_; }
  bool may_register(const std::string& node, const wire::AgentHello& hello);
  Session* of_node(const std::string& node);
  Session* of_relay(RelayId relay);

  Loop& loop_;
  const CredentialSigner& signer_;
  Settings settings_;
  std::function<void(const std::string&)> say_;
  SayOften say_often_;
  Log silent_;
  Log* lines_ = &silent_;
  ResourceObserver* observer_ = nullptr;
  Epoch epoch_;
  RelayHooks relay_;
  // In the order they came: where one lies in memory must not matter. Those that have not said hello, too.
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::uint64_t arrived_ = 0;
  std::uint32_t configuration_ =
      1;  // rises when the files have changed; an agent that was away hears of it in its welcome
  struct Registrations {
    std::string last;  // a digest of what was said
    Time paid_until;   // a heartbeat later with each that differs; by the clock that nobody sets
  };
  std::map<std::string, Registrations> registrations_;  // by the name that a key proved
  std::map<std::string, Session*> by_node_;             // those that were let in: only they are heard
};

}  // namespace millrace
