// src/apps/doctor_report.h - what `millrace doctor` found, one line per check; the checks are in two units, by what
// they look at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/configuration.h"

namespace millrace {

class DoctorReport {
 public:
  void ok(std::string_view what, std::string_view text) { line("ok   ", what, text); }
  void note(std::string_view what, std::string_view text) { line("note ", what, text); }
  // What is not so, and what would be right.
  void wrong(std::string_view what, std::string_view text) {
    ++wrong_;
    line("WRONG", what, text);
  }
  std::uint32_t count_wrong() const { return wrong_; }

 private:
  static void line(std::string_view verdict, std::string_view what, std::string_view text);
  std::uint32_t wrong_ = 0;
};

// What this machine is in the cluster, as far as slurm.conf and its name tell.
struct Role {
  std::string host;
  bool controller = false;
  const ConfiguredNode* node = nullptr;  // the first one of this host
  std::size_t nodes = 0;                 // of this host
};

// The machine itself: files, ports, space, cgroups, limits. None of them needs a controller.
void check_keys(DoctorReport& report, const Configuration& configuration, const Role& role);
void check_port(DoctorReport& report, const Configuration& configuration, const Role& role, bool answers);
void check_pid_files(DoctorReport& report, const Configuration& configuration, const Role& role, bool answers);
void check_space(DoctorReport& report, const Configuration& configuration, const Role& role);
void check_cgroups(DoctorReport& report);
void check_limits(DoctorReport& report);

}  // namespace millrace
