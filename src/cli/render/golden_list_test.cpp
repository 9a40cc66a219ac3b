// src/cli/render/golden_list_test.cpp - which recording is compared where; a new one that nobody compares fails here.
#include <algorithm>

#include "cli/render/golden_cluster.h"

namespace millrace {
namespace {

enum class Where : std::uint8_t {
  unit,        // golden_test.cpp and golden_data_test.cpp, with our own copy in tests/golden/cli
  system,      // tests/system/golden, against running daemons
  accounting,  // with the tests of sacct, sacctmgr, sdiag, sprio, sshare, sstat; sreport is not built yet
  submission,  // with the tests of sbatch, srun and salloc
};
using enum Where;

struct Compared {
  std::string_view file;
  Where where;
};

constexpr Compared compared[] = {
    {"cancel-note-in-output.txt", system},
    {"env-batch.txt", submission},
    {"env-gpu-batch.txt", submission},
    {"env-salloc.txt", submission},
    {"env-srun.txt", submission},
    {"sacct-P.txt", accounting},
    {"sacct-X.txt", accounting},
    {"sacct-bad.txt", accounting},
    {"sacct-cancelled.txt", accounting},
    {"sacct-helpformat.txt", accounting},
    {"sacct-j.txt", accounting},
    {"sacct-json.txt", accounting},
    {"sacct-l.txt", accounting},
    {"sacct.txt", accounting},
    {"sacctmgr-acct.txt", accounting},
    {"sacctmgr-assoc.txt", accounting},
    {"sacctmgr-cluster.txt", accounting},
    {"sacctmgr-qos.txt", accounting},
    {"sacctmgr-tres.txt", accounting},
    {"sacctmgr-user.txt", accounting},
    {"sbatch-badpart.txt", submission},
    {"sbatch-badtime.txt", submission},
    {"sbatch-noscript.txt", submission},
    {"scancel-bad.txt", system},
    {"scancel-v.txt", system},
    {"scontrol-bad.txt", system},
    {"scontrol-listpids.txt", system},
    {"scontrol-ping.txt", system},
    {"scontrol-show-config.txt", unit},
    {"scontrol-show-hostnames.txt", system},
    {"scontrol-show-job-array.txt", unit},
    {"scontrol-show-job-cancelled.txt", unit},
    {"scontrol-show-job-dd.txt", unit},
    {"scontrol-show-job-dep.txt", unit},
    {"scontrol-show-job-failed.txt", unit},
    {"scontrol-show-job-gres.txt", unit},
    {"scontrol-show-job-held.txt", unit},
    {"scontrol-show-job-json.txt", unit},
    {"scontrol-show-job-o.txt", unit},
    {"scontrol-show-job-running.txt", unit},
    {"scontrol-show-lic.txt", system},
    {"scontrol-show-node.txt", unit},
    {"scontrol-show-nodes-o.txt", unit},
    {"scontrol-show-part-o.txt", unit},
    {"scontrol-show-part.txt", unit},
    {"scontrol-show-res.txt", system},
    {"scontrol-show-step.txt", unit},
    {"scontrol-version.txt", system},
    {"scontrol-write.txt", system},
    {"sdiag-json.txt", accounting},
    {"sdiag.txt", accounting},
    {"sinfo-N.txt", unit},
    {"sinfo-O.txt", unit},
    {"sinfo-R.txt", unit},
    {"sinfo-dp.txt", unit},
    {"sinfo-json.txt", unit},
    {"sinfo-l.txt", unit},
    {"sinfo-o.txt", unit},
    {"sinfo-s.txt", unit},
    {"sinfo.txt", unit},
    {"sprio.txt", accounting},
    {"squeue-ALL.txt", unit},
    {"squeue-all.txt", system},
    {"squeue-array-o.txt", unit},
    {"squeue-bad.txt", system},
    {"squeue-json.txt", unit},
    {"squeue-l.txt", unit},
    {"squeue-r.txt", unit},
    {"squeue-s.txt", unit},
    {"squeue-start.txt", unit},
    {"squeue.txt", unit},
    {"sreport.txt", accounting},
    {"sshare.txt", accounting},
    {"sstat.txt", accounting},
    {"test-only.txt", submission},
};

TEST(GoldenList, Every_recording_is_compared_somewhere) {
  if (!std::filesystem::exists(recordings())) GTEST_SKIP() << "no recordings here";
  for (const auto& entry : std::filesystem::directory_iterator(recordings())) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".txt")) continue;
    EXPECT_NE(std::ranges::find(compared, std::string_view{name}, &Compared::file), std::end(compared))
        << name << " is compared nowhere";
  }
}

TEST(GoldenList, What_is_compared_here_has_our_own_copy) {
  for (const Compared& one : compared) {
    if (one.where != unit) continue;
    EXPECT_TRUE(std::filesystem::exists(repository() / "tests/golden/cli" / one.file)) << one.file;
  }
}

TEST(GoldenList, What_is_compared_with_daemons_is_named_there) {
  const std::string script = slurp(repository() / "tests/system/test_golden.py");
  for (const Compared& one : compared) {
    if (one.where != system) continue;
    EXPECT_NE(script.find('"' + std::string{one.file.substr(0, one.file.size() - 4)} + '"'), std::string::npos)
        << one.file;
  }
}

}  // namespace
}  // namespace millrace
