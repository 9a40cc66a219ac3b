// tests/fuzz/fuzz_bundle.cpp - config.json of a container that a user brings, and what task prologs and logins print.
#include "step/container/oci_bundle.h"
#include "step/environment/environment.h"
#include "step/environment/login_environment.h"
#include "step/launch/task_prolog.h"
#include "target.h"

using namespace millrace;

FUZZ_TEXT(bundle) {
  BundleTask task;
  task.bundle = "/b", task.directory = "/d", task.arguments = {"prog"}, task.environment = {"A=b"};
  task.devices = {"/dev/null"}, task.script = "/s", task.work_dir = "/w";
  fuzz::use(task_config(std::string{input}, task));
}

FUZZ_TEXT(printed_environment) {
  Environment environment;
  environment.set("A", "b");
  fuzz::use(obey_prolog_output(input, environment));
  add_login_variables(input, environment);
  fuzz::use(environment.entries());
}
