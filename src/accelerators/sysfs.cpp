// src/accelerators/sysfs.cpp - see sysfs.h.
#include "accelerators/sysfs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string{trim(line)};
}

std::uint64_t number_in(const fs::path& path) {
  const auto value = parse_integer(first_line(path));
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

// Folders or files whose names begin so, in the order of the numbers after that.
std::vector<fs::path> numbered(const fs::path& folder, std::string_view prefix) {
  std::map<std::int64_t, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    if (const auto number = parse_integer(std::string_view{name}.substr(prefix.size()))) found[*number] = entry.path();
  }
  std::vector<fs::path> out;
  for (auto& [number, path] : found) out.push_back(std::move(path));
  return out;
}

std::string value_of(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key) && line.size() > key.size() &&
        (line[key.size()] == ' ' || line[key.size()] == ':' || line[key.size()] == '\t'))
      return std::string{trim(std::string_view{line}.substr(key.size() + 1))};
  return {};
}

// The files of /dev/dri that the kernel lists below the device.
std::vector<std::string> dri_files(const std::string& root, const fs::path& device) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(device / "drm", ignored))
    if (const std::string name = entry.path().filename(); name.starts_with("card") || name.starts_with("renderD"))
      out.push_back(root + "/dev/dri/" + name);
  std::ranges::sort(out);
  return out;
}

std::string pci_of(const fs::path& device) {
  std::error_code problem;
  const fs::path real = fs::canonical(device, problem);
  return problem ? std::string{} : std::string{real.filename()};
}

Accelerator described(const std::string& root, const fs::path& device) {
  Accelerator out;
  out.pci = pci_of(device);
  out.files = dri_files(root, device);
  out.cpus = first_line(device / "local_cpulist");
  return out;
}

// "ue: 0\nce: 12": errors that could not be corrected, of every part that counts them.
std::uint64_t uncorrected_errors(const fs::path& device) {
  std::uint64_t sum = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(device / "ras", ignored))
    if (std::string{entry.path().filename()}.ends_with("_err_count"))
      if (const auto count = parse_integer(value_of(entry.path(), "ue")); count && *count > 0)
        sum += static_cast<std::uint64_t>(*count);
  return sum;
}

std::uint32_t first_sensor(const fs::path& device, const char* name, std::uint64_t unit) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(device / "hwmon", ignored))
    if (const std::uint64_t value = number_in(entry.path() / name); value != 0)
      return static_cast<std::uint32_t>(value / unit);
  return 0;
}

}  // namespace

std::vector<Accelerator> amd_gpus(const std::string& root) {
  std::vector<Accelerator> out;
  for (const fs::path& node : numbered(root + "/sys/class/kfd/kfd/topology/nodes", "")) {
    const fs::path properties = node / "properties";
    const auto simds = parse_integer(value_of(properties, "simd_count"));
    const auto render = parse_integer(value_of(properties, "drm_render_minor"));
    if (!simds || *simds == 0 || !render || *render == 0) continue;  // a processor
    const fs::path device = root + "/sys/class/drm/renderD" + std::to_string(*render) + "/device";
    Accelerator gpu = described(root, device);
    gpu.maker = AcceleratorMaker::amd;
    if (gpu.files.empty()) gpu.files = {root + "/dev/dri/renderD" + std::to_string(*render)};
    const std::string product = first_line(device / "product_name"), chip = first_line(node / "name");
    gpu.model = model_word(!product.empty() ? product : !chip.empty() ? "amd " + chip : "amd_gpu");
    gpu.unique_id = first_line(device / "unique_id");
    gpu.memory_mib = number_in(device / "mem_info_vram_total") >> 20;
    gpu.used_mib = number_in(device / "mem_info_vram_used") >> 20;
    gpu.busy_percent = static_cast<std::uint32_t>(number_in(device / "gpu_busy_percent"));
    gpu.celsius = first_sensor(device, "temp1_input", 1'000);
    gpu.watts = first_sensor(device, "power1_average", 1'000'000);
    if (const std::uint64_t errors = uncorrected_errors(device); errors > 0)
      gpu.trouble = std::to_string(errors) + " uncorrected ECC error" + (errors == 1 ? "" : "s");
    out.push_back(std::move(gpu));
  }
  return out;
}

std::vector<Accelerator> intel_gpus(const std::string& root) {
  std::vector<Accelerator> out;
  for (const fs::path& card : numbered(root + "/sys/class/drm", "card")) {
    const fs::path device = card / "device";
    if (first_line(device / "vendor") != "0x8086") continue;
    Accelerator gpu = described(root, device);
    if (gpu.pci.ends_with(":00:02.0")) continue;  // graphics of the processor itself always sits there
    gpu.maker = AcceleratorMaker::intel;
    const std::string id = first_line(device / "device");
    gpu.model = "intel_gpu" + (id.starts_with("0x") ? "_" + id.substr(2) : "");
    gpu.unique_id = gpu.pci;
    gpu.memory_mib = number_in(card / "lmem_total_bytes") >> 20;
    const std::uint64_t free = number_in(card / "lmem_avail_bytes") >> 20;
    gpu.used_mib = gpu.memory_mib > free && free > 0 ? gpu.memory_mib - free : 0;
    gpu.celsius = first_sensor(device, "temp1_input", 1'000);
    out.push_back(std::move(gpu));
  }
  return out;
}

std::vector<Accelerator> nvidia_gpus(const std::string& root) {
  std::map<std::int64_t, Accelerator> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root + "/proc/driver/nvidia/gpus", ignored)) {
    const fs::path facts = entry.path() / "information";
    const auto minor = parse_integer(value_of(facts, "Device Minor:"));
    if (!minor) continue;
    const fs::path device = root + "/sys/bus/pci/devices/" + std::string{entry.path().filename()};
    Accelerator gpu;
    gpu.maker = AcceleratorMaker::nvidia;
    gpu.model = model_word(value_of(facts, "Model:"));
    gpu.unique_id = value_of(facts, "GPU UUID:");
    gpu.pci = entry.path().filename();
    gpu.cpus = first_line(device / "local_cpulist");
    gpu.files = {root + "/dev/nvidia" + std::to_string(*minor)};
    found[*minor] = std::move(gpu);
  }
  std::vector<Accelerator> out;
  for (auto& [minor, gpu] : found) out.push_back(std::move(gpu));
  return out;
}

}  // namespace millrace
