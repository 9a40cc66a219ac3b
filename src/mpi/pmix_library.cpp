// src/mpi/pmix_library.cpp - see pmix_library.h.
#include "mpi/pmix_library.h"

#include <dlfcn.h>

#include <charconv>
#include <string>
#include <string_view>

namespace millrace {
namespace {

constexpr const char* file = "libpmix.so.2";

}  // namespace

Result<PmixLibrary> load_pmix() {
  // Its own plugins look for the library's symbols.
  void* handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return fail(Errc::not_found, std::string{"--mpi=pmix needs "} + file + ", which is in Debian's package libpmix2: " +
                                     (why != nullptr ? why : "not found"));
  }
  PmixLibrary out{};
  const auto find = [&](auto& function, const char* name) {
    void* found = dlsym(handle, name);
    __builtin_memcpy(&function, &found, sizeof found);
    return found != nullptr;
  };
  const bool whole = find(out.server_init, "PMIx_server_init") && find(out.server_finalize, "PMIx_server_finalize") &&
                     find(out.generate_regex, "PMIx_generate_regex") && find(out.generate_ppn, "PMIx_generate_ppn") &&
                     find(out.register_nspace, "PMIx_server_register_nspace") &&
                     find(out.register_client, "PMIx_server_register_client") &&
                     find(out.setup_fork, "PMIx_server_setup_fork") &&
                     find(out.dmodex_request, "PMIx_server_dmodex_request") && find(out.data_pack, "PMIx_Data_pack") &&
                     find(out.data_unpack, "PMIx_Data_unpack") && find(out.data_load, "PMIx_Data_load") &&
                     find(out.data_unload, "PMIx_Data_unload") && find(out.error_string, "PMIx_Error_string") &&
                     find(out.version, "PMIx_Get_version");
  if (!whole)
    return fail(Errc::invalid, std::string{file} + " is older than PMIx 4, which --mpi=pmix needs: " + dlerror());
  return out;
}

std::optional<int> pmix_version() {
  const auto library = load_pmix();
  if (!library) return std::nullopt;
  const std::string_view words = library->version();  // "OpenPMIx 4.2.2, repo rev: ..."
  const std::size_t digit = words.find_first_of("0123456789");
  int number = 0;
  if (digit == std::string_view::npos ||
      std::from_chars(words.data() + digit, words.data() + words.size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

}  // namespace millrace
