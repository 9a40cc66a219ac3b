// src/accelerators/accelerators_test.cpp - accelerators found in a made-up machine, and by a library in the place of
// NVIDIA's.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "accelerators/detect.h"
#include "accelerators/sysfs.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class Accelerators : public testing::Test {
 protected:
  Accelerators() {
    char pattern[] = "/tmp/millrace-accelerators.XXXXXX";
    root_ = mkdtemp(pattern);
  }
  ~Accelerators() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::vector<Accelerator> by_nvml(const std::string& state) {
    write("/state", state);
    setenv("FAKE_NVML", (root_ + "/state").c_str(), 1);
    if (!detector_) {
      DetectSettings settings = detect_settings("nvml");
      settings.nvml_library = FAKE_NVML_LIBRARY;
      settings.root = root_;
      detector_ = std::make_unique<Detector>(settings);
    }
    return detector_->list(problem_);
  }
  std::string root_, problem_;
  std::unique_ptr<Detector> detector_;
};

TEST_F(Accelerators, Nvidias_library_tells_models_files_processors_and_links) {
  const auto gpus = by_nvml(
      "gpu NVIDIA_H200 GPU-b 1 00000000:3B:00.0 f0 143771 100 50 0 0 0\n"
      "gpu NVIDIA_H200 GPU-a 0 00000000:1A:00.0 f 143771 0 0 0 0 0\n");
  ASSERT_EQ(gpus.size(), 2u) << problem_;
  EXPECT_EQ(gpus[0].unique_id, "GPU-a") << "in the order of their files";
  EXPECT_EQ(gpus[0].model, "nvidia_h200");
  EXPECT_EQ(gpus[0].files, std::vector<std::string>{root_ + "/dev/nvidia0"});
  EXPECT_EQ(gpus[0].cpus, "0-3");
  EXPECT_EQ(gpus[1].pci, "0000:3b:00.0");
  EXPECT_EQ(gpus[1].busy_percent, 50u);
  EXPECT_EQ(gpus[1].used_mib, 100u);
  EXPECT_EQ(gpus[0].memory_mib, 143771u);
  EXPECT_EQ(gpus[0].links, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(gpus[0].trouble, "");
}

TEST_F(Accelerators, A_divided_gpu_is_its_instances_with_the_files_of_their_capabilities) {
  write("/proc/driver/nvidia/capabilities/gpu0/mig/gi11/access", "DeviceFileMinor: 102\nDeviceFileMode: 292\n");
  write("/proc/driver/nvidia/capabilities/gpu0/mig/gi11/ci0/access", "DeviceFileMinor: 103\nDeviceFileMode: 292\n");
  write("/proc/driver/nvidia/capabilities/gpu0/mig/gi13/access", "DeviceFileMinor: 120\n");
  write("/proc/driver/nvidia/capabilities/gpu0/mig/gi13/ci0/access", "DeviceFileMinor: 121\n");
  const auto parts = by_nvml(
      "gpu NVIDIA_H200 GPU-a 0 00000000:1A:00.0 f 143771 0 0 0 0 1\n"
      "mig MIG-1 11 0 1g.18gb 18000\n"
      "mig MIG-2 13 0 1g.18gb 18000\n");
  ASSERT_EQ(parts.size(), 2u) << problem_;
  EXPECT_EQ(parts[0].model, "nvidia_h200_1g.18gb");
  EXPECT_TRUE(parts[0].instance);
  EXPECT_EQ(parts[1].unique_id, "MIG-2");
  EXPECT_EQ(parts[1].memory_mib, 18000u);
  const std::string caps = root_ + "/dev/nvidia-caps/nvidia-cap";
  EXPECT_EQ(parts[0].files, (std::vector<std::string>{root_ + "/dev/nvidia0", caps + "102", caps + "103"}));
}

TEST_F(Accelerators, Errors_that_no_program_makes_are_a_gpus_trouble) {
  const std::string one = "gpu NVIDIA_H200 GPU-a 0 00000000:1A:00.0 f 143771 0 0 ";
  EXPECT_EQ(by_nvml(one + "0 0 0\n").at(0).trouble, "");
  EXPECT_EQ(by_nvml(one + "2 0 0\n").at(0).trouble, "2 uncorrected ECC errors");
  EXPECT_EQ(by_nvml(one + "0 1 0\n").at(0).trouble, "memory rows wait to be remapped: a reset is due");
  EXPECT_EQ(by_nvml(one + "0 0 0\nxid 0 31\n").at(0).trouble, "") << "a program's page fault";
  EXPECT_EQ(by_nvml(one + "0 0 0\nxid 0 79\n").at(0).trouble, "XID 79");
  EXPECT_EQ(by_nvml(one + "0 0 0\n").at(0).trouble, "XID 79") << "it stays";
  const auto both = by_nvml(one + "0 0 0\nlost\n");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].trouble, "GPU is lost");
}

