// src/step/launch/arriving_file.h - the bytes of sbcast's file as they come, packed or not, on their way into the file.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "job.pb.h"

namespace millrace {

// Never puts more than the size that was announced, whatever the packed bytes would become.
class ArrivingFile {
 public:
  using Put = std::function<Result<void>(std::string_view)>;
  ArrivingFile(const wire::ReceivedFile& file, Put put);
  ArrivingFile(const ArrivingFile&) = delete;
  ArrivingFile& operator=(const ArrivingFile&) = delete;
  ~ArrivingFile();

  Result<bool> take(std::string_view bytes);  // false: it is whole, and no more is wanted
  Result<void> end() const;                   // nothing more comes

 private:
  Result<void> put(std::string_view bytes);

  const std::uint64_t size_;
  const bool packed_;
  const Put put_;
  std::uint64_t written_ = 0;
  z_stream stream_{};
  bool ready_ = false;  // to unpack
  std::string out_;
};

}  // namespace millrace
