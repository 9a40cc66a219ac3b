// src/cli/options/extra_setters.cpp - see extra_setters.h.
#include "cli/options/extra_setters.h"

#include <algorithm>
#include <initializer_list>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/options/job_values.h"
#include "cli/options/resource_setters.h"
#include "core/model/job_extras.h"

namespace millrace::extra {
namespace {

wire::JobExtras& extras(JobDraft& d) { return *d.job.mutable_extras(); }

std::unexpected<Error> invalid(Text option) {
  return fail(Errc::invalid, "Invalid --" + std::string{option} + " specification");
}

bool is_frequency(Text text) {
  constexpr Text words[] = {"low", "medium", "high", "highm1"};
  for (const Text word : words)
    if (equals_ignoring_case(word, text)) return true;
  return parse_integer(text).value_or(0) > 0;
}

bool is_governor(Text text) {
  constexpr Text words[] = {"conservative", "ondemand", "performance", "powersave", "schedutil", "userspace"};
  for (const Text word : words)
    if (equals_ignoring_case(word, text)) return true;
  return false;
}

Result<void> specialised(JobDraft& d, Text option, Text v, bool threads) {
  const auto count = parse_integer(v);
  if (!count || *count < 0 || *count > 32767) return invalid(option);
  extras(d).set_core_spec(static_cast<std::uint32_t>(*count));
  extras(d).set_threads_spec(threads);
  return {};
}

}  // namespace

Result<void> mail_type(JobDraft& d, Text v) {
  const auto types = parse_mail_types(v);
  if (!types) return invalid("mail-type");
  // Said twice it is all of it, as in Slurm.
  extras(d).set_mail_types(*types == 0 ? 0 : d.job.extras().mail_types() | *types);
  return {};
}

Result<void> acctg_freq(JobDraft& d, Text v) {
  if (!is_acctg_freq(v)) return invalid("acctg-freq");
  extras(d).set_acctg_freq(std::string{v});
  return {};
}

Result<void> profile(JobDraft& d, Text v) {
  for (const Text raw : split(v, ',')) {
    constexpr Text words[] = {"all", "none", "energy", "task", "filesystem", "lustre", "network"};
    bool known = false;
    for (const Text word : words) known = known || equals_ignoring_case(word, trim(raw));
    if (!known) return invalid("profile");
  }
  extras(d).set_profile(std::string{v});
  return {};
}

// p1, p1-p2, p1-p2:governor or a governor.
Result<void> cpu_freq(JobDraft& d, Text v) {
  const std::size_t colon = v.find(':');
  const Text range = v.substr(0, colon);
  const std::size_t dash = range.find('-');
  const bool ok = is_governor(v) || (is_frequency(range.substr(0, dash)) &&
                                     (dash == Text::npos || is_frequency(range.substr(dash + 1))) &&
                                     (colon == Text::npos || is_governor(v.substr(colon + 1))));
  if (!ok) return invalid("cpu-freq");
  extras(d).set_cpu_freq(std::string{v});
  return {};
}

Result<void> gpu_freq(JobDraft& d, Text v) {
  for (const Text raw : split(v, ',')) {
    Text word = trim(raw);
    if (word == "verbose") continue;
    if (const std::size_t equals = word.find('='); equals != Text::npos) {
      if (word.substr(0, equals) != "memory" && word.substr(0, equals) != "video" && word.substr(0, equals) != "gpu")
        return invalid("gpu-freq");
      word = word.substr(equals + 1);
    }
    if (!is_frequency(word)) return invalid("gpu-freq");
  }
  extras(d).set_gpu_freq(std::string{v});
  return {};
}

Result<void> core_spec(JobDraft& d, Text v) { return specialised(d, "core-spec", v, false); }
Result<void> thread_spec(JobDraft& d, Text v) { return specialised(d, "thread-spec", v, true); }

Result<void> resv_ports(JobDraft& d, Text v) {
  const auto count = v.empty() ? std::optional<std::int64_t>{0} : parse_integer(v);
  if (!count || *count < 0 || *count > 65535) return invalid("resv-ports");
  d.resv_ports.reset();
  if (v.empty() || *count > 0) d.resv_ports = static_cast<std::uint32_t>(*count);
  extras(d).set_resv_ports(static_cast<std::uint32_t>(*count));
  return {};
}

Result<void> delay_boot(JobDraft& d, Text v) {
  const auto minutes = parse_limit_minutes(v);
  if (!minutes) return invalid("delay-boot");
  extras(d).set_delay_boot_seconds(*minutes == UINT32_MAX ? UINT32_MAX : *minutes * 60);
  return {};
}

// [seconds][S|L]: of the shell as it is, or as a login.
Result<void> get_user_env(JobDraft& d, Text v) {
  const std::size_t digits = std::min(v.find_first_not_of("0123456789"), v.size());
  const Text mode = v.substr(digits);
  const auto limit = digits == 0 ? std::optional<std::int64_t>{0} : parse_integer(v.substr(0, digits));
  const bool known = mode.empty() || equals_ignoring_case(mode, "s") || equals_ignoring_case(mode, "l");
  if (!limit || *limit > 3600 || !known)
    return fail(Errc::invalid,
                "Invalid --get-user-env specification '" + std::string{v} + "': seconds, then S or L, as in 10L");
  extras(d).set_user_env((equals_ignoring_case(mode, "s") ? "S" : "L") +
                         (*limit > 0 ? std::to_string(*limit) : std::string{}));
  return {};
}

// The controller asks again whether it is root who says so.
Result<void> uid(JobDraft& d, Text v) {
  if (getuid() != 0) return fail(Errc::refused, "--uid only permitted by root user");
  const auto number = parse_integer(v);
  const passwd* entry = number ? getpwuid(static_cast<uid_t>(*number)) : getpwnam(std::string{v}.c_str());
  if (entry == nullptr) return fail(Errc::invalid, "Invalid --uid specification");
  d.job.set_as_uid(entry->pw_uid);
  if (!d.job.has_as_gid()) d.job.set_as_gid(entry->pw_gid);
  return {};
}

Result<void> gid(JobDraft& d, Text v) {
  if (getuid() != 0) return fail(Errc::refused, "--gid only permitted by root user");
  const auto number = parse_integer(v);
  const group* entry = number ? getgrgid(static_cast<gid_t>(*number)) : getgrnam(std::string{v}.c_str());
  if (entry == nullptr) return fail(Errc::invalid, "Invalid --gid specification");
  d.job.set_as_gid(entry->gr_gid);
  return {};
}

Result<void> no_kill(JobDraft& d, Text v) {
  const auto is_one_of = [&](std::initializer_list<Text> words) {
    return std::ranges::any_of(words, [&](Text word) { return equals_ignoring_case(word, v); });
  };
  const bool off = is_one_of({"off", "no", "0"});
  if (!off && !is_one_of({"", "set", "yes", "1"})) return invalid("no-kill");
  extras(d).set_no_kill(!off);
  return {};
}

Result<void> node_file(JobDraft& d, Text v) {
  const std::string path = v.find('/') == Text::npos ? "./" + std::string{v} : std::string{v};
  MR_TRY(*d.job.mutable_required_nodes(), node_list(path));
  if (d.job.required_nodes().empty()) return fail(Errc::refused, "--nodefile: " + std::string{v} + " names no nodes");
  return {};
}

// The only resource that tasks are counted by are GPUs.
Result<void> tasks_per_tres(JobDraft& d, Text v) { return resource::tasks_per_gpu(d, v); }

Result<void> accel_bind(JobDraft& d, Text v) {
  bool gpus = false, verbose = false;
  for (const char letter : v) {
    if (letter != 'g' && letter != 'n' && letter != 'v') return invalid("accel-bind");
    gpus = gpus || letter == 'g';
    verbose = verbose || letter == 'v';
  }
  return gpus ? resource::gpu_bind(d, verbose ? "verbose,closest" : "closest") : Result<void>{};
}

Result<void> immediate(JobDraft& d, Text v) {
  const auto seconds = v.empty() ? std::optional<std::int64_t>{1} : parse_integer(v);
  if (!seconds || *seconds < 0 || *seconds > INT32_MAX)
    return fail(Errc::refused, "Invalid numeric value \"" + std::string{v} + "\" for --immediate.");
  d.immediate = *seconds > 0;
  d.immediate_seconds = static_cast<std::uint32_t>(*seconds);
  return {};
}

Result<void> kill_command(JobDraft& d, Text v) {
  const auto number = parse_signal(v.empty() ? "TERM" : v);
  if (!number || *number == 0)
    return fail(Errc::invalid, "Invalid --kill-command specification '" + std::string{v} + "': no such signal");
  d.kill_signal = number;
  return {};
}

Result<void> ignore_signals(JobDraft& d, Text v) {
  d.ignored_signals.clear();
  for (const Text word : split(v, ',')) {
    const auto number = parse_signal(trim(word));
    if (!number || *number == 0)
      return fail(Errc::invalid, "Invalid --ignore-signals specification: no signal '" + std::string{trim(word)} + "'");
    d.ignored_signals.push_back(*number);
  }
  return {};
}

Result<void> wait_all_nodes(JobDraft&, Text v) {
  if (v != "0" && v != "1") return invalid("wait-all-nodes");
  return {};
}

Result<void> any_number(JobDraft&, Text v) {
  const auto number = parse_integer(v);
  if (!number || *number < 0)
    return fail(Errc::refused, "Invalid numeric value \"" + std::string{v} + "\": a number is expected");
  return {};
}

Result<void> tree_width(JobDraft& d, Text v) {
  return equals_ignoring_case(v, "off") ? Result<void>{} : any_number(d, v);
}

}  // namespace millrace::extra
