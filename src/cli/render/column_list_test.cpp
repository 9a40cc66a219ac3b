// src/cli/render/column_list_test.cpp - every column name, letter and header that Slurm's users know is there.
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/render/columns.h"
#include "cli/render/node_columns.h"
#include "cli/render/step_columns.h"

namespace millrace {
namespace {

struct Expected {
  std::string_view name;
  char letter;  // 0: none
  std::string_view header;
};

// clang-format off
constexpr Expected jobs[] = {
    {"Account", 'a', "ACCOUNT"}, {"AccrueTime", 0, "ACCRUE_TIME"}, {"admin_comment", 0, "ADMIN_COMMENT"}, {"AllocNodes", 0, "ALLOC_NODES"},
    {"AllocSID", 0, "ALLOC_SID"}, {"ArrayJobId", 'F', "ARRAY_JOB_ID"}, {"ArrayTaskId", 'K', "ARRAY_TASK_ID"}, {"AssocId", 0, "ASSOC_ID"},
    {"BatchFlag", 0, "BATCH_FLAG"}, {"BatchHost", 'B', "EXEC_HOST"}, {"BoardsPerNode", 0, "BOARDS_PER_NODE"}, {"BurstBuffer", 0, "BURST_BUFFER"},
    {"BurstBufferState", 0, "BURST_BUFFER_STATE"}, {"Cluster", 0, "CLUSTER"}, {"ClusterFeature", 0, "CLUSTER_FEATURES"}, {"Command", 'o', "COMMAND"},
    {"Comment", 'k', "COMMENT"}, {"Container", 0, "CONTAINER"}, {"ContainerId", 0, "CONTAINERID"}, {"Contiguous", 'O', "CONTIGUOUS"},
    {"Cores", 'I', "CORES_PER_SOCKET"}, {"CoreSpec", 'X', "CORE_SPEC"}, {"CPUsPerTask", 0, "CPUS_PER_TASK"}, {"cpus-per-task", 0, "CPUS_PER_TASK"},
    {"cpus-per-tres", 0, "CPUS_PER_TRES"}, {"CronJob", 0, "CRON_JOB"}, {"Deadline", 0, "DEADLINE"}, {"DelayBoot", 0, "DELAY_BOOT"},
    {"Dependency", 'E', "DEPENDENCY"}, {"DerivedEC", 0, "DERIVED_EC"}, {"EligibleTime", 0, "ELIGIBLE_TIME"}, {"EndTime", 'e', "END_TIME"},
    {"ExcNodes", 'x', "EXC_NODES"}, {"Exclusive", 0, "EXCLUSIVE"}, {"exit_code", 0, "EXIT_CODE"}, {"Feature", 'f', "FEATURES"},
    {"Gres", 'b', "TRES_PER_NODE"}, {"GroupId", 'G', "GROUP"}, {"GroupName", 'g', "GROUP"}, {"HetJobId", 0, "HET_JOB_ID"},
    {"HetJobIdSet", 0, "HET_JOB_ID_SET"}, {"HetJobOffset", 0, "HET_JOB_OFFSET"}, {"JobArrayId", 'i', "JOBID"}, {"JobId", 'A', "JOBID"},
    {"LastSchedEval", 0, "LAST_SCHED_EVAL"}, {"Licenses", 'W', "LICENSES"}, {"LicensesAlloc", 0, "LICENSES_ALLOC"}, {"MaxCPUs", 0, "MAX_CPUS"},
    {"MaxNodes", 0, "MAX_NODES"}, {"mem-per-tres", 0, "MEM_PER_TRES"}, {"MCSLabel", 0, "MCSLABEL"}, {"MinCPUs", 'c', "MIN_CPUS"},
    {"MinMemory", 'm', "MIN_MEMORY"}, {"MinTime", 0, "TIME_MIN"}, {"MinTmpDisk", 'd', "MIN_TMP_DISK"}, {"Name", 'j', "NAME"},
    {"Network", 0, "NETWORK"}, {"Nice", 'y', "NICE"}, {"NodeList", 'N', "NODELIST"}, {"NTPerCore", 0, "NTASKS_PER_CORE"},
    {"NTPerNode", 0, "NTASKS_PER_NODE"}, {"NTPerSocket", 0, "NTASKS_PER_SOCKET"}, {"NTPerBoard", 0, "NTASKS_PER_BOARD"}, {"NumCPUs", 'C', "CPUS"},
    {"NumNodes", 'D', "NODES"}, {"NumTasks", 0, "TASKS"}, {"Origin", 0, "ORIGIN"}, {"OriginRaw", 0, "ORIGIN_RAW"},
    {"OverSubscribe", 'h', "OVER_SUBSCRIBE"}, {"PackJobId", 0, "HET_JOB_ID"}, {"PackJobIdSet", 0, "HET_JOB_ID_SET"},
    {"PackJobOffset", 0, "HET_JOB_OFFSET"}, {"Partition", 'P', "PARTITION"}, {"PendingTime", 0, "PENDING_TIME"}, {"PreemptTime", 0, "PREEMPT_TIME"},
    {"Prefer", 0, "PREFER"}, {"Priority", 'p', "PRIORITY"}, {"PriorityLong", 'Q', "PRIORITY"}, {"Profile", 0, "PROFILE"}, {"QOS", 'q', "QOS"},
    {"Reason", 'r', "REASON"}, {"ReasonList", 'R', "NODELIST(REASON)"}, {"Reboot", 0, "REBOOT"}, {"ReqNodes", 'n', "REQ_NODES"},
    {"ReqSwitch", 0, "REQ_SWITCH"}, {"Requeue", 0, "REQUEUE"}, {"Reservation", 'v', "RESERVATION"}, {"ResizeTime", 0, "RESIZE_TIME"},
    {"RestartCnt", 0, "RESTART_COUNT"}, {"Runtime", 0, "RUNTIME"}, {"SchedNodes", 'Y', "SCHEDNODES"}, {"SCT", 'z', "S:C:T"},
    {"SegmentSize", 0, "SEGMENT_SIZE"}, {"SiblingsActive", 0, "ACTIVE_SIBLINGS"}, {"SiblingsActiveRaw", 0, "ACTIVE_SIBLINGS_RAW"},
    {"SiblingsViable", 0, "VIABLE_SIBLINGS"}, {"SiblingsViableRaw", 0, "VIALBLE_SIBLINGS_RAW"}, {"Shared", 'h', "OVER_SUBSCRIBE"},
    {"SLUID", 's', "SLUID"}, {"Sockets", 'H', "SOCKETS_PER_NODE"}, {"SPerBoard", 0, "SOCKETS_PER_BOARD"}, {"StartTime", 'S', "START_TIME"},
    {"State", 'T', "STATE"}, {"StateCompact", 't', "ST"}, {"StdErr", 0, "STDERR"}, {"StdIn", 0, "STDIN"}, {"StdOut", 0, "STDOUT"},
    {"SubmitTime", 'V', "SUBMIT_TIME"}, {"system_comment", 0, "SYSTEM_COMMENT"}, {"Threads", 'J', "THREADS_PER_CORE"},
    {"TimeLeft", 'L', "TIME_LEFT"}, {"TimeLimit", 'l', "TIME_LIMIT"}, {"TimeUsed", 'M', "TIME"}, {"Tres", 0, "TRES_ALLOC"},
    {"tres-alloc", 0, "TRES_ALLOC"}, {"tres-bind", 0, "TRES_BIND"}, {"tres-freq", 0, "TRES_FREQ"}, {"tres-per-job", 0, "TRES_PER_JOB"},
    {"tres-per-node", 0, "TRES_PER_NODE"}, {"tres-per-socket", 0, "TRES_PER_SOCKET"}, {"tres-per-task", 0, "TRES_PER_TASK"}, {"UserId", 'U', "UID"},
    {"UserName", 'u', "USER"}, {"Wait4Switch", 0, "WAIT4SWITCH"}, {"WCKey", 'w', "WCKEY"}, {"WorkDir", 'Z', "WORK_DIR"},
};
constexpr Expected steps[] = {
    {"ArrayJobId", 0, "ARRAY_JOB_ID"}, {"ArrayTaskId", 0, "ARRAY_TASK_ID"}, {"Cluster", 0, "CLUSTER"}, {"Container", 0, "CONTAINER"},
    {"ContainerId", 0, "CONTAINERID"}, {"CPUFreq", 0, "CPU_FREQ"}, {"cpus-per-tres", 0, "CPUS_PER_TRES"}, {"Gres", 0, "TRES_PER_JOB"},
    {"JobId", 0, "JOB_ID"}, {"mem-per-tres", 0, "MEM_PER_TRES"}, {"Network", 0, "NETWORK"}, {"Nodes", 'N', "NODELIST"}, {"NumCPUs", 0, "NUM_CPUS"},
    {"NumTasks", 'A', "TASKS"}, {"Partition", 'P', "PARTITION"}, {"ResvPorts", 0, "RESERVED_PORTS"}, {"Runtime", 0, "RUNTIME"},
    {"StartTime", 'S', "START_TIME"}, {"StdErr", 0, "STDERR"}, {"StdIn", 0, "STDIN"}, {"StdOut", 0, "STDOUT"}, {"StepId", 'i', "STEPID"},
    {"StepName", 'j', "NAME"}, {"StepState", 0, "STATE"}, {"TimeLimit", 'l', "TIME_LIMIT"}, {"TimeUsed", 'M', "TIME"}, {"tres-bind", 0, "TRES_BIND"},
    {"tres-freq", 0, "TRES_FREQ"}, {"tres-per-job", 0, "TRES_PER_STEP"}, {"tres-per-node", 'b', "TRES_PER_JOB"},
    {"tres-per-socket", 0, "TRES_PER_SOCKET"}, {"tres-per-step", 0, "TRES_PER_STEP"}, {"tres-per-task", 0, "TRES_PER_TASK"}, {"UserId", 'U', "UID"},
    {"UserName", 'u', "USER"},
};
constexpr Expected nodes[] = {
    {"AllocMem", 0, "ALLOCMEM"}, {"AllocNodes", 'S', "ALLOCNODES"}, {"Available", 'a', "AVAIL"}, {"Cluster", 'V', "CLUSTER"},
    {"Comment", 0, "COMMENT"}, {"Cores", 'Y', "CORES"}, {"CPUs", 'c', "CPUS"}, {"CPUsLoad", 'O', "CPU_LOAD"}, {"CPUsState", 'C', "CPUS(A/I/O/T)"},
    {"DefaultTime", 'L', "DEFAULTTIME"}, {"Disk", 'd', "TMP_DISK"}, {"Extra", 0, "EXTRA"}, {"Features", 'f', "AVAIL_FEATURES"},
    {"features_act", 'b', "ACTIVE_FEATURES"}, {"FreeMem", 'e', "FREE_MEM"}, {"Gres", 'G', "GRES"}, {"GresUsed", 'G', "GRES_USED"},
    {"Groups", 'g', "GROUPS"}, {"MaxCPUsPerNode", 'B', "MAX_CPUS_PER_NODE"}, {"Memory", 'm', "MEMORY"}, {"NodeAddr", 'o', "NODE_ADDR"},
    {"NodeAI", 'A', "NODES(A/I)"}, {"NodeAIOT", 'F', "NODES(A/I/O/T)"}, {"NodeHost", 'n', "HOSTNAMES"}, {"NodeList", 'N', "NODELIST"},
    {"Nodes", 'D', "NODES"}, {"OverSubscribe", 'h', "OVERSUBSCRIBE"}, {"Partition", 'P', "PARTITION"}, {"PartitionName", 'R', "PARTITION"},
    {"Port", 0, "PORT"}, {"PreemptMode", 'M', "PREEMPT_MODE"}, {"PriorityJobFactor", 'I', "PRIO_JOB_FACTOR"}, {"PriorityTier", 'p', "PRIO_TIER"},
    {"Reason", 'E', "REASON"}, {"Reservation", 'i', "RESERVATION"}, {"Root", 'r', "ROOT"}, {"Share", 'h', "OVERSUBSCRIBE"},
    {"Size", 's', "JOB_SIZE"}, {"Sockets", 'X', "SOCKETS"}, {"SocketCoreThread", 'z', "S:C:T"}, {"StateCompact", 't', "STATE"},
    {"StateComplete", 0, "STATECOMPLETE"}, {"StateLong", 'T', "STATE"}, {"Threads", 'Z', "THREADS"}, {"Time", 'l', "TIMELIMIT"},
    {"TimeStamp", 'H', "TIMESTAMP"}, {"User", 'u', "USER"}, {"UserLong", 'U', "USER"}, {"Version", 'v', "VERSION"}, {"Weight", 'w', "WEIGHT"},
};
// clang-format on

template <class Row>
void walk(std::span<const Expected> wanted, std::span<const Column<Row>> columns) {
  for (const Expected& one : wanted) {
    const auto found = std::ranges::find_if(
        columns, [&](const Column<Row>& column) { return equals_ignoring_case(column.name, one.name); });
    ASSERT_NE(found, columns.end()) << one.name;
    EXPECT_EQ(found->header, one.header) << one.name;
    if (one.letter == 0) continue;
    const auto lettered = std::ranges::find(columns, one.letter, &Column<Row>::letter);
    ASSERT_NE(lettered, columns.end()) << '%' << one.letter;
    EXPECT_TRUE(lettered->header == one.header || one.name == "GresUsed") << '%' << one.letter;
  }
}

TEST(ColumnList, Jobs_have_all_of_squeues_columns) { walk<JobRow>(jobs, job_columns()); }
TEST(ColumnList, Steps_have_all_of_squeues_columns) { walk<StepRow>(steps, step_columns()); }
TEST(ColumnList, Nodes_have_all_of_sinfos_columns) { walk<NodeGroup>(nodes, node_columns()); }

// Every letter of a column is an order too.
TEST(ColumnList, Every_letter_sorts) {
  for (const auto& column : job_columns()) {
    if (column.letter == 0) continue;
    std::vector<JobRow> none;
    std::string unknown;
    sort_jobs(none, std::string(1, column.letter), unknown);
    EXPECT_EQ(unknown, "");
  }
}

}  // namespace
}  // namespace millrace
