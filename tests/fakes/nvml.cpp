// tests/fakes/nvml.cpp - a library in the place of NVIDIA's: it says what the file FAKE_NVML says, read anew each time.
// clang-format off
//   gpu NAME UUID MINOR PCI CPUMASK TOTAL_MIB USED_MIB BUSY ECC PENDING MIG     (NAME with _ for blanks)
//   mig UUID GPU_INSTANCE COMPUTE_INSTANCE PROFILE MIB                          (of the gpu before it)
//   lost                                                                        (one that is counted and does not answer)
//   xid GPU NUMBER                                                              (told once)
// clang-format on
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Part {
  std::string id, profile, name;
  unsigned gpu_instance = 0, compute_instance = 0;
  unsigned long long mib = 0;
};
struct Gpu {
  std::string name, id, pci;
  unsigned minor = 0, busy = 0, pending = 0, mig = 0;
  unsigned long cpus = 0;
  unsigned long long total = 0, used = 0, ecc = 0;
  bool lost = false;
  std::vector<Part> parts;
};
std::vector<Gpu> gpus;
std::set<std::pair<unsigned, unsigned long long>> xids, told;

constexpr int good = 0, not_supported = 3, not_found = 6, lost = 15, timeout = 10;

void read_state() {
  gpus.clear();
  const char* path = std::getenv("FAKE_NVML");
  std::ifstream file(path != nullptr ? path : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, mask;
    words >> kind;
    if (kind == "gpu") {
      Gpu gpu;
      words >> gpu.name >> gpu.id >> gpu.minor >> gpu.pci >> mask >> gpu.total >> gpu.used >> gpu.busy >> gpu.ecc >>
          gpu.pending >> gpu.mig;
      gpu.cpus = std::strtoul(mask.c_str(), nullptr, 16);
      for (char& each : gpu.name)
        if (each == '_') each = ' ';
      gpus.push_back(gpu);
    } else if (kind == "lost") {
      gpus.push_back({});
      gpus.back().lost = true;
    } else if (kind == "mig" && !gpus.empty()) {
      Part part;
      words >> part.id >> part.gpu_instance >> part.compute_instance >> part.profile >> part.mib;
      part.name = gpus.back().name + " MIG " + part.profile;
      gpus.back().parts.push_back(part);
    } else if (kind == "xid") {
      unsigned gpu = 0;
      unsigned long long number = 0;
      words >> gpu >> number;
      xids.emplace(gpu, number);
    }
  }
}

// A handle is a number: the gpu's, or 1000 and more for its parts.
void* handle(std::size_t number) { return reinterpret_cast<void*>(number + 1); }
std::size_t number_of(void* device) { return reinterpret_cast<std::size_t>(device) - 1; }
Gpu* gpu_of(void* device) { return number_of(device) < gpus.size() ? &gpus[number_of(device)] : nullptr; }
Part* part_of(void* device) {
  const std::size_t number = number_of(device);
  if (number < 1000) return nullptr;
  Gpu& gpu = gpus.at((number - 1000) / 100);
  return &gpu.parts.at((number - 1000) % 100);
}
int copy(const std::string& from, char* to, unsigned size) { return std::snprintf(to, size, "%s", from.c_str()), good; }

}  // namespace

extern "C" {
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem;
  char id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct EventData {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2() {
  if (std::getenv("FAKE_NVML_HANGS") != nullptr)
    for (;;) std::getchar();
  read_state();
  return good;
}
int nvmlShutdown() { return good; }
const char* nvmlErrorString(int code) { return code == lost ? "GPU is lost" : "an error"; }
int nvmlDeviceGetCount_v2(unsigned* count) { return read_state(), *count = static_cast<unsigned>(gpus.size()), good; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return *device = handle(index), gpus.at(index).lost ? lost : good;
}
int nvmlDeviceGetName(void* device, char* to, unsigned size) {
  if (const Part* part = part_of(device)) return copy(part->name, to, size);
  return copy(gpu_of(device)->name, to, size);
}
int nvmlDeviceGetUUID(void* device, char* to, unsigned size) {
  if (const Part* part = part_of(device)) return copy(part->id, to, size);
  return copy(gpu_of(device)->id, to, size);
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* to) { return *to = gpu_of(device)->minor, good; }
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* to) { return copy(gpu_of(device)->pci, to->id, sizeof to->id); }
int nvmlDeviceGetCpuAffinity(void* device, unsigned count, unsigned long* to) {
  std::memset(to, 0, count * sizeof *to);
  return to[0] = gpu_of(device)->cpus, good;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* to) {
  if (const Part* part = part_of(device)) return *to = {part->mib << 20, part->mib << 20, 0}, good;
  const Gpu* gpu = gpu_of(device);
  return *to = {gpu->total << 20, (gpu->total - gpu->used) << 20, gpu->used << 20}, good;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* to) { return *to = {gpu_of(device)->busy, 0}, good; }
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* to) { return *to = 40, good; }
int nvmlDeviceGetPowerUsage(void*, unsigned* to) { return *to = 100'000, good; }
int nvmlDeviceGetTotalEccErrors(void* device, unsigned, unsigned, unsigned long long* to) {
  return *to = gpu_of(device)->ecc, good;
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* a, unsigned* b, unsigned* pending, unsigned* failed) {
  return *a = *b = *failed = 0, *pending = gpu_of(device)->pending, good;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* soon) {
  return *now = *soon = gpu_of(device)->mig, good;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* to) { return *to = 7, good; }
int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** to) {
  if (index >= gpu_of(device)->parts.size()) return not_found;
  return *to = handle(1000 + number_of(device) * 100 + index), good;
}
int nvmlDeviceGetGpuInstanceId(void* device, unsigned* to) {
  return part_of(device) != nullptr ? (*to = part_of(device)->gpu_instance, good) : not_supported;
}
int nvmlDeviceGetComputeInstanceId(void* device, unsigned* to) {
  return part_of(device) != nullptr ? (*to = part_of(device)->compute_instance, good) : not_supported;
}
// Gpus beside each other have one link.
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  return *active = link == 0 && (number_of(device) ^ 1) < gpus.size() ? 1 : 0, good;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* to) {
  return copy(gpus.at(number_of(device) ^ 1).pci, to->id, sizeof to->id);
}
int nvmlEventSetCreate(void** set) { return *set = &gpus, good; }
int nvmlEventSetFree(void*) { return good; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return good; }
int nvmlEventSetWait_v2(void*, EventData* to, unsigned) {
  read_state();
  for (const auto& event : xids)
    if (told.insert(event).second) return *to = {handle(event.first), 8, event.second, 0, 0}, good;
  return timeout;
}
}
