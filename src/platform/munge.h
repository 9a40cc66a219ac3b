// src/platform/munge.h - MUNGE's proof of who somebody is, for sites that have it: libmunge is loaded when it is wanted
// and there.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// Each call asks munged on this host and waits for its answer, as libmunge does.
class Munge {
 public:
  struct Opened {
    std::string payload;
    uid_t uid = 0;
    gid_t gid = 0;
  };

  // An empty socket is libmunge's own. Fails with words when the library or the socket is not there.
  static Result<std::unique_ptr<Munge>> open(const std::string& socket);
  ~Munge();
  Munge(const Munge&) = delete;
  Munge& operator=(const Munge&) = delete;

  // What only `reader` can open, once, on a host of the same realm.
  Result<std::string> seal(std::string_view payload, uid_t reader);
  Result<Opened> unseal(const std::string& credential);
  const std::string& socket() const { return socket_; }

 private:
  struct Library;
  Munge(std::unique_ptr<Library> library, std::string socket);
  Result<void> look() const;
  Result<void*> context();

  std::unique_ptr<Library> library_;
  std::string socket_;
};

}  // namespace millrace
