// src/apps/millrace.cpp - the client program, under its own name and those of Slurm's commands; some commands are other
// programs.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "cli/compat/compat.h"
#include "cli/dispatch.h"

namespace millrace {
namespace {

// Beside this program, as built; or in ../sbin, as installed.
std::string find_program(const char* name) {
  char self[PATH_MAX]{};
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string folder(self, length > 0 ? static_cast<std::size_t>(length) : 0);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  for (const char* place : {"/", "/../sbin/"})
    if (const std::string path = folder + place + name; access(path.c_str(), X_OK) == 0) return path;
  return folder + "/" + name;
}

// What needs more libraries than a client may pay for at each start lives in programs of its own.
int become(Command& command, const char* program, const char* verb) {
  const std::string path = find_program(program);
  std::vector<std::string> words{program};
  if (verb != nullptr) words.emplace_back(verb);
  for (const std::string_view word : command.words) words.emplace_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  say_error(command, path + ": " + std::strerror(errno));
  return 1;
}

int run_up(Command& command) { return become(command, "millrace-admin", "up"); }
int run_down(Command& command) { return become(command, "millrace-admin", "down"); }
int run_doctor(Command& command) { return become(command, "millrace-admin", "doctor"); }
int run_log(Command& command) { return become(command, "millrace-admin", "log"); }
int run_sim(Command& command) { return become(command, "millrace-sim", nullptr); }
int run_smap(Command& command) { return become(command, "millrace-smap", nullptr); }
int run_key(Command& command) { return become(command, "millrace-key", nullptr); }

// Its options are in that program, and so is its page.
std::string smap_manual() {
  std::string out;
  FILE* page = popen(("'" + find_program("millrace-smap") + "' --print-man").c_str(), "r");
  if (page == nullptr) return out;
  char buffer[4096];
  for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, page)) > 0;) out.append(buffer, got);
  pclose(page);
  return out;
}

constexpr CommandRow more[] = {
    {"up", false, "start a cluster on this machine, with nothing configured", run_up, nullptr},
    {"down", false, "end the cluster that `millrace up` started", run_down, nullptr},
    {"doctor", false, "say what is wrong with this machine and what would be right", run_doctor, nullptr},
    {"key", false, "make a cluster key, or print a node's key", run_key, nullptr},
    {"qsub", true, "submit a job, as PBS has it", run_qsub, qsub_manual, nullptr, qsub_words},
    {"qstat", true, "list jobs, as PBS has it", run_qstat, qstat_manual, nullptr, qstat_words},
    {"qdel", true, "delete jobs, as PBS has it", run_qdel, qdel_manual, nullptr, qdel_words},
    {"qhold", true, "hold jobs, as PBS has it", run_qhold, qhold_manual, nullptr, qhold_words},
    {"qrls", true, "release held jobs, as PBS has it", run_qrls, qrls_manual, nullptr, qrls_words},
    {"qalter", true, "change waiting jobs, as PBS has it", run_qalter, qalter_manual, nullptr, qalter_words},
    {"qrerun", true, "run jobs again, as PBS has it", run_qrerun, qrerun_manual, nullptr, qrerun_words},
    {"pbsnodes", true, "list nodes, as PBS has it", run_pbsnodes, pbsnodes_manual, nullptr, pbsnodes_words},
    {"bsub", true, "submit a job, as LSF has it", run_bsub, bsub_manual, nullptr, bsub_words},
    {"bjobs", true, "list jobs, as LSF has it", run_bjobs, bjobs_manual, nullptr, bjobs_words},
    {"bkill", true, "end jobs, as LSF has it", run_bkill, bkill_manual, nullptr, bkill_words},
    {"lsid", true, "print the names of cluster and controller, as LSF has it", run_lsid, lsid_manual, nullptr,
     lsid_words},
    {"smap", true, "show nodes and what they do on a terminal", run_smap, smap_manual},
    {"sim", false, "replay workloads through our planner: what would a policy be worth?", run_sim, nullptr},
    {"log", false, "show what is in an event log, also a damaged one: log dump DIR", run_log, nullptr},
};

// A stream that the shell closed (srun >&-) would otherwise be the number of the first file or socket we open.
void occupy_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0)
      open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);  // writing to what was closed stays an error
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  millrace::occupy_closed_streams();
  return millrace::dispatch(argc, argv, millrace::more);
}