TEST_F(Accelerators, A_missing_library_is_told_and_is_no_gpu) {
  DetectSettings settings = detect_settings("nvml");
  settings.nvml_library = root_ + "/nothing.so";
  std::string problem;
  EXPECT_TRUE(Detector(settings).list(problem).empty());
  EXPECT_TRUE(problem.starts_with("NVIDIA's management library cannot be loaded: ")) << problem;
}

TEST_F(Accelerators, Nvidias_driver_tells_of_its_gpus_without_the_library) {
  write("/proc/driver/nvidia/gpus/0000:3b:00.0/information",
        "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-x\nDevice Minor: \t 2\n");
  write("/sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "8-15\n");
  const auto gpus = nvidia_gpus(root_);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].model, "nvidia_h200");
  EXPECT_EQ(gpus[0].unique_id, "GPU-x");
  EXPECT_EQ(gpus[0].cpus, "8-15");
  EXPECT_EQ(gpus[0].files, std::vector<std::string>{root_ + "/dev/nvidia2"});
}

TEST_F(Accelerators, Amds_gpus_are_nodes_of_kfd) {
  write("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\ndrm_render_minor 0\n");
  write("/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 440\ndrm_render_minor 128\n");
  write("/sys/class/kfd/kfd/topology/nodes/1/name", "gfx90a\n");
  const std::string device = "/sys/devices/pci0000:40/0000:41:00.0";
  write(device + "/local_cpulist", "0-63\n");
  write(device + "/mem_info_vram_total", "68702699520\n");
  write(device + "/mem_info_vram_used", "1048576\n");
  write(device + "/gpu_busy_percent", "75\n");
  write(device + "/unique_id", "abcd\n");
  write(device + "/ras/umc_err_count", "ue: 1\nce: 12\n");
  write(device + "/drm/card1/dev", "226:1\n");
  write(device + "/drm/renderD128/dev", "226:128\n");
  fs::create_directories(root_ + "/sys/class/drm/renderD128");
  fs::create_symlink(root_ + device, root_ + "/sys/class/drm/renderD128/device");
  const auto gpus = amd_gpus(root_);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].model, "amd_gfx90a");
  EXPECT_EQ(gpus[0].pci, "0000:41:00.0");
  EXPECT_EQ(gpus[0].files, (std::vector<std::string>{root_ + "/dev/dri/card1", root_ + "/dev/dri/renderD128"}));
  EXPECT_EQ(gpus[0].memory_mib, 65520u);
  EXPECT_EQ(gpus[0].busy_percent, 75u);
  EXPECT_EQ(gpus[0].trouble, "1 uncorrected ECC error");
}

TEST_F(Accelerators, Intels_gpus_are_cards_but_for_the_processors_own_graphics) {
  for (const auto& [card, pci] : {std::pair{"card0", "0000:00:02.0"}, std::pair{"card1", "0000:9a:00.0"}}) {
    const std::string device = std::string{"/sys/devices/"} + pci;
    write(device + "/vendor", "0x8086\n");
    write(device + "/device", "0x0bd5\n");
    write(device + "/local_cpulist", "0-7\n");
    write(device + "/drm/" + card + "/dev", "\n");
    fs::create_directories(root_ + "/sys/class/drm/" + card);
    fs::create_symlink(root_ + device, root_ + "/sys/class/drm/" + card + "/device");
  }
  const auto gpus = intel_gpus(root_);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].model, "intel_gpu_0bd5");
  EXPECT_EQ(gpus[0].files, std::vector<std::string>{root_ + "/dev/dri/card1"});
}

}  // namespace
}  // namespace millrace
