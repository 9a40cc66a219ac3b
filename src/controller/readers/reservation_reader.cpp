// src/controller/readers/reservation_reader.cpp - see reservation_reader.h.
#include "controller/readers/reservation_reader.h"

#include "core/admission/reserve.h"

namespace millrace {

void ReservationReader::advanced(const Advance& step) {
  if (auto events = decide_replacements(c_.commit.decided(), c_.loop.now()); !events.empty())
    c_.commit.happen(std::move(events));
  const std::vector<ReservationTurn> turns = watch_.look(step.now, c_.loop.now());
  if (turns.empty() || !c_.programs) return;
  const SitePrograms site = c_.hooks.site_programs();
  for (const ReservationTurn& turn : turns) {
    const std::string& program = turn.begins ? site.reservation_prolog : site.reservation_epilog;
    if (program.empty()) continue;
    ProgramRun run;
    run.program = program;
    run.arguments = {turn.name};
    run.environment = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
                       "SLURM_CLUSTER_NAME=" + c_.settings.cluster.cluster_name,
                       "SLURM_CONF=" + c_.settings.cluster.config_path, "SLURM_RESERVATION=" + turn.name,
                       "SLURM_RESERVATION_NODES=" + turn.nodes};
    run.limit = turn.begins ? site.prolog_limit : site.epilog_limit;
    c_.programs->run(std::move(run), [this, program, name = turn.name](const ProgramEnd& end) {
      if (!end.went_well()) c_.hooks.say("reservation " + name + ": " + describe(program, end));
    });
  }
}

}  // namespace millrace
