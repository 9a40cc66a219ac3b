// src/mpi/pmi_server.cpp - see pmi_server.h.
#include "mpi/pmi_server.h"

#include <algorithm>
#include <charconv>

namespace millrace {
namespace {

constexpr std::size_t key_max = 64, value_max = 1024, name_max = 256;
constexpr std::size_t thread_max = 64;              // what a task calls its thread: kept while it waits
constexpr std::size_t open_questions_max = 4096;    // of all tasks here: each asks one and waits for its answer
constexpr std::size_t reply_bytes_max = 16u << 20;  // not taken yet: a mapping of many tasks is long, a question short
constexpr std::size_t fence_bytes_max = 15u << 20;  // of one node: a message
constexpr const char* too_many_questions = "asks without waiting for answers";
constexpr std::string_view fence_name = "pmi";
constexpr std::string_view mapping_key = "PMI_process_mapping";

std::uint32_t number_of(std::string_view text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string joined(const std::vector<std::uint32_t>& numbers) {
  std::string out;
  for (const std::uint32_t number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

}  // namespace

std::string process_mapping(const std::vector<std::uint32_t>& node_of_task) {
  struct Block {
    std::uint32_t first, nodes, tasks;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < node_of_task.size();) {
    std::size_t end = i;
    while (end < node_of_task.size() && node_of_task[end] == node_of_task[i]) ++end;
    const auto tasks = static_cast<std::uint32_t>(end - i);
    if (!blocks.empty() && blocks.back().tasks == tasks && blocks.back().first + blocks.back().nodes == node_of_task[i])
      ++blocks.back().nodes;
    else
      blocks.push_back({node_of_task[i], 1, tasks});
    i = end;
  }
  std::string out = "(vector";
  for (const Block& block : blocks)
    out += ",(" + std::to_string(block.first) + ',' + std::to_string(block.nodes) + ',' + std::to_string(block.tasks) +
           ')';
  return out + ')';
}

PmiServer::PmiServer(PmiFacts facts) : facts_(std::move(facts)) {
  for (const std::uint32_t rank : facts_.ranks) clients_[rank];
  table_.set(mapping_key, facts_.process_mapping);
}

void PmiServer::reply(std::uint32_t rank, std::string_view name, Pairs pairs, std::string_view thread) {
  const bool pmi2 = clients_.at(rank).reader.is_pmi2();
  if (pmi2 && !thread.empty()) pairs.insert(pairs.begin(), {"thrid", std::string{thread}});
  const PmiCommand command{std::string{name}, std::move(pairs)};
  replies_.emplace_back(rank, pmi2 ? format_pmi2(command) : format_pmi1(command));
  reply_bytes_ += replies_.back().second.size();
}

void PmiServer::take(std::uint32_t rank, std::string_view bytes) {
  const auto found = clients_.find(rank);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.reader.feed(bytes);
  while (const auto command = client.reader.next()) {
    if (reply_bytes_ > reply_bytes_max) return abort(rank, 1, too_many_questions);
    obey(rank, client, *command);
  }
  if (client.reader.is_broken()) abort(rank, 1, "does not speak PMI");
}

void PmiServer::obey(std::uint32_t rank, Client& client, const PmiCommand& command) {
  if (command.name == "init") return begin(rank, client, command);
  client.reader.is_pmi2() ? obey_pmi2(rank, client, command) : obey_pmi1(rank, client, command);
}

void PmiServer::begin(std::uint32_t rank, Client& client, const PmiCommand& command) {
  const std::uint32_t version = number_of(command.get("pmi_version"));
  const bool known = version == 1 || version == 2;
  client.begun = known;
  client.finalized = false;
  reply(rank, "response_to_init",
        {{"pmi_version", known ? std::to_string(version) : "2"},
         {"pmi_subversion", version == 1 ? "1" : "0"},
         {"rc", known ? "0" : "-1"}});
  if (version == 2) client.reader.speak_pmi2();
}

bool PmiServer::has_room(const PmiTable& table, std::string_view key, std::string_view value) const {
  return table_.bytes() + fresh_.bytes() + node_attributes_.bytes() + table.growth(key, value) <=
         facts_.table_bytes_max;
}

std::string PmiServer::check(const PmiTable& table, std::string_view key, std::string_view value) const {
  if (key.empty() || key.size() > key_max) return "key_too_long";
  if (value.size() > value_max) return "value_too_long";
  if (!has_room(table, key, value)) return "too_many_keys";
  return {};
}

std::string PmiServer::put(std::string_view key, std::string_view value) {
  if (std::string problem = check(fresh_, key, value); !problem.empty()) return problem;
  fresh_.set(key, value);
  return {};
}

std::optional<std::string> PmiServer::find(std::string_view key) const {
  for (const PmiTable* table : {&fresh_, &table_})
    if (const std::string* found = table->find(key)) return *found;
  return std::nullopt;
}

void PmiServer::obey_pmi1(std::uint32_t rank, Client& client, const PmiCommand& command) {
  const std::string& name = command.name;
  if (name == "get_maxes") {
    reply(rank, "maxes",
          {{"rc", "0"},
           {"kvsname_max", std::to_string(name_max)},
           {"keylen_max", std::to_string(key_max)},
           {"vallen_max", std::to_string(value_max)}});
  } else if (name == "get_universe_size") {
    reply(rank, "universe_size", {{"rc", "0"}, {"size", std::to_string(facts_.universe)}});
  } else if (name == "get_appnum") {
    reply(rank, "appnum", {{"rc", "0"}, {"appnum", "0"}});
  } else if (name == "get_my_kvsname") {
    reply(rank, "my_kvsname", {{"rc", "0"}, {"kvsname", facts_.name}});
  } else if (name == "get_ranks2hosts" || name == "create_kvs" || name == "destroy_kvs" || name == "getbyidx") {
    reply(rank, name + "_result", {{"rc", "-1"}, {"msg", "not_supported"}});
  } else if (name == "put") {
    const std::string problem =
        command.get("kvsname") != facts_.name ? "unknown_kvs" : put(command.get("key"), command.get("value"));
    reply(rank, "put_result", {{"rc", problem.empty() ? "0" : "-1"}, {"msg", problem.empty() ? "success" : problem}});
  } else if (name == "get") {
    const auto value = command.get("kvsname") == facts_.name ? find(command.get("key")) : std::nullopt;
    if (value)
      reply(rank, "get_result", {{"rc", "0"}, {"msg", "success"}, {"value", *value}});
    else
      reply(rank, "get_result", {{"rc", "-1"}, {"msg", "key_not_found"}, {"value", "unknown"}});
  } else if (name == "barrier_in") {
    enter_fence(rank, client, {});
  } else if (name == "publish_name") {
    ask_name(rank, wire::MpiName::PUBLISH, command.get("service"), command.get("port"), {});
  } else if (name == "lookup_name") {
    ask_name(rank, wire::MpiName::LOOKUP, command.get("service"), {}, {});
  } else if (name == "unpublish_name") {
    ask_name(rank, wire::MpiName::UNPUBLISH, command.get("service"), {}, {});
  } else if (name == "finalize") {
    client.finalized = true;
    reply(rank, "finalize_ack", {{"rc", "0"}});
  } else if (name == "abort") {
    abort(rank, number_of(command.get("exitcode")), {});
  } else if (name == "spawn") {
    reply(rank, "spawn_result", {{"rc", "-1"}, {"msg", "spawn_is_not_supported"}});
  } else {
    reply(rank, name + "_result", {{"rc", "-1"}, {"msg", "unknown_command"}});
  }
}

std::optional<std::string> PmiServer::job_attribute(std::string_view key) const {
  if (key == mapping_key) return facts_.process_mapping;
  if (key == "universeSize") return std::to_string(facts_.universe);
  if (key == "localRanks") return joined(facts_.ranks);
  if (key == "localRanksCount") return std::to_string(facts_.ranks.size());
  return std::nullopt;
}

void PmiServer::put_node_attribute(std::string_view key, std::string_view value) {
  const auto [first, last] = waiting_for_attribute_.equal_range(key);
  for (auto it = first; it != last; ++it)
    reply(it->second.rank, "info-getnodeattr-response", {{"rc", "0"}, {"flag", "TRUE"}, {"value", std::string{value}}},
          it->second.thread);
  waiting_for_attribute_.erase(first, last);
  node_attributes_.set(key, value);
}

// A task waits once for a key, so that one value has no more answers than there are tasks here.
std::string PmiServer::wait_for_attribute(std::uint32_t rank, std::string_view key, std::string_view thread) {
  if (key.empty() || key.size() > key_max) return "key_too_long";
  if (thread.size() > thread_max) return "thrid_too_long";
  const auto [first, last] = waiting_for_attribute_.equal_range(key);
  if (std::any_of(first, last, [&](const auto& entry) { return entry.second.rank == rank; })) return "waits_already";
  if (waiting_for_attribute_.size() >= open_questions_max)
    abort(rank, 1, too_many_questions);
  else
    waiting_for_attribute_.emplace(std::string{key}, Waiting{rank, std::string{thread}});
  return {};
}

void PmiServer::obey_pmi2(std::uint32_t rank, Client& client, const PmiCommand& command) {
  const std::string& name = command.name;
  const std::string_view thread = command.get("thrid");
  const auto answer = [&](Pairs pairs) { reply(rank, name + "-response", std::move(pairs), thread); };
  const auto found_or_not = [&](const std::optional<std::string>& value) {
    if (value)
      answer({{"rc", "0"}, {"flag", "TRUE"}, {"value", *value}});
    else
      answer({{"rc", "0"}, {"flag", "FALSE"}});
  };
  const auto outcome = [&](const std::string& problem) {
    if (problem.empty())
      answer({{"rc", "0"}});
    else
      answer({{"rc", "1"}, {"errmsg", problem}});
  };
  if (name == "fullinit") {
    answer({{"rc", "0"},
            {"pmi-version", "2"},
            {"pmi-subversion", "0"},
            {"rank", std::to_string(rank)},
            {"size", std::to_string(facts_.size)},
            {"appnum", "0"},
            {"debugged", "FALSE"},
            {"pmiverbose", "FALSE"}});
  } else if (name == "finalize") {
    client.finalized = true;
    outcome({});
    client.reader.speak_lines();  // a script may run one program after another
  } else if (name == "abort") {
    abort(rank, 1, std::string{command.get("msg")});
  } else if (name == "job-getid") {
    answer({{"rc", "0"}, {"jobid", facts_.name}});
  } else if (name == "kvs-put") {
    outcome(put(command.get("key"), command.get("value")));
  } else if (name == "kvs-get") {
    found_or_not(find(command.get("key")));
  } else if (name == "kvs-fence") {
    enter_fence(rank, client, thread);
  } else if (name == "info-getjobattr") {
    found_or_not(job_attribute(command.get("key")));
  } else if (name == "info-putnodeattr") {
    const std::string problem = check(node_attributes_, command.get("key"), command.get("value"));
    outcome(problem);
    if (!problem.empty()) return;
    put_node_attribute(command.get("key"), command.get("value"));
  } else if (name == "info-getnodeattr") {
    const std::string* found = node_attributes_.find(command.get("key"));
    const std::string_view wait = command.get("wait");
    if (found != nullptr) return found_or_not(*found);
    if (wait != "TRUE" && wait != "true") return found_or_not(std::nullopt);
    if (const std::string problem = wait_for_attribute(rank, command.get("key"), thread); !problem.empty())
      outcome(problem);
  } else if (name == "name-publish") {
    ask_name(rank, wire::MpiName::PUBLISH, command.get("name"), command.get("port"), thread);
  } else if (name == "name-lookup") {
    ask_name(rank, wire::MpiName::LOOKUP, command.get("name"), {}, thread);
  } else if (name == "name-unpublish") {
    ask_name(rank, wire::MpiName::UNPUBLISH, command.get("name"), {}, thread);
  } else {
    outcome(name + " is not supported");  // spawn, job-connect, job-disconnect
  }
}

void PmiServer::ask_name(std::uint32_t rank, wire::MpiName::Kind kind, std::string_view name, std::string_view value,
                         std::string_view thread) {
  if (names_asked_.size() >= open_questions_max) return abort(rank, 1, too_many_questions);
  wire::MpiName& ask = *outgoing_.emplace_back().mutable_name();
  ask.set_number(next_name_);
  ask.set_kind(kind);
  ask.set_name(std::string{name});
  ask.set_value(std::string{value});
  names_asked_[next_name_++] = {rank, kind, std::string{thread}};
}

void PmiServer::enter_fence(std::uint32_t rank, Client& client, std::string_view thread) {
  if (client.in_fence) return abort(rank, 1, "entered a fence twice");
  client.in_fence = true;
  client.fence_thread = thread;
  join_if_all_in();
}

void PmiServer::join_if_all_in() {
  const auto waits = [](const auto& entry) { return entry.second.in_fence; };
  if (joined_ || !std::ranges::any_of(clients_, waits)) return;
  for (const auto& [rank, client] : clients_)
    if (client.gone) return abort(rank, 1, "left while other tasks wait for it");
  if (!std::ranges::all_of(clients_, waits)) return;
  wire::MpiPairs pairs;
  std::size_t size = 0;
  for (const auto& [key, value] : fresh_.entries()) {
    pairs.add_keys(key);
    pairs.add_values(value);
    size += key.size() + value.size() + 8;
  }
  if (size > fence_bytes_max)
    return abort(clients_.begin()->first, 1,
                 "put more than " + std::to_string(fence_bytes_max >> 20) + " MiB before a fence");
  joined_ = true;
  wire::MpiJoin& join = *outgoing_.emplace_back().mutable_join();
  join.set_exchange(std::string{fence_name});
  join.set_members(facts_.members);
  join.set_data(pairs.SerializeAsString());
}

void PmiServer::leave_fence() {
  fresh_.clear();  // it came back with what the others brought
  joined_ = false;
  for (auto& [rank, client] : clients_) {
    client.in_fence = false;
    if (client.reader.is_pmi2())
      reply(rank, "kvs-fence-response", {{"rc", "0"}}, client.fence_thread);
    else
      reply(rank, "barrier_out", {{"rc", "0"}});
  }
}

void PmiServer::hear(const wire::MpiToNode& message) {
  if (message.has_part() && message.part().exchange() == fence_name && joined_) {
    if (message.part().last()) return leave_fence();
    wire::MpiPairs pairs;
    if (!pairs.ParseFromString(message.part().data())) return;
    for (int i = 0; i < pairs.keys_size() && i < pairs.values_size(); ++i) {
      if (!has_room(table_, pairs.keys(i), pairs.values(i)))
        return abort(facts_.ranks.front(), 1, "the tasks of this step put more than one node can keep");
      table_.set(pairs.keys(i), pairs.values(i));
    }
  }
  if (!message.has_name()) return;
  const auto found = names_asked_.find(message.name().number());
  if (found == names_asked_.end()) return;
  const NameAsked asked = found->second;
  names_asked_.erase(found);
  const bool done = message.name().done();
  const bool pmi2 = clients_.at(asked.rank).reader.is_pmi2();
  constexpr std::string_view pmi1_names[] = {"publish_result", "lookup_result", "unpublish_result"};
  constexpr std::string_view pmi2_names[] = {"name-publish-response", "name-lookup-response",
                                             "name-unpublish-response"};
  Pairs pairs{{"rc", done ? "0" : "1"}};
  if (!pmi2) pairs.insert(pairs.end(), {{"info", done ? "ok" : "failed"}, {"msg", done ? "success" : "failed"}});
  if (pmi2 && asked.kind == wire::MpiName::LOOKUP) pairs.emplace_back("flag", done ? "TRUE" : "FALSE");
  if (pmi2 && !done)
    pairs.emplace_back("errmsg", asked.kind == wire::MpiName::PUBLISH ? "name is taken" : "no such name");
  if (done && asked.kind == wire::MpiName::LOOKUP) pairs.emplace_back(pmi2 ? "value" : "port", message.name().value());
  reply(asked.rank, (pmi2 ? pmi2_names : pmi1_names)[asked.kind], std::move(pairs), asked.thread);
}

// A task that ended in good order without finalizing may have had its reasons; one that others wait for has none.
void PmiServer::task_ended(std::uint32_t rank, bool failed) {
  const auto found = clients_.find(rank);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.gone = true;
  std::erase_if(waiting_for_attribute_, [&](const auto& entry) { return entry.second.rank == rank; });
  if (client.begun && !client.finalized && failed) return abort(rank, 1, "ended without finalizing");
  join_if_all_in();
}

void PmiServer::abort(std::uint32_t rank, std::uint32_t code, std::string text) {
  if (std::exchange(aborted_, true)) return;
  wire::MpiAbort& out = *outgoing_.emplace_back().mutable_abort();
  out.set_task(rank);
  out.set_exit_code(code);
  out.set_text(std::move(text));
}

}  // namespace millrace
