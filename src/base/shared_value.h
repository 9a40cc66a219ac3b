// src/base/shared_value.h - an immutable, counted value; any thread may hold and read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/assert.h"

namespace millrace {

// One pointer wide. Copying counts; the value itself never changes once it is shared: edit() copies unless this is
// the only holder, which is what makes a snapshot of a large table cheap (SharedMap builds on the same rule).
template <class T>
class SharedValue {
 public:
  SharedValue() = default;
  explicit SharedValue(T value) : cell_(new Cell(std::move(value))) {}
  SharedValue(const SharedValue& other) noexcept : cell_(other.cell_) {
    if (cell_) cell_->count.fetch_add(1, std::memory_order_relaxed);
  }
  SharedValue(SharedValue&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  SharedValue& operator=(SharedValue other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~SharedValue() {
    if (cell_ && cell_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete cell_;
  }

  explicit operator bool() const { return cell_ != nullptr; }
  const T& operator*() const {
    MR_ASSERT(cell_ != nullptr);
    return cell_->value;
  }
  const T* operator->() const { return &**this; }
  const T* get() const { return cell_ ? &cell_->value : nullptr; }

  // The value for writing. Only the owner of this handle may call it; others keep seeing the old value.
  T& edit() {
    MR_ASSERT(cell_ != nullptr);
    if (cell_->count.load(std::memory_order_acquire) != 1) *this = SharedValue(cell_->value);
    return cell_->value;
  }
  bool is_unique() const { return cell_ && cell_->count.load(std::memory_order_acquire) == 1; }

 private:
  struct Cell {
    explicit Cell(T v) : value(std::move(v)) {}
    std::atomic<std::uint32_t> count{1};
    T value;
  };
  Cell* cell_ = nullptr;
};

}  // namespace millrace
