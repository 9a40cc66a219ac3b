// src/platform/loop_fixture.h - for tests: a loop with a watchdog, links that remember what they heard, a directory
// that goes.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/patience_fixture.h"
#include "platform/event_loop.h"
#include "ports/transport.h"

namespace millrace {

struct LoopTest : testing::Test {
  EventLoop loop;
  bool late = false;

  // Runs the loop until the condition holds; whoever changes something it depends on stops the loop.
  void run_until(const std::function<bool()>& condition) {
    late = false;
    const auto watchdog = loop.after(patience(), [this] {
      late = true;
      loop.stop();
    });
    while (!condition() && !late) loop.run();
    loop.cancel(watchdog);
    ASSERT_FALSE(late) << "what the test waits for did not happen";
  }
};

struct Recorder final : LinkHandler {
  explicit Recorder(EventLoop& l) : loop(l) {}
  EventLoop& loop;
  std::vector<std::string> messages;
  std::string why;
  std::function<void()> on_message;
  void message(std::string_view bytes) override {
    messages.emplace_back(bytes);
    if (on_message) on_message();
    loop.stop();
  }
  void closed(std::string_view story) override {
    why = story;
    loop.stop();
  }
};

struct TemporaryDirectory {
  std::string path;
  TemporaryDirectory() {
    char name[] = "/tmp/millrace-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

}  // namespace millrace
