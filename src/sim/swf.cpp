// src/sim/swf.cpp - see swf.h.
#include "sim/swf.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace millrace {
namespace {

struct Field {
  std::string_view name;  // as the format's definition calls it
  std::int64_t SwfJob::* place;
  bool fraction;  // may have one; it is cut off
  std::int64_t lowest;
};

// clang-format off
constexpr Field fields[] = {
    {"Job Number",                     &SwfJob::number,               false, 0},
    {"Submit Time",                    &SwfJob::submit,               false, 0},
    {"Wait Time",                      &SwfJob::wait,                 false, -1},
    {"Run Time",                       &SwfJob::run,                  false, -1},
    {"Number of Allocated Processors", &SwfJob::allocated,            false, -1},
    {"Average CPU Time Used",          &SwfJob::cpu_time,             true,  -1},
    {"Used Memory",                    &SwfJob::used_memory,          true,  -1},
    {"Requested Number of Processors", &SwfJob::requested_processors, false, -1},
    {"Requested Time",                 &SwfJob::requested_time,       false, -1},
    {"Requested Memory",               &SwfJob::requested_memory,     true,  -1},
    {"Status",                         &SwfJob::status,               false, -1},
    {"User ID",                        &SwfJob::user,                 false, -1},
    {"Group ID",                       &SwfJob::group,                false, -1},
    {"Executable Number",              &SwfJob::executable,           false, -1},
    {"Queue Number",                   &SwfJob::queue,                false, -1},
    {"Partition Number",               &SwfJob::partition,            false, -1},
    {"Preceding Job Number",           &SwfJob::preceding,            false, -1},
    {"Think Time from Preceding Job",  &SwfJob::think_time,           false, -1},
};
// clang-format on
constexpr std::size_t field_count = std::size(fields);
constexpr std::int64_t highest =
    1'000'000'000'000'000;  // seconds or KiB; more is a broken line, and sums must not overflow

std::optional<std::int64_t> parse_field(std::string_view word, const Field& field) {
  std::int64_t value{};
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = std::from_chars(word.data(), end, value);
  if (problem != std::errc{} || value < field.lowest || value > highest) return std::nullopt;
  if (rest == end) return value;
  if (!field.fraction || *rest != '.') return std::nullopt;
  for (const char* at = rest + 1; at != end; ++at)
    if (*at < '0' || *at > '9') return std::nullopt;
  return value;
}

// Words of the line into `words`; how many there are, also when there are too many.
std::size_t split_words(std::string_view line, std::array<std::string_view, field_count>& words) {
  std::size_t count = 0;
  for (std::size_t at = 0;;) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) return count;
    at = std::min(line.find_first_of(" \t", begin), line.size());
    if (count < words.size()) words[count] = line.substr(begin, at - begin);
    ++count;
  }
}

Result<SwfJob> parse_job(std::string_view line, const std::string& where) {
  std::array<std::string_view, field_count> words;
  const std::size_t count = split_words(line, words);
  if (count < field_count)
    return fail(Errc::invalid, where + ": the line ends before field " + std::to_string(count + 1) + ", " +
                                   std::string{fields[count].name} +
                                   "; a job has 18 fields, -1 where nothing is known");
  if (count > field_count)
    return fail(Errc::invalid, where + ": " + std::to_string(count) +
                                   " fields; a job has 18, and Think Time from Preceding Job is the last");
  SwfJob job;
  for (std::size_t i = 0; i < field_count; ++i) {
    const auto value = parse_field(words[i], fields[i]);
    if (!value)
      return fail(Errc::invalid, where + ": field " + std::to_string(i + 1) + ", " + std::string{fields[i].name} +
                                     ", is '" + std::string{words[i]} + "'; a whole number of at least " +
                                     std::to_string(fields[i].lowest) + " is right");
    job.*fields[i].place = *value;
  }
  return job;
}

std::pair<std::string, std::string> parse_header(std::string_view line) {
  line = trim(line.substr(1));
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.substr(0, colon).find(' ') != std::string_view::npos)
    return {"", std::string{line}};
  return {std::string{line.substr(0, colon)}, std::string{trim(line.substr(colon + 1))}};
}

}  // namespace

std::optional<std::int64_t> SwfTrace::header_number(std::string_view key) const {
  for (const auto& [name, value] : header) {
    if (name != key) continue;
    std::int64_t number{};
    const auto [rest, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (problem == std::errc{}) return number;
  }
  return std::nullopt;
}

Result<SwfTrace> parse_swf(std::string_view text, std::string name) {
  SwfTrace trace{std::move(name), {}, {}};
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (line.empty()) continue;
    if (line.front() == ';') {
      trace.header.push_back(parse_header(line));
      continue;
    }
    MR_TRY(const SwfJob job, parse_job(line, trace.name + " line " + std::to_string(number)));
    trace.jobs.push_back(job);
  }
  return trace;
}

Result<std::string> read_packed_file(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return fail(Errc::not_found, "opening " + path + ": " + std::strerror(errno));
  gzbuffer(file, 1u << 17);
  std::string text;
  std::array<char, 1 << 16> part;
  int got = 0;
  while ((got = gzread(file, part.data(), part.size())) > 0) text.append(part.data(), static_cast<std::size_t>(got));
  int problem = Z_OK;
  const std::string why = gzerror(file, &problem);
  const bool whole = got == 0 && (problem == Z_OK || problem == Z_STREAM_END);
  gzclose(file);
  if (!whole) return fail(Errc::corrupt, "reading " + path + ": " + (problem == Z_ERRNO ? std::strerror(errno) : why));
  return text;
}

Result<SwfTrace> read_swf(const std::string& path) {
  MR_TRY(const std::string text, read_packed_file(path));
  return parse_swf(text, path);
}

std::string format_swf(const SwfJob& job) {
  std::string line;
  for (const Field& field : fields) line += (line.empty() ? "" : " ") + std::to_string(job.*field.place);
  return line;
}

}  // namespace millrace
