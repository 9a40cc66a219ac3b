// tests/fuzz/fuzz_credential.cpp - keys in files, signatures of launches, tokens, what a MUNGE credential holds.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.pb.h"
#include "apps/munge_nodes.h"
#include "target.h"
#include "wire/credential.h"
#include "wire/node_keys.h"
#include "wire/token.h"

using namespace millrace;

namespace {

// A file that only we can read, gone with its descriptor.
class KeptFile {
 public:
  explicit KeptFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    fchmod(fd_, 0600);
    fuzz::must(write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a file can be written");
  }
  ~KeptFile() { close(fd_); }
  KeptFile(const KeptFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace

FUZZ_TEXT(key_file) {
  const KeptFile file(input);
  if (const auto key = read_key_file(file.path()); key && !key->node.empty())
    fuzz::use(node_key_line(key->node, key->key));
  fuzz::use(read_token_key(file.path()));
}

FUZZ_BINARY(credential) {
  static const auto signer = CredentialSigner::from_cluster_key(std::string(key_size, 'k'));
  const std::string_view signature = input.substr(0, std::min<std::size_t>(input.size(), 64));
  fuzz::use(verify_credential(signer->verify_key(), input, signature));
  fuzz::use(verify_credential(signature, input, signature));
  wire::Credential credential;
  if (!credential.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  const std::string bytes = credential.SerializeAsString();
  const std::string signed_by_us = signer->sign(bytes);
  fuzz::must(verify_credential(signer->verify_key(), bytes, signed_by_us), "what was signed is believed");
}

FUZZ_TEXT(token) {
  const std::string token = make_token(std::string(32, 'k'), input, 1, 2);
  for (const char c : token)
    fuzz::must(
        c == '.' || c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'),
        "a token has letters that fit into a header only");
}

FUZZ_SEEDS(munge_payload) { return {"millrace 1 " + std::string(node_key_size, 'k') + "n1"}; }

FUZZ_TEXT(munge_payload) {
  const auto proof = read_munge_payload(input);
  if (proof) fuzz::must(proof->key.size() == node_key_size, "the key of a session has its whole length");
}

// The name in the certificate of who connects, and the lines behind a cluster's key.
FUZZ_TEXT(key_name) {
  if (const auto name = parse_key_name(input)) {
    fuzz::must(parse_key_name(text_of(*name)) == name, "a name that is written is read back");
    fuzz::must(is_node_name(name->node), "what can be read in two ways is no name");
  }
  if (const auto generations = parse_generation_lines(input))
    fuzz::must(parse_generation_lines(generation_lines(*generations)) == generations, "lines are read back");
}
