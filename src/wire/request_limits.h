// src/wire/request_limits.h - how long each text and each list may be of what clients and agents say: a table for each,
// looked at before it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

// What becomes part of a record is kept in memory, written to the log and shown to everybody, and what runs is passed
// on in one frame (wire/frame.h). So every text and list of a request has a limit: Slurm's where Slurm has one.
constexpr std::size_t name_bytes_max = 1024;
constexpr std::size_t path_bytes_max = 4096;  // MAXPATHLEN
constexpr std::size_t script_bytes_max = 14u << 20;
constexpr std::size_t environment_bytes_max = 6u << 20;  // the kernel starts no program with more
constexpr std::size_t arguments_bytes_max = 2u << 20;    // all of them, as the kernel allows by default
constexpr std::size_t multi_prog_bytes_max = 1u << 20;
constexpr std::size_t submit_line_bytes_max = 128u << 10;
constexpr std::uint32_t too_long_code = 2012;  // Slurm's ESLURM_PATHNAME_TOO_LONG
constexpr const char* too_long_text = "Pathname of a file, directory or other parameter too long";

enum class WireKind : std::uint8_t { text, message, number };

struct MessageLimits;

// A field that has a length: a text, a message, or a list of any kind. A single number needs no row.
struct FieldLimit {
  std::uint32_t tag = 0;
  std::string_view name;
  WireKind kind{};
  bool repeated = false;
  std::size_t bytes_max = 0;               // of one
  std::size_t count_max = 1;               // of a list
  std::size_t total_max = 0;               // bytes of all entries of a list; 0: follows from the others
  const MessageLimits* message = nullptr;  // what a message may hold
};

struct MessageLimits {
  std::string_view name;  // as in schema/
  std::span<const FieldLimit> fields;
};

// The whole of a Request, for the test that compares it with schema/.
const MessageLimits& request_limits();

// What of an encoded Request is over its limit, in words; nothing: all is within its limits, or it is no Request.
// Works on the bytes, so that what is refused has not been made into objects before.
std::optional<std::string> over_limit(std::string_view request);
// The same for what agents say to the controller (ToController). An agent has one key and many users' jobs: it looks
// before it sends, so that what a user could make too long costs him that message and not the node its connection.
const MessageLimits& agent_word_limits();
std::optional<std::string> agent_word_over_limit(std::string_view word);
constexpr std::size_t problem_bytes_max = 4096;  // of why an attempt failed; agents cut it

// About how much memory it takes when it is read, of one that is within its limits.
std::size_t memory_of_request(std::string_view request);
// Its number, for the answer; 0 where it has none that can be read.
std::uint64_t number_of_request(std::string_view request);

}  // namespace millrace
