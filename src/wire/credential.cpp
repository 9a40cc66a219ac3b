// src/wire/credential.cpp - see credential.h.
#include "wire/credential.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/text.h"
#include "wire/random.h"

namespace millrace {
namespace {

const unsigned char* raw(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// Where a key file lies, and whose it is.
class KeyFolder {
 public:
  explicit KeyFolder(const std::string& file)
      : path_(file.find('/') == std::string::npos ? "." : file.substr(0, file.rfind('/') + 1)),
        fd_(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  KeyFolder(const KeyFolder&) = delete;
  KeyFolder& operator=(const KeyFolder&) = delete;
  ~KeyFolder() {
    if (fd_ >= 0) close(fd_);
    if (lock_ >= 0) close(lock_);
  }
  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }
  // Until we are gone. Not by the folder itself, which the controller keeps locked as its state directory.
  bool lock(const std::string& file) {
    lock_ = open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return lock_ >= 0 && flock(lock_, LOCK_EX) == 0;
  }
  bool sync() const { return fsync(fd_) == 0; }
  // The controller reads it as SlurmUser, whose folder it is, whoever makes it.
  bool give(int file) const {
    struct stat owner{};
    return geteuid() != 0 || (fstat(fd_, &owner) == 0 && fchown(file, owner.st_uid, owner.st_gid) == 0);
  }

 private:
  const std::string path_;
  const int fd_;
  int lock_ = -1;
};

// A file that is there is left alone. On failure errno says why, and nothing is left.
bool write_key_file(const std::string& path, const std::string& text, const KeyFolder& folder) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const bool written = folder.give(file) &&
                       write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  const int problem = errno;
  close(file);
  if (!written) unlink(path.c_str());
  errno = problem;
  return written;
}

std::string cluster_key_line(std::string_view key) { return "millrace-cluster-key 1 " + to_hex(key) + "\n"; }

std::string why(const std::string& path) { return path + ": " + std::strerror(errno); }

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string out(32, '\0');
  unsigned length = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &length,
                            EVP_sha256(), nullptr);
  MR_ASSERT(ok == 1 && length == 32);
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string out(32, '\0');
  unsigned length = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(text), text.size(),
                          reinterpret_cast<unsigned char*>(out.data()), &length);
  MR_ASSERT(done != nullptr && length == 32);
  return out;
}

std::string derive_node_key(std::string_view cluster_key, std::string_view node) {
  return hmac_sha256(cluster_key, "node:" + std::string{node});
}

CredentialSigner::CredentialSigner(void* key) : key_(key), verify_key_(32, '\0') {
  std::size_t length = verify_key_.size();
  const int ok = EVP_PKEY_get_raw_public_key(static_cast<EVP_PKEY*>(key_),
                                             reinterpret_cast<unsigned char*>(verify_key_.data()), &length);
  MR_ASSERT(ok == 1 && length == 32);
}

CredentialSigner::CredentialSigner(CredentialSigner&& other) noexcept
    : key_(std::exchange(other.key_, nullptr)), verify_key_(std::move(other.verify_key_)) {}

CredentialSigner::~CredentialSigner() { EVP_PKEY_free(static_cast<EVP_PKEY*>(key_)); }

Result<CredentialSigner> CredentialSigner::from_cluster_key(std::string_view cluster_key) {
  const std::string seed = hmac_sha256(cluster_key, "credential signing");
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed), seed.size());
  if (!key) return fail(Errc::io, "OpenSSL has no Ed25519");
  return CredentialSigner(key);
}

std::string CredentialSigner::sign(std::string_view bytes) const {
  std::string out(64, '\0');
  std::size_t length = out.size();
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool ok =
      context && EVP_DigestSignInit(context, nullptr, nullptr, nullptr, static_cast<EVP_PKEY*>(key_)) == 1 &&
      EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &length, raw(bytes), bytes.size()) == 1;
  EVP_MD_CTX_free(context);
  MR_ASSERT(ok && length == 64);
  return out;
}

bool verify_credential(std::string_view verify_key, std::string_view bytes, std::string_view signature) {
  if (verify_key.size() != 32 || signature.size() != 64) return false;
  EVP_PKEY* key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(verify_key), verify_key.size());
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool ok = key && context && EVP_DigestVerifyInit(context, nullptr, nullptr, nullptr, key) == 1 &&
                  EVP_DigestVerify(context, raw(signature), signature.size(), raw(bytes), bytes.size()) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return ok;
}

