// src/accelerators/nvml.cpp - see nvml.h. The declarations are our own: what the library's binary interface needs, and
// no more.
#include "accelerators/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>

#include "base/index_set.h"
#include "base/text.h"

namespace millrace {
namespace {

using Device = void*;
using Return = int;
constexpr Return success = 0;

struct PciInfo {
  char legacy_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned int gpu, memory;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
};
constexpr unsigned long long xid_event = 8;
constexpr unsigned int uncorrected = 1, since_boot = 0;
constexpr std::uint32_t nvlinks_max = 18;

constexpr const char* folders[] = {"",
                                   "/usr/local/nvidia/lib64/",
                                   "/usr/lib/x86_64-linux-gnu/",
                                   "/usr/lib64/",
                                   "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/",
                                   "/usr/lib/aarch64-linux-gnu/",
                                   "/usr/lib/wsl/lib/"};

std::string first_number_after(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::string{trim(std::string_view{line}.substr(key.size()))};
  return {};
}

// "00000000:3B:00.0" as the kernel writes it: 0000:3b:00.0
std::string kernel_pci(std::string_view id) {
  std::string out = lower(id);
  const std::size_t colon = out.find(':');
  if (colon != std::string::npos && colon > 4) out.erase(0, colon - 4);
  return out;
}

}  // namespace

// What could not be found is null; only what listing needs is required.
struct Nvml::Calls {
  void* library = nullptr;
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*count)(unsigned int*) = nullptr;
  Return (*by_index)(unsigned int, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned int) = nullptr;
  Return (*unique_id)(Device, char*, unsigned int) = nullptr;
  Return (*minor)(Device, unsigned int*) = nullptr;
  Return (*pci)(Device, PciInfo*) = nullptr;
  Return (*affinity)(Device, unsigned int, unsigned long*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*temperature)(Device, unsigned int, unsigned int*) = nullptr;
  Return (*power)(Device, unsigned int*) = nullptr;
  Return (*ecc)(Device, unsigned int, unsigned int, unsigned long long*) = nullptr;
  Return (*remapped)(Device, unsigned int*, unsigned int*, unsigned int*, unsigned int*) = nullptr;
  Return (*mig_mode)(Device, unsigned int*, unsigned int*) = nullptr;
  Return (*mig_max)(Device, unsigned int*) = nullptr;
  Return (*mig_by_index)(Device, unsigned int, Device*) = nullptr;
  Return (*gpu_instance)(Device, unsigned int*) = nullptr;
  Return (*compute_instance)(Device, unsigned int*) = nullptr;
  Return (*link_state)(Device, unsigned int, unsigned int*) = nullptr;
  Return (*link_peer)(Device, unsigned int, PciInfo*) = nullptr;
  Return (*event_set)(void**) = nullptr;
  Return (*register_events)(Device, unsigned long long, void*) = nullptr;
  Return (*event_wait)(void*, EventData*, unsigned int) = nullptr;
  Return (*event_free)(void*) = nullptr;
  const char* (*error_text)(Return) = nullptr;

  template <typename Function>
  bool find(Function& to, const char* symbol) {
    to = reinterpret_cast<Function>(dlsym(library, symbol));
    return to != nullptr;
  }

