// src/mpi/exchange_hub_test.cpp - nodes meet in the middle: who gets what, and when.
#include "mpi/exchange_hub.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

wire::MpiFromNode join(const char* exchange, std::uint32_t members, const char* data) {
  wire::MpiFromNode message;
  message.mutable_join()->set_exchange(exchange);
  message.mutable_join()->set_members(members);
  message.mutable_join()->set_data(data);
  return message;
}

std::string text(const std::vector<ExchangeHub::Outgoing>& all) {
  std::string out;
  for (const auto& [node, message] : all)
    out += std::to_string(node) + ":" +
           (message.has_part()     ? (message.part().last() ? "last" : message.part().data())
            : message.has_direct() ? "from" + std::to_string(message.direct().node())
                                   : "name") +
           " ";
  return out;
}

TEST(ExchangeHub, Exchange_is_complete_when_all_its_members_have_joined) {
  ExchangeHub hub;
  hub.take(0, join("a", 3, "x"));
  hub.take(2, join("a", 3, ""));
  hub.take(0, join("b", 2, "other"));
  EXPECT_EQ(text(hub.take_outgoing()), "");
  hub.take(1, join("a", 3, "y"));
  EXPECT_EQ(text(hub.take_outgoing()), "0:xy 0:last 1:xy 1:last 2:xy 2:last ");
  hub.take(5, join("b", 2, ""));
  EXPECT_EQ(text(hub.take_outgoing()), "0:other 0:last 5:other 5:last ")
      << "one that others take part in at the same time";
}

TEST(ExchangeHub, Large_contributions_come_in_several_messages) {
  ExchangeHub hub;
  const std::string large(700'000, 'z');
  for (std::uint32_t node = 0; node < 3; ++node) hub.take(node, join("a", 3, large.c_str()));
  const auto all = hub.take_outgoing();
  ASSERT_EQ(all.size(), 12u);
  for (const auto& out : all) EXPECT_TRUE(out.message.part().last() || out.message.part().data() == large);
}

TEST(ExchangeHub, Direct_messages_say_from_whom_they_are) {
  ExchangeHub hub;
  wire::MpiFromNode message;
  message.mutable_direct()->set_node(4);
  hub.take(1, message);
  EXPECT_EQ(text(hub.take_outgoing()), "4:from1 ");
}

TEST(ExchangeHub, Whoever_brings_more_than_it_keeps_ends_the_step) {
  ExchangeHub hub;
  wire::MpiFromNode message;
  message.mutable_join()->set_members(2);
  message.mutable_join()->set_data(std::string(40u << 20, 'x'));
  for (int i = 0; i < 6; ++i) {
    message.mutable_join()->set_exchange(std::to_string(i));
    hub.take(0, message);
  }
  EXPECT_FALSE(hub.take_abort());
  message.mutable_join()->set_exchange("one more");
  hub.take(0, message);
  const auto abort = hub.take_abort();
  ASSERT_TRUE(abort);
  EXPECT_NE(abort->text().find("256 MiB"), std::string::npos) << abort->text();
}

TEST(ExchangeHub, What_is_complete_makes_room) {
  ExchangeHub hub;
  wire::MpiFromNode message;
  message.mutable_join()->set_members(1);
  message.mutable_join()->set_exchange("a");
  message.mutable_join()->set_data(std::string(40u << 20, 'x'));
  for (int i = 0; i < 10; ++i) {
    hub.take(0, message);
    EXPECT_EQ(hub.take_outgoing().size(), 2u);
  }
  EXPECT_FALSE(hub.take_abort());
}

}  // namespace
}  // namespace millrace
