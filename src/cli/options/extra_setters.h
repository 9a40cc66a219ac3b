// src/cli/options/extra_setters.h - options for mail, words kept with a job, its environment and owner, and how the
// commands themselves behave.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cli/options/job_draft.h"

namespace millrace::extra {

using Text = std::string_view;

Result<void> mail_type(JobDraft& d, Text v);
Result<void> acctg_freq(JobDraft& d, Text v);
Result<void> profile(JobDraft& d, Text v);
Result<void> cpu_freq(JobDraft& d, Text v);
Result<void> gpu_freq(JobDraft& d, Text v);
Result<void> core_spec(JobDraft& d, Text v);
Result<void> thread_spec(JobDraft& d, Text v);
Result<void> resv_ports(JobDraft& d, Text v);
Result<void> delay_boot(JobDraft& d, Text v);
Result<void> get_user_env(JobDraft& d, Text v);
Result<void> uid(JobDraft& d, Text v);
Result<void> gid(JobDraft& d, Text v);
Result<void> no_kill(JobDraft& d, Text v);
Result<void> node_file(JobDraft& d, Text v);
Result<void> tasks_per_tres(JobDraft& d, Text v);
Result<void> accel_bind(JobDraft& d, Text v);
Result<void> immediate(JobDraft& d, Text v);
Result<void> kill_command(JobDraft& d, Text v);
Result<void> ignore_signals(JobDraft& d, Text v);
Result<void> wait_all_nodes(JobDraft& d, Text v);
// Of numbers that change nothing here: still numbers.
Result<void> any_number(JobDraft& d, Text v);
Result<void> tree_width(JobDraft& d, Text v);

}  // namespace millrace::extra
