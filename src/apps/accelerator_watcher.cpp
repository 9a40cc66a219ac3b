// src/apps/accelerator_watcher.cpp - see accelerator_watcher.h.
#include "apps/accelerator_watcher.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "accelerators/detect.h"
#include "agent.pb.h"
#include "wire/frame.h"

namespace millrace {
namespace {

// Both variables are for tests: another library in NVIDIA's place, another folder with /sys, /proc and /dev.
DetectSettings settings_for(const std::string& detect) {
  DetectSettings settings = detect_settings(detect);
  if (const char* library = std::getenv("MILLRACE_NVML")) settings.nvml_library = library;
  if (const char* root = std::getenv("MILLRACE_ACCELERATOR_ROOT")) settings.root = root;
  return settings;
}

wire::AcceleratorReport look(Detector& detector) {
  wire::AcceleratorReport report;
  std::string problem;
  for (const Accelerator& each : detector.list(problem)) {
    auto* to = report.add_accelerators();
    to->set_maker(static_cast<std::uint32_t>(each.maker));
    to->set_model(each.model);
    to->set_unique_id(each.unique_id);
    to->set_pci(each.pci);
    for (const std::string& file : each.files) to->add_files(file);
    to->set_cpus(each.cpus);
    to->set_instance(each.instance);
    to->set_memory_mib(each.memory_mib);
    for (const std::uint32_t links : each.links) to->add_links(links);
    to->set_busy_percent(each.busy_percent);
    to->set_used_mib(each.used_mib);
    to->set_celsius(each.celsius);
    to->set_watts(each.watts);
    to->set_trouble(each.trouble);
  }
  report.set_problem(problem);
  return report;
}

}  // namespace

int watch_accelerators(const std::string& detect) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Detector detector(settings_for(detect));
  for (;;) {
    const std::string message = frame(look(detector).SerializeAsString());
    for (std::size_t done = 0; done < message.size();) {
      const ssize_t count = write(STDOUT_FILENO, message.data() + done, message.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return 0;
      done += static_cast<std::size_t>(count);
    }
    char byte = 0;
    ssize_t count = 0;
    while ((count = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
  }
}

int print_accelerators() {
  Detector detector(settings_for("full"));
  const wire::AcceleratorReport report = look(detector);
  for (const auto& each : report.accelerators()) {
    std::string files;
    for (const std::string& file : each.files()) files += (files.empty() ? "" : ",") + file;
    std::printf("Gres Name=gpu Type=%s Count=1 Files=%s CPUs=%s UniqueId=%s Memory=%lluM%s%s\n", each.model().c_str(),
                files.c_str(), each.cpus().c_str(), each.unique_id().c_str(),
                static_cast<unsigned long long>(each.memory_mib()),
                each.trouble().empty() ? "" : " Trouble=", each.trouble().c_str());
  }
  if (report.accelerators().empty())
    std::printf("no accelerators found%s%s\n", report.problem().empty() ? "" : ": ", report.problem().c_str());
  return 0;
}

}  // namespace millrace
