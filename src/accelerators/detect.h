// src/accelerators/detect.h - finds a machine's accelerators in the ways that gres.conf's AutoDetect names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accelerators/nvml.h"

namespace millrace {

struct DetectSettings {
  bool nvml = false, nvidia = false, rsmi = false, oneapi = false;
  std::string nvml_library;  // empty: looked for
  std::string root;
};

// The word of AutoDetect=, in lower case.
DetectSettings detect_settings(std::string_view word);

// Keeps what is loaded between two looks.
class Detector {
 public:
  explicit Detector(DetectSettings settings) : settings_(std::move(settings)) {}
  // What did not work stands in `problem`; the rest is listed.
  std::vector<Accelerator> list(std::string& problem);

 private:
  DetectSettings settings_;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace millrace
