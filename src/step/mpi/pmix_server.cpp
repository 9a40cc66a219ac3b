// src/step/mpi/pmix_server.cpp - see pmix_server.h. The library calls us on a thread of its own; every call is put into
// a queue and served on ours.
#include "step/mpi/pmix_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "mpi/pmi_server.h"
#include "mpi/pmix_library.h"
#include "step/attempt/channel.h"
#include "task.pb.h"

namespace millrace {
namespace {

using namespace pmix;

template <std::size_t size>
void copy_name(char (&to)[size], std::string_view from) {
  std::memset(to, 0, size);
  from.copy(to, size - 1);
}

// An array of what the library is told. Strings and arrays live as long as it does; the library copies them.
class Facts {
 public:
  void add(const char* key, std::string_view text) {
    Info& info = next(key, type_string);
    info.value.data.string = strdup(std::string{text}.c_str());
  }
  void add_count(const char* key, std::size_t number) {
    next(key, type_uint32).value.data.uint32 = static_cast<std::uint32_t>(number);
  }
  void add_small(const char* key, std::size_t number) {
    next(key, type_uint16).value.data.uint16 = static_cast<std::uint16_t>(number);
  }
  void add_rank(const char* key, std::size_t rank) { next(key, type_rank).value.data.rank = static_cast<Rank>(rank); }
  void add_flag(const char* key, bool flag) { next(key, type_bool).value.data.flag = flag; }
  void add_array(const char* key, Facts& facts) {
    next(key, type_data_array).value.data.array = new DataArray{type_info, facts.infos_.size(), facts.infos_.data()};
  }
  Info* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

 private:
  Info& next(const char* key, std::uint16_t type) {
    Info& info = infos_.emplace_back();
    std::memset(&info, 0, sizeof info);
    copy_name(info.key, key);
    info.value.type = type;
    return info;
  }
  std::vector<Info> infos_;
};

// One publish, lookup or unpublish of several names; done when the last answer is there.
struct NamesAsked {
  std::size_t open = 0;
  bool all_done = true;
  std::vector<std::pair<std::string, std::string>> found;
  std::function<void(NamesAsked&)> finish;
};

class PmixServer {
 public:
  PmixServer(PmixLibrary library, Channel supervisor, wire::PmixPlan plan)
      : library_(library), supervisor_(std::move(supervisor)), plan_(std::move(plan)) {
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }

  Result<void> begin();
  void run();

  // On the library's thread.
  void later(std::move_only_function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      todo_.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(wake_, &one, sizeof one);
  }

  // On ours.
  void tell_connected(Rank rank, OnDone done, void* data);
  void tell_finalized(Rank rank, OnDone done, void* data);
  void abort(Rank rank, int status, const std::string& text, OnDone done, void* data);
  void fence(const std::vector<Process>& processes, std::string bytes, OnData done, void* data);
  void ask_modex(const Process& process, OnData done, void* data);
  void publish(Rank rank, const std::vector<std::pair<std::string, std::string>>& values, OnDone done, void* data);
  void unpublish(Rank rank, std::vector<std::string> names, OnDone done, void* data);
  void look_up(const std::vector<std::string>& names, OnFound done, void* data);
  std::string pack(const Value& value);

 private:
  Status register_tasks();
  Status describe_job();
  Result<void> check(Status status, const char* doing) {
    if (status == success || status == operation_succeeded) return {};
    return fail(Errc::invalid, std::string{"PMIx: "} + doing + ": " + library_.error_string(status));
  }
  Process process_of(std::size_t rank) const {
    Process out{};
    copy_name(out.space, plan_.name());
    out.rank = static_cast<Rank>(rank);
    return out;
  }
  void send(const wire::FromPmix& message) { supervisor_.send(message.SerializeAsString()); }
  wire::MpiName& ask_name(wire::FromPmix& message, wire::MpiName::Kind kind, const std::string& name,
                          std::shared_ptr<NamesAsked> asked);
  void hear(const wire::MpiToNode& message);
  void hear_direct(const wire::MpiDirect& direct);
  void hear_name(const wire::MpiNameAnswer& answer);
  static void give(OnData done, void* data, Status status, std::string bytes);

