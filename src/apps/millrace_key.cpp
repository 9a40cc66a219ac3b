// src/apps/millrace_key.cpp - millrace-key, what `millrace key` starts: makes the cluster's key and the lines nodes get
// from it.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/text.h"
#include "config/slurm_conf.h"
#include "wire/credential.h"

namespace millrace {
namespace {

constexpr const char* usage =
    "Usage: millrace key make FILE\n"
    "       millrace key node NAME [--key FILE]\n"
    "  make FILE      make a new cluster key; a file that is there is never touched\n"
    "  node NAME      print the line for millrace.key of node NAME, to be put beside its slurm.conf with mode 0600\n"
    "  --key FILE     the cluster key (default: the one of slurm.conf, StateSaveLocation/cluster.key)\n";

int say_failure(const std::string& story) {
  std::fprintf(stderr, "millrace key: error: %s\n", story.c_str());
  return 1;
}

// The name goes into a line of words and into a derivation: what could be read in two ways is refused.
bool is_node_name(std::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  for (const char letter : name)
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
          letter == '-' || letter == '_' || letter == '.'))
      return false;
  return true;
}

int make_key(const std::string& path) {
  if (const auto made = make_cluster_key_file(path); !made) return say_failure(made.error().story);
  std::printf("%s made. It is the cluster's secret: only the controller's host needs it.\n", path.c_str());
  return 0;
}

int node_key(std::string_view name, std::string key_file) {
  if (!is_node_name(name)) return say_failure("'" + std::string{name} + "' is not the name of a node");
  if (key_file.empty()) {
    const auto configuration = load_configuration(configuration_path());
    if (!configuration)
      return say_failure(configuration.error().story + "; --key FILE names the cluster key without it");
    key_file = configuration->cluster_key_file;
  }
  const auto cluster = read_key_file(key_file);
  if (!cluster) return say_failure(cluster.error().story);
  if (!cluster->node.empty())
    return say_failure(key_file + ": this is the key of node " + cluster->node + "; the cluster's is needed");
  const std::string line = node_key_line(name, derive_node_key(cluster->key, name));
  return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0
             ? 0
             : say_failure("the line could not be written");
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  using namespace millrace;
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--help" || what == "-h") return std::fputs(usage, stdout) < 0;
  if (what == "make" && argc == 3) return make_key(argv[2]);
  if (what == "node" && argc == 3) return node_key(argv[2], "");
  if (what == "node" && argc == 5 && std::string_view{argv[3]} == "--key") return node_key(argv[2], argv[4]);
  if (what == "node" && argc == 4 && std::string_view{argv[3]}.starts_with("--key="))
    return node_key(argv[2], argv[3] + 6);
  std::fputs(usage, stderr);
  return 1;
}
