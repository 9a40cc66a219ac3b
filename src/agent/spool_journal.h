// src/agent/spool_journal.h - the journal of prologs and epilogs as files of the spool, one for each attempt.
#pragma once

#include "agent/prolog_epilog.h"

namespace millrace {

class SpoolJournal final : public ProgramJournal {
 public:
  SpoolJournal(const std::string& spool, std::string boot_id)
      : directory_(spool + "/programs"), boot_id_(std::move(boot_id)) {}

  std::vector<AttemptName> names() const;  // of every boot
  std::vector<wire::ProgramRecord> read() override;
  Result<void> write(const wire::ProgramRecord& record) override;
  void erase(AttemptName name) override;
  std::string mark_of(AttemptName name) const override;
  bool end_leftovers(AttemptName name) override;

 private:
  std::string path_of(AttemptName name) const { return directory_ + "/" + text_of(name); }

  const std::string directory_, boot_id_;
};

}  // namespace millrace
