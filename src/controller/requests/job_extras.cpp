// src/controller/requests/job_extras.cpp - see job_extras.h.
#include "controller/requests/job_extras.h"

namespace millrace {

void read_extras(const wire::JobExtras& from, JobExtras& to) {
  if (from.has_mail_types()) to.mail_types = from.mail_types();
  if (from.has_mail_user()) to.mail_user = from.mail_user();
  if (from.has_wckey()) to.wckey = from.wckey();
  if (from.has_extra()) to.extra = from.extra();
  if (from.has_admin_comment()) to.admin_comment = from.admin_comment();
  if (from.has_system_comment()) to.system_comment = from.system_comment();
  if (from.has_network()) to.network = from.network();
  if (from.has_acctg_freq()) to.acctg_freq = from.acctg_freq();
  if (from.has_profile()) to.profile = from.profile();
  if (from.has_cpu_freq()) to.cpu_freq = from.cpu_freq();
  if (from.has_gpu_freq()) to.gpu_freq = from.gpu_freq();
  if (from.has_core_spec())
    to.core_spec = from.core_spec() == no_core_spec ? std::nullopt : std::optional{from.core_spec()};
  if (from.has_threads_spec()) to.threads_spec = from.threads_spec();
  if (from.has_delay_boot_seconds()) to.delay_boot_seconds = from.delay_boot_seconds();
  if (from.has_overcommit()) to.overcommit = from.overcommit();
  if (from.has_user_env()) to.user_env = from.user_env();
  if (from.has_no_kill()) to.no_kill = from.no_kill();
  if (from.has_reboot()) to.reboot = from.reboot();
  if (from.has_resv_ports()) to.resv_ports = from.resv_ports();
  if (from.has_no_allocate()) to.no_allocate = from.no_allocate();
  if (from.has_batch_features()) to.batch_features = from.batch_features();
}

void show_extras(const JobExtras& from, wire::JobExtras& to) {
  if (from.mail_types != 0) to.set_mail_types(from.mail_types);
  if (!from.mail_user.empty()) to.set_mail_user(from.mail_user);
  if (!from.wckey.empty()) to.set_wckey(from.wckey);
  if (!from.derived_exit.empty()) to.set_derived_exit(from.derived_exit);
  if (!from.extra.empty()) to.set_extra(from.extra);
  if (!from.admin_comment.empty()) to.set_admin_comment(from.admin_comment);
  if (!from.system_comment.empty()) to.set_system_comment(from.system_comment);
  if (!from.network.empty()) to.set_network(from.network);
  if (!from.acctg_freq.empty()) to.set_acctg_freq(from.acctg_freq);
  if (!from.profile.empty()) to.set_profile(from.profile);
  if (!from.cpu_freq.empty()) to.set_cpu_freq(from.cpu_freq);
  if (!from.gpu_freq.empty()) to.set_gpu_freq(from.gpu_freq);
  if (from.core_spec) to.set_core_spec(*from.core_spec);
  if (from.threads_spec) to.set_threads_spec(true);
  if (from.delay_boot_seconds != 0) to.set_delay_boot_seconds(from.delay_boot_seconds);
  if (from.overcommit) to.set_overcommit(true);
  if (!from.user_env.empty()) to.set_user_env(from.user_env);
  if (!from.cron.empty()) to.set_cron(from.cron);
  if (from.no_kill) to.set_no_kill(true);
  if (from.reboot) to.set_reboot(true);
  if (from.resv_ports != 0) to.set_resv_ports(from.resv_ports);
  if (from.no_allocate) to.set_no_allocate(true);
  if (!from.batch_features.empty()) to.set_batch_features(from.batch_features);
  if (from.site_factor != 0) to.set_site_factor(from.site_factor);
}

}  // namespace millrace
