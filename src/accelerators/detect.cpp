// src/accelerators/detect.cpp - see detect.h.
#include "accelerators/detect.h"

#include "accelerators/sysfs.h"

namespace millrace {

DetectSettings detect_settings(std::string_view word) {
  DetectSettings out;
  out.nvml = word == "nvml" || word == "full";
  out.nvidia = word == "nvidia";
  out.rsmi = word == "rsmi" || word == "full";
  out.oneapi = word == "oneapi" || word == "full";
  return out;
}

std::vector<Accelerator> Detector::list(std::string& problem) {
  std::vector<Accelerator> out;
  problem.clear();
  const auto add = [&](std::vector<Accelerator> more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (settings_.nvml && !nvml_) {
    auto loaded = Nvml::load(settings_.nvml_library, settings_.root);
    if (loaded)
      nvml_ = *std::move(loaded);
    else
      problem = loaded.error().story;
  }
  if (nvml_) {
    auto gpus = nvml_->list();
    if (gpus)
      add(*std::move(gpus));
    else
      problem = gpus.error().story;
  }
  if (settings_.nvidia) add(nvidia_gpus(settings_.root));
  if (settings_.rsmi) add(amd_gpus(settings_.root));
  if (settings_.oneapi) add(intel_gpus(settings_.root));
  return out;
}

}  // namespace millrace
