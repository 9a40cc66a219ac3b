// src/mpi/exchange_hub.cpp - see exchange_hub.h.
#include "mpi/exchange_hub.h"

namespace millrace {
namespace {

constexpr std::size_t names_max = 100'000;
constexpr std::size_t open_exchanges_max = 100'000;

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

// A node joins the same exchange again only after it has heard that the one before is complete, so a name is enough.
void ExchangeHub::join(std::uint32_t node, const wire::MpiJoin& join) {
  if (open_.size() >= open_exchanges_max && !open_.contains(join.exchange())) return;
  auto& members = open_[join.exchange()];
  members[node] = join.data();
  if (members.size() < join.members()) return;
  const std::map<std::uint32_t, std::string> whole = std::move(members);
  open_.erase(join.exchange());
  for (const auto& [member, ignored] : whole) {
    // One message for each part, so that none grows with the number of nodes.
    for (const auto& [from, data] : whole) {
      if (data.empty()) continue;
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
      names_[ask.name()] = ask.value();
      break;
    case wire::MpiName::LOOKUP:
      if (found == names_.end()) return;
      out.set_value(found->second);
      break;
    default:
      if (found == names_.end()) return;
      names_.erase(found);
  }
  out.set_done(true);
}

}  // namespace millrace
