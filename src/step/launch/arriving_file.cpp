// src/step/launch/arriving_file.cpp - see arriving_file.h.
#include "step/launch/arriving_file.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr std::size_t piece_size = 65536;

}  // namespace

ArrivingFile::ArrivingFile(const wire::ReceivedFile& file, Put put)
    : size_(file.size()), packed_(file.packed()), put_(std::move(put)) {
  if (!packed_) return;
  ready_ = inflateInit(&stream_) == Z_OK;
  out_.resize(piece_size);
}

ArrivingFile::~ArrivingFile() {
  if (ready_) inflateEnd(&stream_);
}

Result<void> ArrivingFile::put(std::string_view bytes) {
  if (bytes.size() > size_ - written_)
    return fail(Errc::corrupt, "more than the " + std::to_string(size_) + " bytes of the file arrived");
  MR_TRY_VOID(put_(bytes));
  written_ += bytes.size();
  return {};
}

Result<bool> ArrivingFile::take(std::string_view bytes) {
  if (!packed_) {
    MR_TRY_VOID(put(bytes));
    return true;
  }
  if (!ready_) return fail(Errc::unavailable, "cannot unpack");
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, piece_size);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));  // zlib only reads it
    stream_.avail_in = static_cast<uInt>(piece.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_.avail_out = static_cast<uInt>(out_.size());
    const int state = inflate(&stream_, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END)
      return fail(Errc::corrupt, "what arrives is not packed as it should be");
    MR_TRY_VOID(put(std::string_view{out_}.substr(0, out_.size() - stream_.avail_out)));
    if (state == Z_STREAM_END) return false;
    bytes.remove_prefix(piece.size() - stream_.avail_in);
  }
  return true;
}

Result<void> ArrivingFile::end() const {
  if (written_ == size_) return {};
  return fail(Errc::corrupt, "only " + std::to_string(written_) + " of " + std::to_string(size_) + " bytes arrived");
}

}  // namespace millrace
