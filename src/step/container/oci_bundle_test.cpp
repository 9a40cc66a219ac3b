// src/step/container/oci_bundle_test.cpp - a bundle's config.json made into a task's.
#include "step/container/oci_bundle.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

BundleTask task() {
  BundleTask out;
  out.bundle = "/";
  out.arguments = {"a", "b c"};
  out.environment = {"PATH=/host", "X=job", "NEW=1"};
  out.devices = {"/dev/nvidia0"};
  out.uid = 1000;
  out.gid = 100;
  return out;
}

constexpr const char* bundle =
    R"({"root":{"path":"tmp"},"process":{"user":{"uid":0,"gid":0},"args":["sh"],"env":["PATH=/bin","X=bundle"],"cwd":"/"},)"
    R"("linux":{"namespaces":[{"type":"pid"},{"type":"network"},{"type":"user"}],"cgroupsPath":"/else","resources":{"memory":{"limit":-1}}}})";

TEST(OciBundle, The_task_runs_as_its_user_whatever_the_bundle_says) {
  const auto made = task_config(bundle, task());
  ASSERT_TRUE(made) << made.error().story;
  EXPECT_NE(made->find(R"("user":{"uid":1000,"gid":100})"), std::string::npos) << *made;
  EXPECT_NE(made->find(R"("uidMappings":[{"containerID":1000,"hostID":1000,"size":1}])"), std::string::npos) << *made;
  EXPECT_NE(made->find(R"("namespaces":[{"type":"pid"},{"type":"mount"},{"type":"user"}])"), std::string::npos)
      << "the job's network, a user namespace";
  EXPECT_EQ(made->find("cgroupsPath"), std::string::npos) << "the job's cgroup";
  EXPECT_EQ(made->find("resources"), std::string::npos);
  BundleTask renamed = task();
  renamed.root_inside = true;
  const auto other = task_config(bundle, renamed);
  EXPECT_NE(other->find(R"("uidMappings":[{"containerID":0,"hostID":1000,"size":1}])"), std::string::npos) << *other;
}

TEST(OciBundle, Program_environment_and_devices_are_the_jobs) {
  const std::string made = *task_config(bundle, task());
  EXPECT_NE(made.find(R"("args":["a","b c"])"), std::string::npos) << made;
  EXPECT_NE(made.find(R"("env":["PATH=/bin","X=job","NEW=1"])"), std::string::npos)
      << "programs are where the bundle has them: " << made;
  EXPECT_NE(made.find(R"({"destination":"/dev/nvidia0","type":"bind","source":"/dev/nvidia0")"), std::string::npos)
      << made;
  EXPECT_NE(made.find(R"("root":{"path":"//tmp"})"), std::string::npos) << made;
}

TEST(OciBundle, Says_what_is_wrong_with_a_bundle) {
  const auto wrong = [](const char* config) { return task_config(config, task()).error().story; };
  EXPECT_TRUE(wrong("{").starts_with("//config.json: ")) << wrong("{");
  EXPECT_EQ(wrong("{}"), "//config.json: root.path is missing");
  EXPECT_EQ(wrong(R"({"root":{"path":"no/such/folder"}})"), "//no/such/folder: No such file or directory");
  BundleTask none = task();
  none.arguments.clear();
  EXPECT_EQ(task_config(R"({"root":{"path":"tmp"}})", none).error().story,
            "no program: neither the command line nor process.args of //config.json names one");
}

}  // namespace
}  // namespace millrace