Result<KeyFile> read_key_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return fail(errno == ENOENT ? Errc::not_found : Errc::io, why(path));
  struct stat info{};
  constexpr std::size_t file_max = 4u << 20;
  const bool statted = fstat(file, &info) == 0;
  std::string bytes;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(file, buffer, sizeof buffer)) > 0 && bytes.size() < file_max)
    bytes.append(buffer, static_cast<std::size_t>(got));
  close(file);
  if (!statted || got < 0) return fail(Errc::io, why(path));
  if ((info.st_mode & 077) != 0)
    return fail(Errc::refused, path + ": others may read this key; make it mode 0600 (chmod 600 " + path + ")");
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return fail(Errc::refused, path + ": this key belongs to another user; whoever owns it could change it");
  const std::size_t first_end = std::min(bytes.find('\n'), bytes.size());
  const std::string text{trim(std::string_view{bytes}.substr(0, first_end))};
  const std::string_view rest = std::string_view{bytes}.substr(first_end);
  const auto words = split(text, ' ');
  const bool cluster = words.size() == 3 && words[0] == "millrace-cluster-key" && words[1] == "1";
  const bool node = words.size() == 4 && words[0] == "millrace-node-key" && words[1] == "1";
  const auto key = cluster || node ? from_hex(words.back()) : std::nullopt;
  if (!key || key->size() != key_size) return fail(Errc::invalid, path + ": not a Millrace key file");
  if (node) {
    const auto name = parse_key_name(words[2]);
    if (!name || !trim(rest).empty()) return fail(Errc::invalid, path + ": not a Millrace key file");
    return KeyFile{name->node, name->role, *key, {}};
  }
  auto generations = parse_generation_lines(rest);
  if (!generations)
    return fail(Errc::invalid, path + ": what follows the key is no list of revoked keys (revoked NAME TIMES [ROLE])");
  return KeyFile{{}, KeyRole::node, *key, *std::move(generations)};
}

KeyName KeyFile::current(std::string node_name, KeyRole as) const {
  const auto it = generations.find(node_name);
  return {as, std::move(node_name), it == generations.end() ? 0 : it->second.number};
}

Result<std::string> make_cluster_key_file(const std::string& path) {
  const std::string key = random_bytes(key_size);
  const KeyFolder folder(path);
  if (!folder.is_open()) return fail(Errc::io, why(folder.path()));
  if (!write_key_file(path, cluster_key_line(key), folder) || !folder.sync()) return fail(Errc::io, why(path));
  return key;
}

std::string node_key_line(std::string_view name, std::string_view key) {
  return "millrace-node-key 1 " + std::string{name} + " " + to_hex(key) + "\n";
}

// The next generation of this name has this role. Where `unless_same`, only if the one it has is of another.
static Result<KeyGeneration> raise_generation(const std::string& path, const std::string& node, KeyRole role,
                                              bool unless_same) {
  KeyFolder folder(path);
  if (!folder.is_open() || !folder.lock(path)) return fail(Errc::io, why(folder.path()));
  MR_TRY(KeyFile file, read_key_file(path));
  if (!file.node.empty()) return fail(Errc::invalid, path + ": this is the key of a node; the cluster's is needed");
  KeyGeneration& generation = file.generations[node];
  if (unless_same && generation.role == role) return generation;
  generation = {generation.number + 1, role};
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  if (!write_key_file(fresh, cluster_key_line(file.key) + generation_lines(file.generations), folder))
    return fail(Errc::io, why(fresh));
  if (rename(fresh.c_str(), path.c_str()) != 0 || !folder.sync()) return fail(Errc::io, why(path));
  return generation;
}

Result<std::uint32_t> revoke_keys(const std::string& path, const std::string& node) {
  MR_TRY(const KeyGeneration generation, raise_generation(path, node, KeyRole::node, false));
  return generation.number;
}

Result<KeyName> name_next_key(const std::string& path, const std::string& node, KeyRole role) {
  MR_TRY(const KeyFile file, read_key_file(path));
  const auto known = file.generations.find(node);
  // The file may be one that only its owner can change, and mostly nothing changes.
  if (file.node.empty() && role == (known == file.generations.end() ? KeyRole::node : known->second.role))
    return file.current(node, role);
  MR_TRY(const KeyGeneration generation, raise_generation(path, node, role, true));
  return KeyName{role, node, generation.number};
}

}  // namespace millrace