  bool find_all() {
    find(temperature, "nvmlDeviceGetTemperature");
    find(power, "nvmlDeviceGetPowerUsage");
    find(ecc, "nvmlDeviceGetTotalEccErrors");
    find(remapped, "nvmlDeviceGetRemappedRows");
    find(mig_mode, "nvmlDeviceGetMigMode");
    find(mig_max, "nvmlDeviceGetMaxMigDeviceCount");
    find(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
    find(gpu_instance, "nvmlDeviceGetGpuInstanceId");
    find(compute_instance, "nvmlDeviceGetComputeInstanceId");
    find(link_state, "nvmlDeviceGetNvLinkState");
    find(link_peer, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    find(event_set, "nvmlEventSetCreate");
    find(register_events, "nvmlDeviceRegisterEvents");
    find(event_wait, "nvmlEventSetWait_v2");
    find(event_free, "nvmlEventSetFree");
    find(error_text, "nvmlErrorString");
    find(affinity, "nvmlDeviceGetCpuAffinity");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") && find(count, "nvmlDeviceGetCount_v2") &&
           find(by_index, "nvmlDeviceGetHandleByIndex_v2") && find(name, "nvmlDeviceGetName") &&
           find(unique_id, "nvmlDeviceGetUUID") && find(minor, "nvmlDeviceGetMinorNumber") &&
           find(pci, "nvmlDeviceGetPciInfo_v3") && find(memory, "nvmlDeviceGetMemoryInfo");
  }

  std::string words(Return code) const {
    const char* text = error_text != nullptr ? error_text(code) : nullptr;
    return text != nullptr ? text : "error " + std::to_string(code);
  }
};

bool is_hardware_error(std::uint64_t xid) {
  constexpr std::uint64_t of_programs[] = {13, 31, 43, 45, 68, 109};
  return std::ranges::find(of_programs, xid) == std::end(of_programs);
}

Nvml::Nvml(std::unique_ptr<Calls> calls, std::string root) : calls_(std::move(calls)), root_(std::move(root)) {}

Nvml::~Nvml() {
  if (events_ != nullptr && calls_->event_free != nullptr) calls_->event_free(events_);
  calls_->shutdown();
  dlclose(calls_->library);
}

Result<std::unique_ptr<Nvml>> Nvml::load(const std::string& library, std::string root) {
  auto calls = std::make_unique<Calls>();
  std::string problem;
  if (!library.empty()) {
    calls->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (calls->library == nullptr) problem = dlerror();
  } else {
    for (const char* folder : folders) {
      calls->library = dlopen((std::string{folder} + "libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (calls->library != nullptr) break;
      if (problem.empty()) problem = dlerror();
    }
  }
  if (calls->library == nullptr)
    return fail(Errc::not_found, "NVIDIA's management library cannot be loaded: " + problem);
  if (!calls->find_all()) {
    dlclose(calls->library);
    return fail(Errc::invalid, "NVIDIA's management library is too old: a function is missing");
  }
  if (const Return begun = calls->init(); begun != success) {
    const std::string text = "NVIDIA's driver does not answer: " + calls->words(begun);
    dlclose(calls->library);
    return fail(Errc::unavailable, text);
  }
  std::unique_ptr<Nvml> out(new Nvml(std::move(calls), std::move(root)));
  out->watch_errors();
  return out;
}

void Nvml::watch_errors() {
  if (calls_->event_set == nullptr || calls_->register_events == nullptr || calls_->event_wait == nullptr) return;
  if (calls_->event_set(&events_) != success) {
    events_ = nullptr;
    return;
  }
  unsigned int count = 0;
  calls_->count(&count);
  for (unsigned int i = 0; i < count; ++i)
    if (Device device = nullptr; calls_->by_index(i, &device) == success)
      calls_->register_events(device, xid_event, events_);
}

void Nvml::take_errors() {
  if (events_ == nullptr) return;
  EventData event{};
  for (int most = 0; most < 1000 && calls_->event_wait(events_, &event, 0) == success; ++most) {
    char id[96]{};
    if ((event.type & xid_event) == 0 || !is_hardware_error(event.data)) continue;
    if (calls_->unique_id(event.device, id, sizeof id) != success) continue;
    if (std::ranges::find(errors_, std::pair<std::string, std::uint64_t>{id, event.data}) == errors_.end())
      errors_.emplace_back(id, event.data);
  }
}

std::string Nvml::trouble_of(Device device) const {
  char id[96]{};
  calls_->unique_id(device, id, sizeof id);
  for (const auto& [gpu, xid] : errors_)
    if (gpu == id) return "XID " + std::to_string(xid);
  if (unsigned long long errors = 0;
      calls_->ecc != nullptr && calls_->ecc(device, uncorrected, since_boot, &errors) == success && errors > 0)
    return std::to_string(errors) + " uncorrected ECC error" + (errors == 1 ? "" : "s");
  unsigned int corrected = 0, bad = 0, pending = 0, failed = 0;
  if (calls_->remapped != nullptr && calls_->remapped(device, &corrected, &bad, &pending, &failed) == success) {
    if (failed != 0) return "memory rows could not be remapped";
    if (pending != 0) return "memory rows wait to be remapped: a reset is due";
  }
  return {};
}

void Nvml::describe(Device device, Accelerator& out) const {
  char text[128]{};
  if (calls_->name(device, text, sizeof text) == success) out.model = model_word(text);
  if (calls_->unique_id(device, text, sizeof text) == success) out.unique_id = text;
  if (Memory memory{}; calls_->memory(device, &memory) == success) {
    out.memory_mib = memory.total >> 20;
    out.used_mib = memory.used >> 20;
  }
}

// Its own device files are those of its two capabilities; the gpu's is shared by all instances.
void Nvml::add_instances(Device device, std::uint32_t minor, const Accelerator& whole,
                         std::vector<Accelerator>& out) const {
  unsigned int most = 0;
  if (calls_->mig_max == nullptr || calls_->mig_by_index == nullptr || calls_->mig_max(device, &most) != success)
    return;
  for (unsigned int i = 0; i < most; ++i) {
    Device instance = nullptr;
    unsigned int gpu_instance = 0, compute_instance = 0;
    if (calls_->mig_by_index(device, i, &instance) != success) continue;
    if (calls_->gpu_instance == nullptr || calls_->gpu_instance(instance, &gpu_instance) != success) continue;
    if (calls_->compute_instance == nullptr || calls_->compute_instance(instance, &compute_instance) != success)
      continue;
    Accelerator part = whole;
    part.instance = true;
    part.links.clear();
    part.busy_percent = 0;  // the driver does not tell it of a part
    describe(instance, part);
    const std::string folder = root_ + "/proc/driver/nvidia/capabilities/gpu" + std::to_string(minor) + "/mig/gi" +
                               std::to_string(gpu_instance);
    for (const std::string& file : {folder + "/access", folder + "/ci" + std::to_string(compute_instance) + "/access"})
      if (const std::string number = first_number_after(file, "DeviceFileMinor:"); !number.empty())
        part.files.push_back(root_ + "/dev/nvidia-caps/nvidia-cap" + number);
    out.push_back(std::move(part));
  }
}

Result<std::vector<Accelerator>> Nvml::list() {
  take_errors();
  unsigned int count = 0;
  if (const Return asked = calls_->count(&count); asked != success)
    return fail(Errc::unavailable, "NVIDIA's driver does not answer: " + calls_->words(asked));
  struct Found {
    Device device;
    unsigned int minor;
    Accelerator gpu;
  };
  std::vector<Found> found;
  for (unsigned int i = 0; i < count; ++i) {
    Found each{};
    if (const Return asked = calls_->by_index(i, &each.device); asked != success) {
      // It is counted, so it is there, and no job can use it.
      each.gpu.maker = AcceleratorMaker::nvidia;
      each.gpu.trouble = calls_->words(asked);
      each.minor = i;
      each.gpu.files = {root_ + "/dev/nvidia" + std::to_string(i)};
      found.push_back(std::move(each));
      continue;
    }
    Accelerator& gpu = each.gpu;
    gpu.maker = AcceleratorMaker::nvidia;
    describe(each.device, gpu);
    if (calls_->minor(each.device, &each.minor) != success) each.minor = i;
    gpu.files = {root_ + "/dev/nvidia" + std::to_string(each.minor)};
    if (PciInfo pci{}; calls_->pci(each.device, &pci) == success) gpu.pci = kernel_pci(pci.id);
    std::array<unsigned long, 32> words{};
    if (calls_->affinity != nullptr && calls_->affinity(each.device, words.size(), words.data()) == success) {
      IndexSet cpus;
      for (std::uint32_t cpu = 0; cpu < words.size() * 64; ++cpu)
        if ((words[cpu / 64] >> (cpu % 64) & 1) != 0) cpus.insert(cpu);
      gpu.cpus = format_index_set(cpus);
    }
    if (Utilization use{}; calls_->utilization != nullptr && calls_->utilization(each.device, &use) == success)
      gpu.busy_percent = use.gpu;
    if (unsigned int value = 0;
        calls_->temperature != nullptr && calls_->temperature(each.device, 0, &value) == success)
      gpu.celsius = value;
    if (unsigned int value = 0; calls_->power != nullptr && calls_->power(each.device, &value) == success)
      gpu.watts = value / 1000;
    gpu.trouble = trouble_of(each.device);
    found.push_back(std::move(each));
  }
  std::ranges::sort(found, {}, &Found::minor);
  for (Found& each : found) {
    each.gpu.links.assign(found.size(), 0);
    for (unsigned int link = 0;
         each.device != nullptr && calls_->link_state != nullptr && calls_->link_peer != nullptr && link < nvlinks_max;
         ++link) {
      unsigned int active = 0;
      PciInfo peer{};
      if (calls_->link_state(each.device, link, &active) != success || active == 0 ||
          calls_->link_peer(each.device, link, &peer) != success)
        continue;
      for (std::size_t other = 0; other < found.size(); ++other)
        if (found[other].gpu.pci == kernel_pci(peer.id)) ++each.gpu.links[other];
    }
  }
  std::vector<Accelerator> out;
  for (Found& each : found) {
    unsigned int divided = 0, soon = 0;
    const bool parts = each.device != nullptr && calls_->mig_mode != nullptr &&
                       calls_->mig_mode(each.device, &divided, &soon) == success && divided == 1;
    if (parts)
      add_instances(each.device, each.minor, each.gpu, out);
    else
      out.push_back(std::move(each.gpu));
  }
  return out;
}

}  // namespace millrace
