// src/platform/child_programs.h - programs as child processes of this one, each in a session of its own.
#pragma once

#include <map>
#include <memory>

#include "base/log.h"
#include "platform/event_loop.h"
#include "ports/programs.h"

namespace millrace {

class ChildPrograms final : public Programs {
 public:
  explicit ChildPrograms(EventLoop& loop) : loop_(loop) {}
  ~ChildPrograms() override;  // kills what still runs

  std::vector<std::string> find(const std::string& pattern) override;
  Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) override;
  void kill(Id program) override;
  void log_to(Log& log) { lines_ = &log; }

 private:
  struct Child {
    pid_t pid = 0;
    std::string program;
    int output = -1;
    std::string printed;
    bool timed_out = false;
    Loop::TimerId limit = 0;
    std::unique_ptr<ProcessWatch> process;
    std::unique_ptr<DescriptorWatch> reader;
    std::move_only_function<void(const ProgramEnd&)> ended;  // empty: nobody waits any more
  };
  Result<void> start(Id id, Child& child, const ProgramRun& what);
  void read_some(Id id);
  void over(Id id, const ProcessEnd& end);

  EventLoop& loop_;
  Log silent_;
  Log* lines_ = &silent_;
  std::map<Id, Child> children_;
  Id last_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace millrace
