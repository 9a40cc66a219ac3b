// src/wire/record_bytes_test.cpp - every kind of event comes back from its bytes with every field of its list.
#include "wire/record_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wire/event_codec.h"
#include "wire/event_text.h"
#include "wire/record_reader.h"
#include "wire/record_text.h"
#include "wire/record_writer.h"

namespace millrace {
namespace {

using namespace record_bytes;

// Sets every field to something that is neither zero nor empty, each to another value.
class Filler {
 public:
  template <class T>
  void operator()(std::uint32_t tag, std::string_view, T&& value) {
    if constexpr (field::Wrapper<T>)
      fill(value);
    else if (tag != 0)
      fill(value);
  }

  template <class T>
  void fill(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = true;
    } else if constexpr (Numeric<T>) {
      value = from_number<T>(next());
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = "text" + std::to_string(next());
    } else if constexpr (std::is_same_v<T, Digits>) {
      value.fill(static_cast<std::uint8_t>(next()));
    } else if constexpr (std::is_same_v<T, IndexSet>) {
      const auto first = static_cast<std::uint32_t>(next());
      value.insert(first, first + 3);
    } else if constexpr (std::is_same_v<T, Fixed>) {
      value.raw = static_cast<__int128>(next()) << 64 | next();
    } else if constexpr (is_optional<T>) {
      fill(value.emplace());
    } else if constexpr (is_shared<T>) {
      std::remove_cvref_t<decltype(*value)> inside{};
      fill(inside);
      value = T(std::move(inside));
    } else if constexpr (is_vector<T>) {
      for (int i = 0; i < 2; ++i) {
        typename T::value_type each{};
        fill(each);
        value.push_back(std::move(each));
      }
    } else if constexpr (HasFields<T>) {
      T::fields(value, *this);
    }
  }
  template <class T>
  void fill(field::Inverted<T>& field) {
    field.value = false;
  }
  template <class Key, class T>
  void fill(field::WithKey<Key, T>& field) {
    fill(field.key);
    fill(field.value);
  }
  template <class Devices, class Counts>
  void fill(field::BySlot<Devices, Counts>& field) {
    field.counts[1] = static_cast<std::int64_t>(next());
    field.devices[1] = next();
  }
  template <class Wrapped>
    requires field::Wrapper<Wrapped>
  void fill(Wrapped& field) {
    fill(field.value);
  }

 private:
  std::uint64_t next() { return next_ = next_ % 120 + 1; }  // within a byte: enumerations are stored in one
  std::uint64_t next_ = 0;
};

// The numbers that are in the bytes of a record, each once.
std::vector<std::uint32_t> numbers_in(std::string_view bytes) {
  std::vector<std::uint32_t> out;
  for (Raw raw; !bytes.empty() && next_field(bytes, raw);) out.push_back(raw.tag);
  std::ranges::sort(out);
  const auto tail = std::ranges::unique(out);
  out.erase(tail.begin(), tail.end());
  return out;
}

struct NumbersOfList {
  std::vector<std::uint32_t>& out;
  template <class T>
  void operator()(std::uint32_t tag, std::string_view, T&& value) const {
    using Field = std::remove_cvref_t<T>;
    if constexpr (requires { typename Field::is_inlined; }) {
      using Inside = std::remove_cvref_t<decltype(value.value)>;
      if constexpr (is_shared<Inside>) {
        std::remove_cvref_t<decltype(*value.value)> inside{};
        std::remove_cvref_t<decltype(inside)>::fields(inside, *this);
      } else {
        Inside::fields(value.value, *this);
      }
    } else if (tag != 0) {
      out.push_back(tag);
    }
  }
};

template <class Record>
std::vector<std::uint32_t> numbers_of_list() {
  Record record{};
  std::vector<std::uint32_t> out;
  Record::fields(record, NumbersOfList{out});
  std::ranges::sort(out);
  const auto tail = std::ranges::unique(out);
  out.erase(tail.begin(), tail.end());
  return out;
}

template <class Kind>
void comes_back_whole() {
  Kind event{};
  Filler{}.fill(event);
  if constexpr (requires { Kind::fields(event, field::AnyVisit{}); })
    EXPECT_EQ(numbers_in(bytes_of(event)), numbers_of_list<Kind>())
        << Kind::event.name << ": not every field is written";
  const std::string bytes = encode_event(Event{event});
  const auto read = decode_event(bytes);
  ASSERT_TRUE(read) << Kind::event.name << ": " << read.error().story;
  EXPECT_EQ(describe_event(*read), describe_event(Event{event}));
  EXPECT_EQ(to_hex(encode_event(*read)), to_hex(bytes)) << Kind::event.name;
  ASSERT_TRUE(std::holds_alternative<Kind>(*read));
}

template <std::size_t... Places>
void all_come_back(std::index_sequence<Places...>) {
  (comes_back_whole<std::variant_alternative_t<Places, EventKinds>>(), ...);
}

TEST(RecordBytes, Each_kind_of_event_comes_back_with_every_field) {
  all_come_back(std::make_index_sequence<std::variant_size_v<EventKinds>>{});
}

TEST(RecordBytes, Each_kind_of_event_has_a_number_and_a_name_of_its_own) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::string_view> names;
  [&]<std::size_t... Places>(std::index_sequence<Places...>) {
    (numbers.push_back(std::variant_alternative_t<Places, EventKinds>::event.number), ...);
    (names.push_back(std::variant_alternative_t<Places, EventKinds>::event.name), ...);
  }(std::make_index_sequence<std::variant_size_v<EventKinds>>{});
  std::ranges::sort(numbers);
  std::ranges::sort(names);
  EXPECT_TRUE(std::ranges::adjacent_find(numbers) == numbers.end());
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end());
}