  struct Waiting {
    OnData done;
    void* data;
    std::string bytes;
  };
  PmixLibrary library_;
  Channel supervisor_;
  wire::PmixPlan plan_;
  std::vector<std::uint32_t> own_ranks_;
  std::mutex mutex_;  // of todo_ alone
  std::vector<std::move_only_function<void()>> todo_;
  int wake_ = -1;
  std::map<std::string, Waiting> fences_;
  std::map<std::uint64_t, Waiting> modex_;
  std::map<std::uint64_t, std::pair<std::string, std::shared_ptr<NamesAsked>>> names_;
  std::map<Rank, std::set<std::string>> published_;
  std::uint64_t next_number_ = 1;
};

// The library's calls carry nothing of ours.
PmixServer* the_server = nullptr;

Status on_connected(const Process* process, void*, OnDone done, void* data) noexcept {
  the_server->later([rank = process->rank, done, data] { the_server->tell_connected(rank, done, data); });
  return success;
}

Status on_finalized(const Process* process, void*, OnDone done, void* data) noexcept {
  the_server->later([rank = process->rank, done, data] { the_server->tell_finalized(rank, done, data); });
  return success;
}

Status on_abort(const Process* process, void*, int status, const char* text, Process*, std::size_t, OnDone done,
                void* data) noexcept {
  the_server->later([rank = process->rank, status, words = std::string{text != nullptr ? text : ""}, done, data] {
    the_server->abort(rank, status, words, done, data);
  });
  return success;
}

Status on_fence(const Process* processes, std::size_t count, const Info*, std::size_t, char* bytes, std::size_t size,
                OnData done, void* data) noexcept {
  std::vector<Process> all(processes, processes + count);
  std::string copy = bytes != nullptr ? std::string{bytes, size} : std::string{};
  std::free(bytes);  // ours from here on
  the_server->later([all = std::move(all), copy = std::move(copy), done, data]() mutable {
    the_server->fence(all, std::move(copy), done, data);
  });
  return success;
}

Status on_direct_modex(const Process* process, const Info*, std::size_t, OnData done, void* data) noexcept {
  the_server->later([who = *process, done, data] { the_server->ask_modex(who, done, data); });
  return success;
}

// How far and how long a name is seen; all of ours are seen in the whole step until its end.
bool is_directive(std::string_view key) { return key.starts_with("pmix."); }

Status on_publish(const Process* process, const Info* infos, std::size_t count, OnDone done, void* data) noexcept {
  std::vector<std::pair<std::string, std::string>> values;
  for (std::size_t i = 0; i < count; ++i)
    if (!is_directive(infos[i].key)) values.emplace_back(infos[i].key, the_server->pack(infos[i].value));
  the_server->later([rank = process->rank, values = std::move(values), done, data] {
    the_server->publish(rank, values, done, data);
  });
  return success;
}

std::vector<std::string> names_in(char** keys) {
  std::vector<std::string> out;
  for (; keys != nullptr && *keys != nullptr; ++keys) out.emplace_back(*keys);
  return out;
}

Status on_look_up(const Process*, char** keys, const Info*, std::size_t, OnFound done, void* data) noexcept {
  the_server->later([names = names_in(keys), done, data] { the_server->look_up(names, done, data); });
  return success;
}

Status on_unpublish(const Process* process, char** keys, const Info*, std::size_t, OnDone done, void* data) noexcept {
  the_server->later(
      [rank = process->rank, names = names_in(keys), done, data] { the_server->unpublish(rank, names, done, data); });
  return success;
}

Result<void> PmixServer::begin() {
  the_server = this;
  for (int rank = 0; rank < plan_.node_of_task_size(); ++rank)
    if (plan_.node_of_task(rank) == plan_.node_position()) own_ranks_.push_back(static_cast<std::uint32_t>(rank));
  if (mkdir(plan_.folder().c_str(), 0700) != 0)
    return fail(Errc::io, "make " + plan_.folder() + ": " + std::strerror(errno));
  setenv("PMIX_MCA_preg", "^compress", 0);  // maps as text, which every release reads
  static Module module{};
  module = {on_connected, on_finalized, on_abort, on_fence, on_direct_modex, on_publish, on_look_up, on_unpublish, {}};
  Facts facts;
  facts.add("pmix.srvr.tmpdir", plan_.folder());
  facts.add("pmix.sys.tmpdir", plan_.folder());
  facts.add("pmix.srv.nspace", plan_.name() + ".server");
  facts.add_rank("pmix.srv.rank", plan_.node_position());
  facts.add("pmix.hname", plan_.nodes(static_cast<int>(plan_.node_position())));  // several nodes may be one host
  MR_TRY_VOID(check(library_.server_init(&module, facts.data(), facts.size()), "start the server"));
  MR_TRY_VOID(check(describe_job(), "describe the step"));
  wire::FromPmix ready;
  for (const std::uint32_t rank : own_ranks_) {
    const Process process = process_of(rank);
    MR_TRY_VOID(check(library_.register_client(&process, plan_.uid(), plan_.gid(), nullptr, nullptr, nullptr),
                      "describe a task"));
    char** environment = nullptr;
    MR_TRY_VOID(check(library_.setup_fork(&process, &environment), "prepare a task"));
    wire::PmixTask& task = *ready.mutable_ready()->add_tasks();
    task.set_task(rank);
    for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) task.add_environment(*entry);
  }
  send(ready);
  return {};
}

Status PmixServer::describe_job() {
  const auto tasks = static_cast<std::size_t>(plan_.node_of_task_size());
  std::vector<std::vector<std::uint32_t>> ranks(static_cast<std::size_t>(plan_.nodes_size()));
  for (std::size_t rank = 0; rank < tasks; ++rank)
    ranks.at(plan_.node_of_task(static_cast<int>(rank))).push_back(static_cast<std::uint32_t>(rank));
  std::string names, map;
  std::uint32_t nodes = 0;
  for (int node = 0; node < plan_.nodes_size(); ++node) {
    const auto& here = ranks[static_cast<std::size_t>(node)];
    if (here.empty()) continue;
    ++nodes;
    names += (names.empty() ? "" : ",") + plan_.nodes(node);
    if (!map.empty()) map += ';';
    for (std::size_t i = 0; i < here.size(); ++i) map += (i == 0 ? "" : ",") + std::to_string(here[i]);
  }
  char *node_map = nullptr, *process_map = nullptr;
  if (const Status status = library_.generate_regex(names.c_str(), &node_map); status != success) return status;
  if (const Status status = library_.generate_ppn(map.c_str(), &process_map); status != success) return status;
  std::string peers;
  for (const std::uint32_t rank : own_ranks_) peers += (peers.empty() ? "" : ",") + std::to_string(rank);

  Facts facts;
  facts.add("pmix.jobid", plan_.name());
  facts.add_count("pmix.univ.size", plan_.universe());
  facts.add_count("pmix.job.size", tasks);
  facts.add_count("pmix.max.size", tasks);
  facts.add_count("pmix.job.napps", 1);
  facts.add_count("pmix.app.size", tasks);
  facts.add_count("pmix.num.nodes", nodes);
  facts.add_flag("pmix.spawned", false);
  facts.add("pmix.nmap", node_map);
  facts.add("pmix.pmap", process_map);
  facts.add("pmix.anlmap", process_mapping({plan_.node_of_task().begin(), plan_.node_of_task().end()}));
  facts.add("pmix.lpeers", peers);
  facts.add_count("pmix.local.size", own_ranks_.size());
  facts.add_count("pmix.node.size", own_ranks_.size());
  facts.add_rank("pmix.lldr", own_ranks_.front());
  facts.add_count("pmix.nodeid", plan_.node_position());
  facts.add("pmix.tmpdir", plan_.folder());
  facts.add("pmix.nsdir", plan_.folder());
  std::vector<Facts> of_tasks(tasks);
  for (std::size_t node = 0; node < ranks.size(); ++node)
    for (std::size_t local = 0; local < ranks[node].size(); ++local) {
      const std::uint32_t rank = ranks[node][local];
      Facts& task = of_tasks[rank];
      task.add_rank("pmix.rank", rank);
      task.add_count("pmix.appnum", 0);
      task.add_rank("pmix.grank", rank);
      task.add_rank("pmix.apprank", rank);
      task.add_rank("pmix.aldr", 0);
      task.add_small("pmix.lrank", local);
      task.add_small("pmix.nrank", local);
      task.add_count("pmix.nodeid", node);
      task.add("pmix.hname", plan_.nodes(static_cast<int>(node)));
    }
  for (Facts& task : of_tasks) facts.add_array("pmix.pdata", task);
  return library_.register_nspace(process_of(0).space, static_cast<int>(own_ranks_.size()), facts.data(), facts.size(),
                                  nullptr, nullptr);
}

void PmixServer::tell_connected(Rank rank, OnDone done, void* data) {
  wire::FromPmix message;
  message.set_connected(rank);
  send(message);
  if (done != nullptr) done(success, data);
}

void PmixServer::tell_finalized(Rank rank, OnDone done, void* data) {
  wire::FromPmix message;
  message.set_finalized(rank);
  send(message);
  if (done != nullptr) done(success, data);
}

void PmixServer::abort(Rank rank, int status, const std::string& text, OnDone done, void* data) {
  wire::FromPmix message;
  wire::MpiAbort& abort = *message.mutable_mpi()->mutable_abort();
  abort.set_task(rank);
  abort.set_exit_code(static_cast<std::uint32_t>(status));
  abort.set_text(text);
  send(message);
  if (done != nullptr) done(success, data);
}

void PmixServer::give(OnData done, void* data, Status status, std::string bytes) {
  if (done == nullptr) return;
  auto* kept = new std::string(std::move(bytes));
  done(status, kept->data(), kept->size(), data, [](void* whole) { delete static_cast<std::string*>(whole); }, kept);
}

void PmixServer::fence(const std::vector<Process>& processes, std::string bytes, OnData done, void* data) {
  // The same tasks meet in one fence at a time, so they are its name.
  std::set<std::uint32_t> ranks, nodes;
  bool everybody = false;
  for (const Process& process : processes) {
    everybody = everybody || process.rank == rank_wildcard;
    if (process.rank < static_cast<Rank>(plan_.node_of_task_size())) ranks.insert(process.rank);
  }
  everybody = everybody || ranks.size() == static_cast<std::size_t>(plan_.node_of_task_size());
  for (int rank = 0; rank < plan_.node_of_task_size(); ++rank)
    if (everybody || ranks.contains(static_cast<std::uint32_t>(rank))) nodes.insert(plan_.node_of_task(rank));
  std::string name = "pmix";
  if (!everybody)
    for (const std::uint32_t rank : ranks) name += "." + std::to_string(rank);
  if (!fences_.try_emplace(name, Waiting{done, data, {}}).second) return give(done, data, error, {});
  wire::FromPmix message;
  wire::MpiJoin& join = *message.mutable_mpi()->mutable_join();
  join.set_exchange(name);
  join.set_members(static_cast<std::uint32_t>(nodes.size()));
  join.set_data(std::move(bytes));
  send(message);
}

void PmixServer::ask_modex(const Process& process, OnData done, void* data) {
  if (plan_.name() != process.space || process.rank >= static_cast<Rank>(plan_.node_of_task_size()))
    return give(done, data, not_found, {});
  wire::FromPmix message;
  wire::MpiDirect& direct = *message.mutable_mpi()->mutable_direct();
  direct.set_node(plan_.node_of_task(static_cast<int>(process.rank)));
  direct.set_number(next_number_);
  direct.set_data(std::to_string(process.rank));
  modex_[next_number_++] = {done, data, {}};
  send(message);
}

void PmixServer::hear_direct(const wire::MpiDirect& direct) {
  if (direct.is_answer()) {
    const auto found = modex_.find(direct.number());
    if (found == modex_.end()) return;
    const Waiting waiting = found->second;
    modex_.erase(found);
    return give(waiting.done, waiting.data, direct.failed() ? not_found : success, direct.data());
  }
  // Another node's task wants what one of ours has put; the library answers when it is there.
  struct Asked {
    std::uint32_t node;
    std::uint64_t number;
  };
  auto* asked = new Asked{direct.node(), direct.number()};
  const OnAnswer answer = [](Status status, char* bytes, std::size_t size, void* data) {
    the_server->later([status, copy = bytes != nullptr ? std::string{bytes, size} : std::string{},
                       asked = static_cast<Asked*>(data)]() mutable {
      wire::FromPmix message;
      wire::MpiDirect& reply = *message.mutable_mpi()->mutable_direct();
      reply.set_node(asked->node);
      reply.set_number(asked->number);
      reply.set_is_answer(true);
      reply.set_failed(status != success);
      reply.set_data(std::move(copy));
      delete asked;
      the_server->send(message);
    });
  };
  const Process process = process_of(static_cast<std::size_t>(std::strtoul(direct.data().c_str(), nullptr, 10)));
  if (const Status status = library_.dmodex_request(&process, answer, asked); status != success)
    answer(status, nullptr, 0, asked);
}

// ---- names ----

std::string PmixServer::pack(const Value& value) {
  Buffer buffer{};
  Bytes bytes{};
  if (library_.data_pack(nullptr, &buffer, const_cast<Value*>(&value), 1, type_value) != success ||
      library_.data_unload(&buffer, &bytes) != success)
    return {};
  std::string out(bytes.bytes, bytes.size);
  std::free(bytes.bytes);
  return out;
}

wire::MpiName& PmixServer::ask_name(wire::FromPmix& message, wire::MpiName::Kind kind, const std::string& name,
                                    std::shared_ptr<NamesAsked> asked) {
  wire::MpiName& ask = *message.mutable_mpi()->mutable_name();
  ask.set_kind(kind);
  ask.set_name(name);
  ask.set_number(next_number_);
  ++asked->open;
  names_[next_number_++] = {name, std::move(asked)};
  return ask;
}

void PmixServer::publish(Rank rank, const std::vector<std::pair<std::string, std::string>>& values, OnDone done,
                         void* data) {
  if (values.empty()) return done(success, data);
  auto asked = std::make_shared<NamesAsked>();
  asked->finish = [done, data](NamesAsked& all) { done(all.all_done ? success : duplicate_key, data); };
  for (const auto& [name, value] : values) {
    wire::FromPmix message;
    ask_name(message, wire::MpiName::PUBLISH, name, asked).set_value(value);
    published_[rank].insert(name);
    send(message);
  }
}

void PmixServer::unpublish(Rank rank, std::vector<std::string> names, OnDone done, void* data) {
  if (names.empty()) names.assign(published_[rank].begin(), published_[rank].end());  // all of its own
  if (names.empty()) return done(success, data);
  auto asked = std::make_shared<NamesAsked>();
  asked->finish = [done, data](NamesAsked& all) { done(all.all_done ? success : not_found, data); };
  for (const std::string& name : names) {
    wire::FromPmix message;
    ask_name(message, wire::MpiName::UNPUBLISH, name, asked);
    published_[rank].erase(name);
    send(message);
  }
}

void PmixServer::look_up(const std::vector<std::string>& names, OnFound done, void* data) {
  if (names.empty()) return done(not_found, nullptr, 0, data);
  auto asked = std::make_shared<NamesAsked>();
  asked->finish = [this, done, data](NamesAsked& all) {
    // Never freed: the standard does not say when the library has done with it, and a lookup is rare.
    auto* found = static_cast<Published*>(std::calloc(std::max<std::size_t>(all.found.size(), 1), sizeof(Published)));
    std::size_t count = 0;
    for (auto& [name, packed] : all.found) {
      Published& one = found[count];
      Buffer buffer{};
      Bytes bytes{static_cast<char*>(std::malloc(packed.size() + 1)), packed.size()};
      std::memcpy(bytes.bytes, packed.data(), packed.size());
      std::int32_t wanted = 1;
      if (library_.data_load(&buffer, &bytes) != success ||
          library_.data_unpack(nullptr, &buffer, &one.value, &wanted, type_value) != success)
        continue;
      one.process = process_of(0);
      copy_name(one.key, name);
      ++count;
    }
    done(count == 0 ? not_found : success, found, count, data);
  };
  for (const std::string& name : names) {
    wire::FromPmix message;
    ask_name(message, wire::MpiName::LOOKUP, name, asked);
    send(message);
  }
}

void PmixServer::hear_name(const wire::MpiNameAnswer& answer) {
  const auto found = names_.find(answer.number());
  if (found == names_.end()) return;
  const auto [name, asked] = found->second;
  names_.erase(found);
  asked->all_done = asked->all_done && answer.done();
  if (answer.done()) asked->found.emplace_back(name, answer.value());
  if (--asked->open == 0) asked->finish(*asked);
}

// ---- the loop ----

void PmixServer::hear(const wire::MpiToNode& message) {
  if (message.has_direct()) hear_direct(message.direct());
  if (message.has_name()) hear_name(message.name());
  if (!message.has_part()) return;
  const auto found = fences_.find(message.part().exchange());
  if (found == fences_.end()) return;
  found->second.bytes += message.part().data();
  if (!message.part().last()) return;
  Waiting waiting = std::move(found->second);
  fences_.erase(found);
  give(waiting.done, waiting.data, success, std::move(waiting.bytes));
}

void PmixServer::run() {
  while (supervisor_.is_open()) {
    pollfd polls[] = {{supervisor_.fd(), static_cast<short>(supervisor_.unsent() > 0 ? POLLIN | POLLOUT : POLLIN), 0},
                      {wake_, POLLIN, 0}};
    if (poll(polls, 2, -1) < 0 && errno != EINTR) return;
    if ((polls[0].revents & POLLOUT) != 0) supervisor_.flush();
    if (polls[0].revents != 0) supervisor_.fill();
    while (const auto bytes = supervisor_.next()) {
      wire::ToPmix message;
      if (message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())) && message.has_mpi())
        hear(message.mpi());
    }
    std::uint64_t ignored = 0;
    [[maybe_unused]] const ssize_t count = read(wake_, &ignored, sizeof ignored);
    std::vector<std::move_only_function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(todo_);
    }
    for (auto& one : work) one();
  }
}

}  // namespace

