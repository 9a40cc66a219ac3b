// src/platform/munge.cpp - see munge.h.
#include "platform/munge.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace millrace {
namespace {

constexpr const char* library_name = "libmunge.so.2";
constexpr const char* usual_socket = "/run/munge/munge.socket.2";
// Numbers of libmunge's options, which its interface fixes.
constexpr int option_socket = 8, option_uid_restriction = 9;

}  // namespace

struct Munge::Library {
  void* handle = nullptr;
  void* (*create)() = nullptr;
  void (*destroy)(void*) = nullptr;
  int (*set)(void*, int, ...) = nullptr;
  int (*encode)(char**, void*, const void*, int) = nullptr;
  int (*decode)(const char*, void*, void**, int*, uid_t*, gid_t*) = nullptr;
  const char* (*words)(int) = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  template <class Function>
  bool find(Function& out, const char* name) {
    out = reinterpret_cast<Function>(dlsym(handle, name));
    return out != nullptr;
  }
};

Munge::Munge(std::unique_ptr<Library> library, std::string socket)
    : library_(std::move(library)), socket_(std::move(socket)) {}
Munge::~Munge() = default;

Result<std::unique_ptr<Munge>> Munge::open(const std::string& socket) {
  const std::string path = socket.empty() ? usual_socket : socket;
  if (access(path.c_str(), F_OK) != 0)
    return fail(Errc::not_found, "munged's socket " + path + ": " + std::strerror(errno));
  auto library = std::make_unique<Library>();
  library->handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return fail(Errc::not_found, dlerror());
  if (!library->find(library->create, "munge_ctx_create") || !library->find(library->destroy, "munge_ctx_destroy") ||
      !library->find(library->set, "munge_ctx_set") || !library->find(library->encode, "munge_encode") ||
      !library->find(library->decode, "munge_decode") || !library->find(library->words, "munge_strerror"))
    return fail(Errc::invalid, std::string{library_name} + " lacks a function that libmunge has");
  return std::unique_ptr<Munge>(new Munge(std::move(library), path));
}

// libmunge tries again for ten seconds where nobody listens, and this one waits with it.
Result<void> Munge::look() const {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(Errc::io, std::string{"munge: "} + std::strerror(errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
  const int connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int problem = connected == 0 ? 0 : errno;
  close(fd);
  if (problem == 0) return {};
  return fail(Errc::unavailable, "munged does not answer at " + socket_ + ": " + std::strerror(problem));
}

Result<void*> Munge::context() {
  if (auto there = look(); !there) return std::unexpected(std::move(there).error());
  void* context = library_->create();
  if (context == nullptr) return fail(Errc::io, "munge: no memory");
  if (library_->set(context, option_socket, socket_.c_str()) == 0) return context;
  library_->destroy(context);
  return fail(Errc::invalid, "munge: " + socket_ + " is not accepted as a socket");
}

Result<std::string> Munge::seal(std::string_view payload, uid_t reader) {
  MR_TRY(void* context, this->context());
  char* credential = nullptr;
  int problem = library_->set(context, option_uid_restriction, reader);
  if (problem == 0) problem = library_->encode(&credential, context, payload.data(), static_cast<int>(payload.size()));
  library_->destroy(context);
  std::string out = credential != nullptr ? credential : "";
  std::free(credential);
  if (problem != 0) return fail(Errc::unavailable, std::string{"munge: "} + library_->words(problem));
  return out;
}

Result<Munge::Opened> Munge::unseal(const std::string& credential) {
  MR_TRY(void* context, this->context());
  void* payload = nullptr;
  int size = 0;
  Opened out;
  const int problem = library_->decode(credential.c_str(), context, &payload, &size, &out.uid, &out.gid);
  library_->destroy(context);
  if (payload != nullptr) {  // also of one that came too late or twice: not to be looked at then
    if (problem == 0) out.payload.assign(static_cast<const char*>(payload), static_cast<std::size_t>(size));
    explicit_bzero(payload, static_cast<std::size_t>(size));
    std::free(payload);
  }
  if (problem != 0) return fail(Errc::refused, std::string{"munge: "} + library_->words(problem));
  return out;
}

}  // namespace millrace
