// src/step/stdio/task_input.cpp - see task_input.h.
#include "step/stdio/task_input.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr std::size_t piece_bytes = 128;  // what a piece needs besides its text, so that many short ones count too

}  // namespace

void TaskInput::add(std::string_view bytes, std::optional<std::uint32_t> only_to) {
  if (bytes.empty()) return;
  Piece piece{{}, only_to, 0};
  for (Reader& reader : readers_) {
    if (!reader.wants(piece)) continue;
    reader.left += bytes.size();
    ++piece.readers;
  }
  if (piece.readers == 0) return;
  piece.bytes = bytes;
  bytes_ += bytes.size() + piece_bytes;
  pieces_.push_back(std::move(piece));
}

std::string_view TaskInput::next(std::size_t number) {
  Reader& reader = readers_[number];
  if (reader.left == 0) return {};
  while (reader.piece < first_ || !reader.wants(at(reader.piece))) {
    reader.piece = reader.piece < first_ ? first_ : reader.piece + 1;
    reader.offset = 0;
  }
  return std::string_view{at(reader.piece).bytes}.substr(reader.offset);
}

void TaskInput::took(std::size_t number, std::size_t count) {
  Reader& reader = readers_[number];
  reader.left -= count;
  reader.offset += count;
  if (reader.offset < at(reader.piece).bytes.size()) return;
  --at(reader.piece).readers;
  ++reader.piece;
  reader.offset = 0;
  drop_taken();
}

void TaskInput::close(std::size_t number) {
  Reader& reader = readers_[number];
  for (std::uint64_t piece = std::max(reader.piece, first_); piece < end(); ++piece)
    if (reader.wants(at(piece))) --at(piece).readers;
  reader.open = false;
  reader.left = 0;
  drop_taken();
}

void TaskInput::drop_taken() {
  while (!pieces_.empty() && pieces_.front().readers == 0) {
    bytes_ -= pieces_.front().bytes.size() + piece_bytes;
    pieces_.pop_front();
    ++first_;
  }
}

}  // namespace millrace