int serve_pmix(int socket) {
  prctl(PR_SET_NAME, "millrace-pmix");
  // Signals are for the tasks; this ends with its supervisor, or by KILL.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  Channel supervisor{socket};
  std::optional<wire::PmixPlan> plan;
  while (supervisor.is_open() && !plan) {
    if (const auto bytes = supervisor.next()) {
      wire::ToPmix message;
      if (!message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())) || !message.has_plan()) return 1;
      plan = message.plan();
      break;
    }
    pollfd ready{supervisor.fd(), POLLIN, 0};
    if (poll(&ready, 1, -1) < 0) continue;
    supervisor.fill();
  }
  if (!plan) return 1;
  const auto say_problem = [](Channel& channel, const std::string& text) {
    wire::FromPmix message;
    message.set_problem(text);
    channel.send(message.SerializeAsString());
    return 1;
  };
  const auto library = load_pmix();
  if (!library) return say_problem(supervisor, library.error().story);
  const int copy = fcntl(socket, F_DUPFD_CLOEXEC, 3);
  // Lives to the end of the process: the library's thread may still call.
  auto* server = new PmixServer(*library, std::move(supervisor), *plan);
  if (const auto begun = server->begin(); !begun) {
    Channel again{copy};
    return say_problem(again, begun.error().story);
  }
  close(copy);
  server->run();
  _exit(0);
}

}  // namespace millrace
