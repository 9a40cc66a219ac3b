// src/isolation/cgroup.cpp - see cgroup.h; the drivers are in cgroup_v1.cpp and cgroup_v2.cpp.
#include "isolation/cgroup.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "isolation/cgroup_drivers.h"
#include "isolation/control_file.h"

namespace millrace {
namespace {

constexpr int evict_tries = 200;
constexpr int remove_tries = 20;

class NoCgroup final : public JobCgroup {
 public:
  Result<void> create(const CgroupLimits&, const CgroupLimits&) override { return {}; }
  Result<void> join() const override { return {}; }
  std::vector<pid_t> processes() const override { return {}; }
  CgroupUsage usage() const override { return {}; }
  std::uint64_t oom_kills() const override { return 0; }
  Result<void> freeze() const override { return fail(Errc::unavailable, "cgroups are not used here"); }
  Result<void> thaw() const override { return fail(Errc::unavailable, "cgroups are not used here"); }
  void kill_all() const override {}
  bool remove() override { return true; }
};

std::unexpected<Error> cannot_make(const std::string& folder) {
  return fail(Errc::io, "make the cgroup " + folder + ": " + std::strerror(errno));
}

}  // namespace

std::optional<DeviceNumber> device_number(const std::string& file) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0 || (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode))) return std::nullopt;
  return DeviceNumber{S_ISBLK(info.st_mode), major(info.st_rdev), minor(info.st_rdev)};
}

Result<void> make_step_folder(const std::string& node_folder, const std::string& job, const std::string& step,
                              void (*evict)(const std::string&)) {
  const std::string job_folder = node_folder + "/" + job, step_folder = job_folder + "/" + step;
  // Another step of the job may end, and take the job's folder with it, between our two calls.
  for (int tries = 0;; ++tries) {
    if (mkdir(job_folder.c_str(), 0755) != 0 && errno != EEXIST) return cannot_make(job_folder);
    if (mkdir(step_folder.c_str(), 0755) == 0) return {};
    if (errno == ENOENT && tries < evict_tries) continue;
    if (errno != EEXIST) return cannot_make(step_folder);
    if (rmdir(step_folder.c_str()) == 0 && tries < evict_tries) continue;
    if (errno != EBUSY || tries >= evict_tries) return errno == EBUSY ? cannot_make(step_folder) : Result<void>{};
    evict(step_folder);
    poll(nullptr, 0, 5);
  }
}

bool remove_step_folder(const std::string& node_folder, const std::string& job, const std::string& step) {
  const std::string job_folder = node_folder + "/" + job, step_folder = job_folder + "/" + step;
  bool gone = false;
  // A process that has just been waited for may count for a moment longer.
  for (int tries = 0; !gone && tries < remove_tries; ++tries) {
    if (tries > 0) poll(nullptr, 0, 1);
    gone = rmdir(step_folder.c_str()) == 0 || errno == ENOENT;
  }
  if (gone) rmdir(job_folder.c_str());  // stays while other steps are in it
  return gone;
}

std::vector<pid_t> pids_in(const std::string& file) {
  std::vector<pid_t> pids;
  const std::string text = read_control(file);
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 0) pids.push_back(static_cast<pid_t>(pid));
    at = *end == '\n' ? end + 1 : end;
  }
  return pids;
}

std::unique_ptr<JobCgroup> make_job_cgroup(const CgroupFolders& folders, const std::string& job,
                                           const std::string& step) {
  if (folders.driver == CgroupDriver::v1 && !folders.folders.empty()) return make_cgroup_v1(folders, job, step);
  if (folders.driver == CgroupDriver::v2 && !folders.folders.empty()) return make_cgroup_v2(folders, job, step);
  return std::make_unique<NoCgroup>();
}

}  // namespace millrace
