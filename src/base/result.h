// src/base/result.h - failures of the outside world, as values that carry their story.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

// A code exists only if some caller reacts to it in its own way; everything else is told in the story.
enum class Errc : std::uint8_t { not_found, invalid, refused, unavailable, outcome_unknown, corrupt, io, unfit };

struct Error {
  Errc code;
  std::string story;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Errc code, std::string story) {
  return std::unexpected(Error{code, std::move(story)});
}

template <class T>
Result<T> in_context(Result<T> result, std::string_view doing) {
  if (!result) result.error().story.insert(0, std::string{doing} + ": ");
  return result;
}

// That this failed is the machine's fault, not that of what was asked.
template <class T>
Result<T> blame_machine(Result<T> result) {
  if (!result) result.error().code = Errc::unfit;
  return result;
}

}  // namespace millrace

#define MR_CONCAT_(a, b) a##b
#define MR_CONCAT(a, b) MR_CONCAT_(a, b)
#define MR_TRY_AS_(slot, declaration, expression)             \
  auto slot = (expression);                                   \
  if (!slot) return std::unexpected(std::move(slot).error()); \
  declaration = *std::move(slot)
#define MR_TRY(declaration, expression) MR_TRY_AS_(MR_CONCAT(mr_try_, __LINE__), declaration, expression)
#define MR_TRY_VOID_(slot, expression) \
  if (auto slot = (expression); !slot) return std::unexpected(std::move(slot).error())
#define MR_TRY_VOID(expression) MR_TRY_VOID_(MR_CONCAT(mr_try_, __LINE__), expression)
