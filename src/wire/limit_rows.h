// src/wire/limit_rows.h - how the tables of request_limits.h are written.
#pragma once

#include "wire/request_limits.h"

namespace millrace::limit_rows {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t word = 64;              // one of few words that are known
inline constexpr std::size_t list = 64 * kib;        // of nodes, users, features: Slurm's limit of node lists
inline constexpr std::size_t long_list = 128 * kib;  // dependencies and bindings, as Slurm
inline constexpr std::size_t whole_frame = 16 << 20;
inline constexpr std::size_t description = 4 << 20;  // of one job or step
// With its script and environment: it goes on to a node in one frame.
inline constexpr std::size_t submission = 15 << 20;
inline constexpr std::size_t names_of_jobs = 64 * kib;  // a command line has no more
inline constexpr std::size_t argument = 128 * kib;      // MAX_ARG_STRLEN

constexpr FieldLimit text(std::uint32_t tag, std::string_view name, std::size_t bytes = name_bytes_max) {
  return {tag, name, WireKind::text, false, bytes, 1, 0, nullptr};
}
constexpr FieldLimit path(std::uint32_t tag, std::string_view name) { return text(tag, name, path_bytes_max); }
constexpr FieldLimit texts(std::uint32_t tag, std::string_view name, std::size_t bytes, std::size_t count,
                           std::size_t total) {
  return {tag, name, WireKind::text, true, bytes, count, total, nullptr};
}
constexpr FieldLimit numbers(std::uint32_t tag, std::string_view name, std::size_t count) {
  return {tag, name, WireKind::number, true, 0, count, 0, nullptr};
}
constexpr FieldLimit one(std::uint32_t tag, std::string_view name, const MessageLimits& message,
                         std::size_t bytes = whole_frame) {
  return {tag, name, WireKind::message, false, bytes, 1, 0, &message};
}
constexpr FieldLimit many(std::uint32_t tag, std::string_view name, const MessageLimits& message, std::size_t count,
                          std::size_t bytes = whole_frame) {
  return {tag, name, WireKind::message, true, bytes, count, 0, &message};
}

// A message of numbers alone.
constexpr MessageLimits plain(std::string_view name) { return {name, {}}; }

extern const MessageLimits job_limits;  // of a JobDescription

}  // namespace millrace::limit_rows
