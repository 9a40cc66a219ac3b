// src/step/stdio/task_input.h - standard input that srun has sent and that not every task has taken: kept once, however
// many tasks are to have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class TaskInput {
 public:
  // Readers have the numbers 0, 1 ... in the order in which they are added. A closed one is waited for no longer.
  void add_reader(std::uint32_t rank) { readers_.push_back({rank, end(), 0, 0, true}); }
  void close(std::size_t reader);

  void add(std::string_view bytes, std::optional<std::uint32_t> only_to);
  // What this one is to have next; empty: nothing is left.
  std::string_view next(std::size_t reader);
  void took(std::size_t reader, std::size_t count);  // of next()
  bool has_more(std::size_t reader) const { return readers_[reader].left > 0; }

  std::size_t bytes() const { return bytes_; }  // of memory

 private:
  struct Piece {
    std::string bytes;
    std::optional<std::uint32_t> only_to;
    std::size_t readers = 0;  // who have not taken all of it
  };
  struct Reader {
    std::uint32_t rank = 0;
    std::uint64_t piece = 0;  // from here on nothing was taken but `offset` bytes
    std::size_t offset = 0;
    std::size_t left = 0;  // bytes, of all pieces
    bool open = false;
    bool wants(const Piece& piece) const { return open && (!piece.only_to || *piece.only_to == rank); }
  };
  std::uint64_t end() const { return first_ + pieces_.size(); }
  Piece& at(std::uint64_t piece) { return pieces_[static_cast<std::size_t>(piece - first_)]; }
  void drop_taken();

  std::deque<Piece> pieces_;
  std::uint64_t first_ = 0;  // the number of the first of them
  std::vector<Reader> readers_;
  std::size_t bytes_ = 0;
};

}  // namespace millrace
