// src/config/key_words.cpp - see key_words.h; names are Slurm's, those of earlier releases among them.
#include "config/key_words.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace millrace {
namespace {

// clang-format off
constexpr KeyWords rows[] = {
    {"AccountingStorageEnforce", "all associations limits none qos safe wckeys", "", "nojobs nosteps"},
    {"AccountingStorageParameters", "", "max_step_records SSL_CA SSL_CAPATH SSL_CERT SSL_CIPHER SSL_KEY", ""},
    {"AccountingStoreFlags", "job_comment job_env job_extra job_script none", "", "no_stdio"},
    {"AuthAltParameters", "disable_token_creation jwt_key max_token_lifespan", "", "jwks use_jwt_client_ids use_jwt_client_ids_only userclaimfield"},
    {"AuthAltTypes", "auth/jwt jwt", "", "auth/munge auth/slurm munge slurm"},
    {"AuthInfo", "socket", "", "cred_expire ttl use_client_ids"},
    {"AuthType", "auth/munge", "", "auth/none auth/slurm"},
    {"BcastParameters", "Compression DestDir send_libs", "", ""},
    {"CommunicationParameters", "", "block_null_hash CheckGhalQuiesce DisableIPv4 disable_http EnableIPv6 getnameinfo_cache_timeout host_unreach_retry_count keepaliveinterval keepaliveprobes keepalivetime NoAddrCache NoCtldInAddrAny NoInAddrAny", ""},
    {"DependencyParameters", "kill_invalid_depend", "disable_remote_singleton", "max_depend_depth"},
    {"FederationParameters", "", "fed_display", ""},
    {"JobAcctGatherParams", "", "", "DisableGPUAcct NoShared NoShare no_file_cache OverMemoryKill UsePss"},
    {"LaunchParameters", "use_interactive_step", "cray_net_exclusive lustre_no_flush send_gids mpir_use_nodeaddr", "batch_step_set_cpu_freq disable_send_gids enable_nss_slurm interactive_step_set_cpu_freq mem_sort slurmstepd_memlock slurmstepd_memlock_all srun_exclusive_allocation test_exec ulimit_pam_adopt"},
    {"LicenseParameters", "", "", "RemoteFuzzyMatch"},
    {"MetricsParameters", "", "", "ignore_private_data"},
    {"MpiParams", "disable_slurm_hydra_bootstrap ports", "", ""},
    {"PreemptParameters", "", "", "min_exempt_priority reclaim_licenses reorder_count send_user_signal strict_order suspend_grace_time youngest_first"},
    {"PriorityFlags", "ACCRUE_ALWAYS FAIR_TREE MAX_TRES NO_FAIR_TREE NO_NORMAL_ALL NO_NORMAL_ASSOC NO_NORMAL_PART NO_NORMAL_QOS NO_NORMAL_TRES SMALL_RELATIVE_TO_TIME", "", "CALCULATE_RUNNING DEPTH_OBLIVIOUS INCR_ONLY MAX_TRES_GRES"},
    {"PrologFlags", "Alloc ForceRequeueOnFail None X11", "", "Contain DeferBatch NoHold ReportStepStart RunInJob Serial"},
    {"PropagateResourceLimits", "ALL AS CORE CPU DATA FSIZE MEMLOCK NOFILE NONE NPROC RSS STACK", "", ""},
    {"PropagateResourceLimitsExcept", "ALL AS CORE CPU DATA FSIZE MEMLOCK NOFILE NONE NPROC RSS STACK", "", ""},
    {"ReconfigFlags", "KeepPartInfo KeepPartState", "", "KeepPowerSaveSettings"},
    {"SchedulerParameters",
     "bf_interval bf_max_job_test enable_user_top max_script_size millrace_policy millrace_predict nohold_on_prolog_fail requeue_delay",
     "batch_sched_delay bf_continue bf_max_job_start bf_max_time bf_node_space_size bf_resolution bf_window bf_window_linear "
     "bf_yield_interval bf_yield_rpc_cnt bf_yield_rpc_count bf_yield_sleep build_queue_timeout default_queue_depth defer defer_batch "
     "enable_hetero_steps enable_hetjob_steps enable_job_state_cache interval max_job_bf max_rpc_cnt max_rpc_count max_sched_time "
     "no_backup_scheduling no_env_cache partition_job_depth sched_interval sched_max_job_start sched_min_interval step_retry_count step_retry_time",
     "allow_zero_lic assoc_limit_continue assoc_limit_stop bb_array_stage_cnt bf_allow_magnetic_slot bf_busy_nodes bf_hetjob_immediate "
     "bf_hetjob_prio bf_ignore_newly_avail_nodes bf_job_part_count_reserve bf_licenses bf_max_job_array_resv bf_max_job_assoc bf_max_job_part "
     "bf_max_job_user bf_max_job_user_part bf_min_age_reserve bf_min_prio_reserve bf_one_resv_per_job bf_running_job_reserve bf_topopt_enable "
     "bf_topopt_iterations correspond_after_task_cnt delay_boot disable_hetero_steps disable_hetjob_steps disable_job_shrink disable_user_top "
     "extra_constraints ignore_constraint_validation ignore_prefer_validation Ignore_NUMA inventory_interval kill_invalid_depend max_array_tasks "
     "max_depend_depth max_submit_line_size max_switch_wait pack_serial_at_end permit_job_expansion preempt_reorder_count preempt_strict_order "
     "preempt_youngest_first reduce_completing_frag requeue_on_resume_failure salloc_wait_nodes sbatch_wait_nodes spec_cores_first "
     "time_min_as_soft_limit whole_hetjob whole_pack"},
    {"ScronParameters", "enable explicit_scancel", "", ""},
    {"SelectTypeParameters", "CR_CORE CR_CORE_MEMORY CR_CPU CR_CPU_MEMORY CR_LLN CR_MEMORY CR_ONE_TASK_PER_CORE CR_PACK_NODES CR_SOCKET CR_SOCKET_MEMORY ENFORCE_BINDING_GRES NONE", "", "CR_CORE_DEFAULT_DIST_BLOCK CR_NO_DIST_TOPO_BLOCK LL_SHARED_GRES MULTIPLE_SHARING_GRES_PJ ONE_TASK_PER_SHARING_GRES OTHER_CONS_RES OTHER_CONS_TRES"},
    {"SlurmctldParameters",
     "allow_user_triggers cloud_dns cloud_reg_addrs millrace_keep_ended millrace_keep_ended_rows",
     "conmgr_connect_timeout conmgr_max_connections conmgr_quiesce_timeout conmgr_read_timeout conmgr_threads conmgr_use_poll "
     "conmgr_wait_write_delay conmgr_write_timeout enable_job_state_cache enable_rpc_queue max_dbd_msg_action no_quick_restart "
     "power_save_interval power_save_min_interval threadpool threadpool_preallocate threadpool_preserve validate_nodeaddr_threads workerpool_threads",
     "disable_triggers enable_configless enable_expedited_requeue enable_stepmgr idle_on_node_suspend job_state_rpc max_powered_nodes "
     "node_reg_mem_percent preempt_send_user_signal reboot_from_controller reconfig_on_restart rl_bucket_size rl_enable rl_log_freq "
     "rl_refill_period rl_refill_rate rl_table_size user_resv_delete"},
    {"SlurmdParameters", "config_overrides", "conmgr_connect_timeout conmgr_max_connections conmgr_quiesce_timeout conmgr_read_timeout conmgr_threads conmgr_use_poll conmgr_wait_write_delay conmgr_write_timeout workerpool_threads", "allow_ecores contain_spank l3cache_as_socket numa_node_as_socket shutdown_on_reboot"},
    {"SlurmstepdParameters", "", "conmgr_connect_timeout conmgr_max_connections conmgr_quiesce_timeout conmgr_read_timeout conmgr_threads conmgr_use_poll conmgr_wait_write_delay conmgr_write_timeout workerpool_threads", ""},
    {"TaskPluginParam", "Autobind Cores None Sockets Threads Verbose", "", "Boards Cpusets OOMKillStep Sched SlurmdOffSpec SlurmdSpecOverride"},
    {"TopologyParam", "", "", "BlockAsNodeRank Dragonfly NoCtldInAddrAny NoInAddrAny RoutePart RouteTree SwitchAsNodeRank TopoMaxSizeUnroll TopoOptional"},
    {"X11Parameters", "", "", "home_xauthority local_xauthority"},
};
// clang-format on

bool has_word(std::string_view list, std::string_view word) {
  return std::ranges::any_of(split(list, ' '),
                             [&](std::string_view each) { return !each.empty() && equals_ignoring_case(each, word); });
}

std::string_view name_of(std::string_view word) { return trim(word.substr(0, word.find('='))); }

// How many letters must be put in, left out, exchanged or swapped with their neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

}  // namespace

