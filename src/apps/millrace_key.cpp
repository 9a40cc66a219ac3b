// src/apps/millrace_key.cpp - millrace-key, what `millrace key` starts: makes the cluster's key and the lines nodes get
// from it.
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hostlist.h"
#include "config/slurm_conf.h"
#include "wire/credential.h"

namespace millrace {
namespace {

constexpr const char* usage =
    "Usage: millrace key make FILE\n"
    "       millrace key node NAME [--login [--root]] [--key FILE]\n"
    "       millrace key revoke NAME [--key FILE]\n"
    "  make FILE      make a new cluster key; a file that is there is never touched\n"
    "  node NAME      print the line for millrace.key of node NAME, to be put beside its slurm.conf with mode 0600\n"
    "  --login        of a login machine: it may run a relay, and speaks for its users wherever they have no job\n"
    "  --root         ... and for root and SlurmUser: whoever has this key rules the cluster\n"
    "                 a name has keys of one kind: with a key of another kind the older ones are worthless\n"
    "  revoke NAME    make every key that NAME has had worthless, and end its connections\n"
    "  --key FILE     the cluster key (default: the one of slurm.conf, StateSaveLocation/cluster.key)\n";

int say_failure(const std::string& story) {
  std::fprintf(stderr, "millrace key: error: %s\n", story.c_str());
  return 1;
}

struct Words {
  std::string name, key_file;
  bool login = false, root = false;
};

// What the last words say; nothing: they say something else.
std::optional<Words> read_words(int argc, char** argv) {
  Words out;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--login")
      out.login = true;
    else if (word == "--root")
      out.root = true;
    else if (word == "--key" && i + 1 < argc)
      out.key_file = argv[++i];
    else if (word.starts_with("--key="))
      out.key_file = word.substr(6);
    else if (out.name.empty() && !word.starts_with('-'))
      out.name = word;
    else
      return std::nullopt;
  }
  if (out.name.empty()) return std::nullopt;
  return out;
}

// Where a cluster runs with another key, nobody gets in with the old ones.
void say_who_needs_keys(const std::string& path) {
  const auto configuration = load_configuration(configuration_path());
  if (!configuration || configuration->cluster_key_file != path || configuration->nodes.empty()) return;
  std::vector<std::string> names;
  for (const ConfiguredNode& node : configuration->nodes) names.push_back(node.name);
  std::printf(
      "Keys made from another cluster key are worthless with it: every node and login machine needs one of `millrace "
      "key node NAME`, and a restart of its agent: %s\n",
      compress_hostlist_sorted(std::move(names)).c_str());
}

int make_key(const std::string& path) {
  if (const auto made = make_cluster_key_file(path); !made) return say_failure(made.error().story);
  std::printf("%s made. It is the cluster's secret: only the controller's host needs it.\n", path.c_str());
  say_who_needs_keys(path);
  return 0;
}

Result<std::string> cluster_key_path(const Words& words) {
  if (!is_node_name(words.name)) return fail(Errc::invalid, "'" + words.name + "' is not the name of a node");
  if (!words.key_file.empty()) return words.key_file;
  const auto configuration = load_configuration(configuration_path());
  if (!configuration)
    return fail(Errc::invalid, configuration.error().story + "; --key FILE names the cluster key without it");
  return configuration->cluster_key_file;
}

int node_key(const Words& words) {
  if (words.root && !words.login) return say_failure("--root is of use with --login only");
  const auto path = cluster_key_path(words);
  if (!path) return say_failure(path.error().story);
  const auto cluster = read_key_file(*path);
  if (!cluster) return say_failure(cluster.error().story);
  if (!cluster->node.empty())
    return say_failure(*path + ": this is the key of node " + cluster->node + "; the cluster's is needed");
  const KeyRole role = words.root ? KeyRole::login_root : words.login ? KeyRole::login : KeyRole::node;
  const auto name = name_next_key(*path, words.name, role);
  if (!name) return say_failure(name.error().story);
  if (name->generation != cluster->current(words.name, role).generation)
    std::fprintf(stderr,
                 "millrace key: %s has keys of this kind from now on: any other that it has had is worthless, and its "
                 "connections end within two seconds\n",
                 words.name.c_str());
  const std::string line = node_key_line(text_of({role, words.name}), derive_key(cluster->key, *name));
  return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0
             ? 0
             : say_failure("the line could not be written");
}

int revoke(const Words& words) {
  const auto path = cluster_key_path(words);
  if (!path) return say_failure(path.error().story);
  if (const auto done = revoke_keys(*path, words.name); !done) return say_failure(done.error().story);
  std::printf(
      "Every key that %s has had is worthless: a controller that runs closes its connections within two seconds, and "
      "one "
      "that does not run knows it when it starts. `millrace key node %s` makes the next key.\n",
      words.name.c_str(), words.name.c_str());
  return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  using namespace millrace;
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--help" || what == "-h") return std::fputs(usage, stdout) < 0;
  if (what == "make" && argc == 3) return make_key(argv[2]);
  const auto words = read_words(argc, argv);
  if (what == "node" && words) return node_key(*words);
  if (what == "revoke" && words && !words->login && !words->root) return revoke(*words);
  std::fputs(usage, stderr);
  return 1;
}