struct Sample {
  std::uint32_t count = 7, wide = 0, limit = 0;
  bool first = false, second = false, open = true;
  std::int32_t nice = 0;
  std::optional<std::uint32_t> maybe{};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "count", field::or_default(self.count, 7));
    visit(2, "wide", self.wide);
    visit(3, "limit", field::plus_one(self.limit));
    visit(4, "first", field::flag(1, self.first));
    visit(4, "second", field::flag(2, self.second));
    visit(5, "open", field::inverted(self.open));
    visit(6, "nice", self.nice);
    visit(7, "maybe", self.maybe);
  }
};

TEST(RecordBytes, What_is_not_there_means_what_the_list_says) {
  Sample sample{
      .count = 1, .wide = 2, .limit = 3, .first = true, .second = true, .open = false, .nice = -5, .maybe = 0};
  ASSERT_TRUE(read_record("", sample));
  EXPECT_EQ(sample.count, 7u);
  EXPECT_EQ(sample.wide, 0u);
  EXPECT_EQ(sample.limit, UINT32_MAX);
  EXPECT_FALSE(sample.first || sample.second);
  EXPECT_TRUE(sample.open);
  EXPECT_EQ(sample.nice, 0);
  EXPECT_EQ(sample.maybe, std::nullopt);
}

TEST(RecordBytes, Zero_of_an_optional_number_and_negative_numbers_come_back) {
  const Sample sample{
      .count = 9, .wide = UINT32_MAX, .limit = 0, .second = true, .open = false, .nice = -5, .maybe = 0};
  Sample read;
  ASSERT_TRUE(read_record(bytes_of(sample), read));
  EXPECT_EQ(read.count, 9u);
  EXPECT_EQ(read.wide, UINT32_MAX);
  EXPECT_EQ(read.limit, 0u);
  EXPECT_FALSE(read.first);
  EXPECT_TRUE(read.second);
  EXPECT_FALSE(read.open);
  EXPECT_EQ(read.nice, -5);
  EXPECT_EQ(read.maybe, 0u);
}

TEST(RecordBytes, A_field_of_a_later_release_is_told_or_passed_over) {
  std::string bytes = bytes_of(Sample{.wide = 4});
  put_bytes(bytes, 900, "later");
  Sample read;
  ASSERT_TRUE(read_record(bytes, read));
  EXPECT_EQ(read.wide, 4u);
  std::string told;
  ASSERT_TRUE(read_record(bytes, read, [&](const Raw& raw) {
    told = raw.bytes;
    return true;
  }));
  EXPECT_EQ(told, "later");
}

TEST(RecordBytes, Another_type_than_the_fields_is_passed_over) {
  std::string bytes;
  put_bytes(bytes, 2, "words");
  Sample read;
  ASSERT_TRUE(read_record(bytes, read));
  EXPECT_EQ(read.wide, 0u);
}

TEST(RecordBytes, Bytes_that_end_within_a_field_are_no_record) {
  const std::string bytes = bytes_of(Sample{.count = 300, .wide = 70000, .nice = 9});
  Sample read;
  std::size_t whole = 0;  // cuts between two fields are records of fewer fields
  for (std::size_t length = 0; length < bytes.size(); ++length)
    whole += read_record(std::string_view{bytes}.substr(0, length), read);
  EXPECT_EQ(whole, 4u);
}

}  // namespace
}  // namespace millrace
