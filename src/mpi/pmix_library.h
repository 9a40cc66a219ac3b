// src/mpi/pmix_library.h - libpmix's server interface as we declare it ourselves; the library is found at run time, so
// that nobody needs it who does not use it. Names and layouts are the foreign ABI's (PMIx standard 3 and later;
// libpmix.so.2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"

namespace millrace {
namespace pmix {

using Status = int;
using Rank = std::uint32_t;
constexpr Status success = 0, error = -1, not_found = -46, not_supported = -47, duplicate_key = -53,
                 operation_succeeded = -157;
constexpr Rank rank_undefined = UINT32_MAX, rank_wildcard = UINT32_MAX - 1;
constexpr std::size_t name_max = 255, key_max = 511;

enum Type : std::uint16_t {
  type_bool = 1,
  type_string = 3,
  type_uint16 = 13,
  type_uint32 = 14,
  type_value = 21,
  type_info = 24,
  type_data_array = 39,
  type_rank = 40
};

struct Process {
  char space[name_max + 1];
  Rank rank;
};
struct DataArray {
  std::uint16_t type;
  std::size_t size;
  void* array;
};
struct Value {
  std::uint16_t type;
  union {
    bool flag;
    char* string;
    std::uint16_t uint16;
    std::uint32_t uint32;
    Rank rank;
    DataArray* array;
    struct {
      char* envar;
      char* value;
      char separator;
    } largest;
  } data;
};
struct Info {
  char key[key_max + 1];
  std::uint32_t flags;
  Value value;
};
struct Published {
  Process process;
  char key[key_max + 1];
  Value value;
};
struct Bytes {
  char* bytes;
  std::size_t size;
};
struct Buffer {
  char* base;
  char* pack;
  char* unpack;
  std::size_t allocated, used;
};

static_assert(sizeof(Process) == 260 && sizeof(Value) == 32 && sizeof(Info) == 552 && sizeof(Published) == 808 &&
              sizeof(DataArray) == 24);

using OnDone = void (*)(Status, void*);
using OnRelease = void (*)(void*);
using OnData = void (*)(Status, const char* data, std::size_t size, void*, OnRelease, void*);
using OnFound = void (*)(Status, Published*, std::size_t, void*);
using OnAnswer = void (*)(Status, char* data, std::size_t size, void*);

// What the library asks of us. Later members, which we do not have, stay null: it answers "not supported" for them.
struct Module {
  Status (*client_connected)(const Process*, void*, OnDone, void*);
  Status (*client_finalized)(const Process*, void*, OnDone, void*);
  Status (*abort)(const Process*, void*, int status, const char* text, Process* processes, std::size_t, OnDone, void*);
  Status (*fence)(const Process*, std::size_t, const Info*, std::size_t, char* data, std::size_t, OnData, void*);
  Status (*direct_modex)(const Process*, const Info*, std::size_t, OnData, void*);
  Status (*publish)(const Process*, const Info*, std::size_t, OnDone, void*);
  Status (*look_up)(const Process*, char** keys, const Info*, std::size_t, OnFound, void*);
  Status (*unpublish)(const Process*, char** keys, const Info*, std::size_t, OnDone, void*);
  void* later[56];
};

}  // namespace pmix

struct PmixLibrary {
  pmix::Status (*server_init)(pmix::Module*, pmix::Info*, std::size_t);
  pmix::Status (*server_finalize)();
  pmix::Status (*generate_regex)(const char*, char**);
  pmix::Status (*generate_ppn)(const char*, char**);
  pmix::Status (*register_nspace)(const char*, int, pmix::Info*, std::size_t, pmix::OnDone, void*);
  pmix::Status (*register_client)(const pmix::Process*, uid_t, gid_t, void*, pmix::OnDone, void*);
  pmix::Status (*setup_fork)(const pmix::Process*, char***);
  pmix::Status (*dmodex_request)(const pmix::Process*, pmix::OnAnswer, void*);
  pmix::Status (*data_pack)(const pmix::Process*, pmix::Buffer*, void*, std::int32_t, std::uint16_t);
  pmix::Status (*data_unpack)(const pmix::Process*, pmix::Buffer*, void*, std::int32_t*, std::uint16_t);
  pmix::Status (*data_load)(pmix::Buffer*, pmix::Bytes*);
  pmix::Status (*data_unload)(pmix::Buffer*, pmix::Bytes*);
  const char* (*error_string)(pmix::Status);
  const char* (*version)();
};

// Says which package has it when it is not there. Never unloaded: it has threads.
Result<PmixLibrary> load_pmix();
// The first number of the installed library's version; nothing: it is not installed.
std::optional<int> pmix_version();

}  // namespace millrace
