// src/apps/millrace_admin.cpp - millrace-admin: what `millrace up|down|doctor|log` starts, so that the client program
// stays small.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "apps/admin_commands.h"

namespace millrace {

namespace {

struct Row {
  std::string_view name;
  int (*run)(const Words&);
};
constexpr Row rows[] = {{"up", run_up}, {"down", run_down}, {"doctor", run_doctor}, {"log", run_log}};

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  umask(022);  // what we make says its own mode; a stricter mask would lock users out of the cluster's socket
  const millrace::Words words(argv + (argc > 1 ? 2 : argc), argv + argc);
  for (const auto& row : millrace::rows)
    if (argc > 1 && row.name == argv[1]) return row.run(words);
  std::fputs("millrace-admin is started by `millrace up`, `down`, `doctor` and `log`\n", stderr);
  return 1;
}
