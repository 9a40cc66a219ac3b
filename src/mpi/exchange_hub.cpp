// src/mpi/exchange_hub.cpp - see exchange_hub.h.
#include "mpi/exchange_hub.h"

namespace millrace {
namespace {

constexpr std::size_t names_max = 100'000;
constexpr std::size_t open_exchanges_max = 100'000;
constexpr std::size_t entry_bytes = 160;  // what a map needs for an entry besides its texts
constexpr std::size_t part_size = 1u << 20;

}  // namespace

wire::MpiToNode& ExchangeHub::to(std::uint32_t node) {
  outgoing_.push_back({node, {}});
  return outgoing_.back().message;
}

void ExchangeHub::take(std::uint32_t node, const wire::MpiFromNode& message) {
  if (message.has_join()) join(node, message.join());
  if (message.has_direct()) pass_on(node, message.direct());
  if (message.has_name()) answer(node, message.name());
  if (message.has_abort() && !abort_) abort_ = message.abort();
}

bool ExchangeHub::has_room(std::uint32_t node, std::size_t size) {
  if (bytes_ + size <= bytes_max_) {
    bytes_ += size;
    return true;
  }
  if (!abort_) {
    wire::MpiAbort& abort = abort_.emplace();
    abort.set_exit_code(1);
    abort.set_text("node " + std::to_string(node) + " of the step brings more to exchanges and names than " +
                   std::to_string(bytes_max_ >> 20) + " MiB");
  }
  return false;
}

// A node joins the same exchange again only after it has heard that the one before is complete, so a name is enough.
void ExchangeHub::join(std::uint32_t node, const wire::MpiJoin& join) {
  if (open_.size() >= open_exchanges_max && !open_.contains(join.exchange())) return;
  const std::size_t size = join.exchange().size() + join.data().size() + entry_bytes;
  if (!has_room(node, size)) return;
  auto& [members, bytes] = open_[join.exchange()];
  members[node] = join.data();
  bytes += size;
  if (members.size() < join.members()) return;
  const std::map<std::uint32_t, std::string> whole = std::move(members);
  bytes_ -= bytes;
  open_.erase(join.exchange());
  // Several contributions in a message, so that a thousand nodes do not get a thousand each; none grows beyond bounds.
  std::vector<std::string> parts;
  for (const auto& [from, data] : whole) {
    if (data.empty()) continue;
    if (parts.empty() || parts.back().size() + data.size() > part_size) parts.emplace_back();
    parts.back() += data;
  }
  for (const auto& [member, ignored] : whole) {
    for (const std::string& data : parts) {
      wire::MpiPart& part = *to(member).mutable_part();
      part.set_exchange(join.exchange());
      part.set_data(data);
    }
    wire::MpiPart& last = *to(member).mutable_part();
    last.set_exchange(join.exchange());
    last.set_last(true);
  }
}

void ExchangeHub::pass_on(std::uint32_t from, const wire::MpiDirect& direct) {
  wire::MpiDirect& there = *to(direct.node()).mutable_direct();
  there = direct;
  there.set_node(from);
}

void ExchangeHub::answer(std::uint32_t node, const wire::MpiName& ask) {
  wire::MpiNameAnswer& out = *to(node).mutable_name();
  out.set_number(ask.number());
  const auto found = names_.find(ask.name());
  switch (ask.kind()) {
    case wire::MpiName::PUBLISH:
      if (found != names_.end() || names_.size() >= names_max) return;
      if (!has_room(node, ask.name().size() + ask.value().size() + entry_bytes)) return;
      names_[ask.name()] = ask.value();
      break;
    case wire::MpiName::LOOKUP:
      if (found == names_.end()) return;
      out.set_value(found->second);
      break;
    default:
      if (found == names_.end()) return;
      bytes_ -= found->first.size() + found->second.size() + entry_bytes;
      names_.erase(found);
  }
  out.set_done(true);
}

}  // namespace millrace
