// src/wire/credential.cpp - see credential.h.
#include "wire/credential.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/text.h"
#include "millrace.pb.h"

namespace millrace {

namespace {

constexpr std::size_t signature_size = 64;
constexpr std::size_t ed25519_key_size = 32;
constexpr std::size_t key_file_size_max = 4096;

const unsigned char* data(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* data(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

std::unexpected<Error> fail_errno(Errc code, const std::string& doing) {
  return fail(code, doing + ": " + std::strerror(errno));
}

struct FileGuard {
  int fd;
  ~FileGuard() { close(fd); }
};

Result<std::string> read_secret_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno == ENOENT ? Errc::not_found : Errc::io, "open key file " + path);
  const FileGuard guard{fd};
  struct stat info {};
  if (fstat(fd, &info) != 0) return fail_errno(Errc::io, "look at key file " + path);
  if (!S_ISREG(info.st_mode)) return fail(Errc::refused, "key file " + path + " is not a file");
  if ((info.st_mode & 077) != 0)
    return fail(Errc::refused, "key file " + path + " is open to others than its owner; chmod 600 it");
  if (info.st_uid != 0 && info.st_uid != geteuid())
    return fail(Errc::refused, "key file " + path + " belongs to uid " + std::to_string(info.st_uid));
  std::string text(key_file_size_max, '\0');
  const ssize_t count = read(fd, text.data(), text.size());
  if (count < 0) return fail_errno(Errc::io, "read key file " + path);
  text.resize(static_cast<std::size_t>(count));
  return text;
}

Result<void> write_secret_file(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fail_errno(errno == EEXIST ? Errc::refused : Errc::io, "create key file " + path);
  const FileGuard guard{fd};
  // A key lost to a power cut after jobs were accepted under it would be a new cluster.
  if (write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || fsync(fd) != 0) {
    const auto problem = fail_errno(Errc::io, "write key file " + path);
    unlink(path.c_str());
    return problem;
  }
  return {};
}

Result<std::string> key_of(std::string_view hex, const std::string& path) {
  auto key = from_hex(hex);
  if (!key || key->size() != cluster_key_size) return fail(Errc::corrupt, "key file " + path + " holds no key");
  return *std::move(key);
}

}  // namespace

struct CredentialSigner::Key {
  EVP_PKEY* pkey = nullptr;
  ~Key() { EVP_PKEY_free(pkey); }
};

std::string sha256(std::string_view bytes) {
  std::string digest(32, '\0');
  unsigned length = 0;
  MR_ASSERT(EVP_Digest(bytes.data(), bytes.size(), data(digest), &length, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string digest(32, '\0');
  unsigned length = 0;
  MR_ASSERT(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data(bytes), bytes.size(), data(digest),
                 &length) != nullptr);
  return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string derive_node_key(std::string_view cluster_key, std::string_view node_name) {
  return hmac_sha256(cluster_key, "node:" + std::string{node_name});
}

std::string plan_digest(const wire::LaunchPlan& plan) { return sha256(plan.SerializeAsString()); }

CredentialSigner::CredentialSigner(std::unique_ptr<Key> key)
    : key_(std::move(key)), verify_key_(ed25519_key_size, '\0') {
  std::size_t length = verify_key_.size();
  MR_ASSERT(EVP_PKEY_get_raw_public_key(key_->pkey, data(verify_key_), &length) == 1);
}
CredentialSigner::CredentialSigner(CredentialSigner&&) noexcept = default;
CredentialSigner& CredentialSigner::operator=(CredentialSigner&&) noexcept = default;
CredentialSigner::~CredentialSigner() = default;

Result<CredentialSigner> CredentialSigner::from_cluster_key(std::string_view cluster_key) {
  if (cluster_key.size() != cluster_key_size) return fail(Errc::invalid, "the cluster key must have 32 bytes");
  const std::string seed = hmac_sha256(cluster_key, "credential signing");
  auto key = std::make_unique<Key>();
  key->pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, data(seed), seed.size());
  if (key->pkey == nullptr) return fail(Errc::unavailable, "this OpenSSL has no Ed25519");
  return CredentialSigner{std::move(key)};
}

std::string CredentialSigner::sign(std::string_view bytes) const {
  std::string signature(signature_size, '\0');
  std::size_t length = signature.size();
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  MR_ASSERT(EVP_DigestSignInit(context, nullptr, nullptr, nullptr, key_->pkey) == 1);
  MR_ASSERT(EVP_DigestSign(context, data(signature), &length, data(bytes), bytes.size()) == 1);
  EVP_MD_CTX_free(context);
  return signature;
}

bool verify_signature(std::string_view verify_key, std::string_view bytes, std::string_view signature) {
  if (verify_key.size() != ed25519_key_size || signature.size() != signature_size) return false;
  EVP_PKEY* key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, data(verify_key), verify_key.size());
  if (key == nullptr) return false;
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool good = EVP_DigestVerifyInit(context, nullptr, nullptr, nullptr, key) == 1 &&
                    EVP_DigestVerify(context, data(signature), signature.size(), data(bytes), bytes.size()) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return good;
}

Result<std::string> make_cluster_key_file(const std::string& path) {
  std::string key(cluster_key_size, '\0');
  if (RAND_bytes(data(key), static_cast<int>(key.size())) != 1) return fail(Errc::unavailable, "no random numbers");
  MR_TRY_VOID(write_secret_file(path, "millrace-cluster-key 1 " + to_hex(key) + "\n"));
  return key;
}

Result<std::string> read_cluster_key_file(const std::string& path) {
  MR_TRY(const std::string text, read_secret_file(path));
  const auto words = split(trim(text), ' ');
  if (words.size() != 3 || words[0] != "millrace-cluster-key" || words[1] != "1")
    return fail(Errc::corrupt, path + " is not a cluster key file");
  return key_of(words[2], path);
}

Result<void> write_node_key_file(const std::string& path, const NodeKey& key) {
  return write_secret_file(path, "millrace-node-key 1 " + key.node + " " + to_hex(key.key) + "\n");
}

Result<NodeKey> read_node_key_file(const std::string& path) {
  MR_TRY(const std::string text, read_secret_file(path));
  const auto words = split(trim(text), ' ');
  if (words.size() != 4 || words[0] != "millrace-node-key" || words[1] != "1" || words[2].empty())
    return fail(Errc::corrupt, path + " is not a node key file");
  MR_TRY(std::string key, key_of(words[3], path));
  return NodeKey{std::string{words[2]}, std::move(key)};
}

}  // namespace millrace