std::span<const KeyWords> key_words() { return rows; }

const KeyWords* find_key_words(std::string_view key) {
  const auto* it = std::ranges::find_if(rows, [&](const KeyWords& row) { return equals_ignoring_case(row.key, key); });
  return it == std::end(rows) ? nullptr : it;
}

WordEffect effect_of_word(const KeyWords& words, std::string_view word) {
  const std::string_view name = name_of(word);
  if (has_word(words.works, name)) return WordEffect::works;
  if (has_word(words.no_effect, name)) return WordEffect::no_effect;
  return has_word(words.not_built, name) ? WordEffect::not_built : WordEffect::unknown;
}

std::string did_you_mean(std::string_view written, std::string_view candidates) {
  constexpr std::size_t longest = 64;
  const std::string name = lower(name_of(written));
  if (name.empty() || name.size() > longest) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string_view each : split(candidates, ' ')) {
    const std::size_t far = each.empty() ? least : distance(name, lower(each));
    if (far >= least) continue;
    least = far;
    best = each;
  }
  return best.empty() ? std::string{} : "; did you mean " + std::string{best} + "?";
}

static std::string all_of(const KeyWords& words) {
  return std::string{words.works} + " " + std::string{words.no_effect} + " " + std::string{words.not_built};
}

std::string did_you_mean_in(const KeyWords& words, std::string_view value) {
  for (const std::string_view word : split(value, ','))
    if (!trim(word).empty() && effect_of_word(words, word) == WordEffect::unknown)
      return did_you_mean(word, all_of(words));
  return {};
}

void note_words(const KeyWords& words, std::string_view value, bool key_is_noted, const std::string& file, int line,
                Configuration& out) {
  for (const std::string_view part : split(value, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || equals_ignoring_case(word, "none") || equals_ignoring_case(word, "(null)")) continue;
    const std::string shown = std::string{words.key} + "=" + std::string{word};
    const WordEffect effect = effect_of_word(words, word);
    if (effect == WordEffect::unknown)
      out.unknown.push_back({shown, file, line, "unknown word" + did_you_mean(word, all_of(words))});
    else if (effect == WordEffect::not_built && !key_is_noted)
      out.not_built.push_back({shown, file, line, "not built yet"});
    else if (effect == WordEffect::no_effect && !key_is_noted)
      out.without_effect.push_back({shown, file, line, "has no effect here"});
  }
}

}  // namespace millrace
