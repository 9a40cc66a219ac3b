// src/core/ledger/fingerprint.cpp - see fingerprint.h.
#include "core/ledger/fingerprint.h"

namespace millrace {

namespace {

struct Sum {
  std::uint64_t value = 0;
  void add(std::uint64_t more) { value = mix_bits(value ^ more) + 0x9e3779b97f4a7c15ULL; }
};

void add_jobs(Sum& sum, const State& state) {
  const auto add = [&](std::uint64_t value) { sum.add(value); };
  for (const auto& [key, job] : state.jobs) {
    for (const std::uint64_t v :
         {key.value, std::uint64_t{job->id.value}, static_cast<std::uint64_t>(job->state),
          static_cast<std::uint64_t>(job->outcome), std::uint64_t{job->attempt.value}, std::uint64_t{job->priority},
          static_cast<std::uint64_t>(job->eligible_at.value), static_cast<std::uint64_t>(job->started_at.value),
          static_cast<std::uint64_t>(job->ended_at.value), std::uint64_t{job->time_limit_minutes},
          name_bits(job->spec->name), name_bits(job->spec->std_out)})
      add(v);
    if (job->placement)
      for (const NodeShare& share : job->placement->shares)
        add(mix_bits(share.node.value) ^ static_cast<std::uint64_t>(share.cpus.value) ^
            (share.released ? 1ULL << 40 : 0) ^ (share.exited ? 1ULL << 41 : 0) ^ (share.given_up ? 1ULL << 42 : 0));
    if (job->boots) add(0xb007);
    if (job->placement && !job->placement->ports.empty()) add(name_bits(job->placement->ports));
    if (job->requeues > 0 || job->held_why != HeldWhy::asked || job->over_time_minutes > 0)
      add(std::uint64_t{job->over_time_minutes} << 16 | std::uint64_t{job->requeues} << 8 |
          static_cast<std::uint64_t>(job->held_why));
    if (job->used)
      add(mix_bits(static_cast<std::uint64_t>(job->used->user_us)) ^
          static_cast<std::uint64_t>(job->used->max_rss_bytes));
    if (job->trouble)
      add(name_bits(job->trouble->words) ^ std::uint64_t{job->trouble->node.value} << 8 ^ job->trouble->tries);
    if (job->program != JobProgram::none || job->launch_failed)
      add(static_cast<std::uint64_t>(job->program) << 1 | (job->launch_failed ? 1 : 0));
    if (job->het) add(mix_bits(job->het->leader.value) ^ (std::uint64_t{job->het->offset} << 32 | job->het->size));
    if (job->placement && (job->placement->supervised || job->placement->stops_alone))
      add(job->placement->stops_alone ? 3 : 2);
    if (job->suspension)
      add(mix_bits(static_cast<std::uint64_t>(job->suspension->changed_at.value)) ^
          static_cast<std::uint64_t>(job->suspension->ran_before.value) ^
          (job->suspension->wants_cpus ? 1ULL << 60 : 0) ^ (job->suspension->cpus_free ? 1ULL << 61 : 0));
    if (job->placement)
      for (const LicenceAsk& held : job->placement->licences) add(name_bits(held.name) ^ held.count);
  }
}

void add_nodes(Sum& sum, const State& state) {
  const auto add = [&](std::uint64_t value) { sum.add(value); };
  for (const auto& [index, node] : state.nodes) {
    add(static_cast<std::uint64_t>(node->used_cpus.value) << 8 | static_cast<std::uint64_t>(node->condition) << 1 |
        static_cast<std::uint64_t>(node->drain));
    add(name_bits(node->boot_id) ^ name_bits(node->reason));
    if (node->fail || node->reboot != Reboot::none || node->drained_for_reboot)
      add(static_cast<std::uint64_t>(node->reboot) << 2 | static_cast<std::uint64_t>(node->fail) << 1 |
          (node->drained_for_reboot ? 1 : 0));
    if (node->power != NodePower{} || node->future)
      add(mix_bits(static_cast<std::uint64_t>(node->power.due.value)) ^
          static_cast<std::uint64_t>(node->power.state) << 8 ^
          static_cast<std::uint64_t>((node->power.told ? 1 : 0) | (node->power.down_wanted ? 2 : 0) |
                                     (node->power.closed ? 4 : 0) | (node->power.up_wanted ? 8 : 0) |
                                     (node->future ? 16 : 0)));
    if (node->def->kind != NodeKind::normal)
      add(static_cast<std::uint64_t>(node->def->kind) << 1 | (node->configured ? 1 : 0));
    add(node->def->weight ^ name_bits(node->def->features));
    if (node->def->active_features) add(name_bits(*node->def->active_features));
    if (!node->spool_id.empty()) add(name_bits(node->spool_id));
    if (node->drained_for_clock) add(0xc10c);
    for (const FailedLaunch& failed : node->failed_launches)
      add(mix_bits(failed.user.value) ^ static_cast<std::uint64_t>(failed.at.value));
    if (node->resume_at.is_set()) add(static_cast<std::uint64_t>(node->resume_at.value));
    if (!node->instance_id.empty() || !node->instance_type.empty())
      add(name_bits(node->instance_id) ^ mix_bits(name_bits(node->instance_type)));
    for (const std::uint64_t word : node->use.cpus) add(word);
    for (std::size_t slot = 0; slot < node->def->kinds.size() && slot < gres_kinds_max; ++slot)
      add(mix_bits(node->use.devices[slot]) ^ static_cast<std::uint64_t>(node->used_gres[slot]));
  }
}

void add_standing(Sum& sum, const State& state) {
  const auto add = [&](std::uint64_t value) { sum.add(value); };
  for (const Partition& partition : *state.partitions) {
    const PartitionDef& def = partition.def;
    add(name_bits(def.name) ^ static_cast<std::uint64_t>(def.availability) << 8 ^
        static_cast<std::uint64_t>((partition.configured ? 1 : 0) | (partition.changed ? 2 : 0) |
                                   (def.is_default ? 4 : 0)));
    add(mix_bits(def.priority_tier) ^ def.max_time_minutes ^ std::uint64_t{def.max_nodes} << 32 ^
        (partition.written ? mix_bits(partition.written->priority_tier) ^ partition.written->max_nodes : 0));
    for (const NodeIndex node : partition.nodes) add(node.value);
  }
  for (const auto& [id, reservation] : state.reservations) {
    add(id.value ^ name_bits(reservation->name) ^ reservation->flags);
    add(static_cast<std::uint64_t>(reservation->start.value) ^
        mix_bits(static_cast<std::uint64_t>(reservation->end.value)));
    for (const std::uint32_t node : reservation->nodes) add(node);
  }
  for (const auto& [uid, history] : state.run_histories)
    add(mix_bits(uid.value) ^ (std::uint64_t{history.last} << 32 | history.before));
  for (const auto& [due, nothing] : state.deadlines) add(static_cast<std::uint64_t>(due.at.value) ^ due.key.value);
  for (const auto& [place, nothing] : state.queue) add(place.key.value);
  for (const auto& [key, step] : state.steps) {
    add(mix_bits(KeyBits<StepKey>::of(key)) ^ name_bits(step->start.name) ^
        static_cast<std::uint64_t>(step->start.at.value));
    add(static_cast<std::uint64_t>(step->end.at.value) ^ static_cast<std::uint64_t>(step->end.outcome) << 56 ^
        step->end.exit_code ^ step->end.exit_signal);
  }
  for (const auto& [uid, crontab] : state.crontabs) {
    add(uid.value ^ name_bits(crontab->text));
    for (const CrontabJob& job : crontab->jobs) add(mix_bits(job.key.value) ^ job.line);
  }
  for (const auto& [id, trigger] : state.triggers) {
    add(mix_bits(id.value) ^ name_bits(trigger->program) ^ name_bits(trigger->nodes) ^
        static_cast<std::uint64_t>(trigger->event) << 40 ^ trigger->job.value);
    for (const TriggerDue& due : trigger->due) add(static_cast<std::uint64_t>(due.at.value) ^ name_bits(due.about));
  }
}

void add_records(Sum& sum, const State& state) {
  const auto add = [&](std::uint64_t value) { sum.add(value); };
  for (const auto& [number, kept] : state.kept) {
    const Job& job = *kept->job;
    add(mix_bits(number.value) ^ job.key.value ^ static_cast<std::uint64_t>(kept->at.value));
    add(static_cast<std::uint64_t>(job.ended_at.value) ^ static_cast<std::uint64_t>(job.outcome) << 56 ^ job.exit_code ^
        (std::uint64_t{job.attempt.value} << 32) ^ job.exit_signal);
    add(name_bits(job.spec->name) ^ mix_bits(name_bits(job.spec->std_out)) ^ kept->array.value ^
        (kept->requeued ? 1ULL << 40 : 0) ^ (kept->array_well ? 1ULL << 41 : 0) ^
        std::uint64_t{kept->rest.size()} << 42);
    if (job.used)
      add(static_cast<std::uint64_t>(job.used->user_us) ^ static_cast<std::uint64_t>(job.used->max_rss_bytes));
    if (job.placement)
      for (const NodeShare& share : job.placement->shares)
        add(mix_bits(share.node.value) ^ static_cast<std::uint64_t>(share.cpus.value));
    for (const SharedValue<Step>& step : kept->steps)
      add(step->start.id ^ static_cast<std::uint64_t>(step->end.at.value) ^ name_bits(step->start.name));
  }
  for (const auto& [key, tally] : state.step_tallies)
    add(key.value ^ (std::uint64_t{tally.next_id} << 32 | tally.ended));
  for (const auto& [id, each] : state.associations)
    add(id.value ^ name_bits(each->account) ^ mix_bits(name_bits(each->user)) ^
        (static_cast<std::uint64_t>(each->shares) << 32));
  for (const AccountUser& user : *state.account_users)
    add(name_bits(user.name) ^ mix_bits(name_bits(user.default_wckey)) ^
        static_cast<std::uint64_t>(user.admin_level) << 60 ^ user.wckeys.size());
  for (const auto& [id, each] : state.transactions)
    add(id.value ^ name_bits(each->actor) ^ mix_bits(name_bits(each->info)));
  for (const auto& [id, each] : state.qos)
    add(id.value ^ name_bits(each->name) ^ (static_cast<std::uint64_t>(each->priority) << 32));
  for (const auto& [key, use] : state.uses) {
    add(KeyBits<UseKey>::of(key) ^ use->submitted ^ (static_cast<std::uint64_t>(use->running) << 32));
    add(static_cast<std::uint64_t>(use->as_of.value));
    for (const Fixed& usage : use->usage)
      add(static_cast<std::uint64_t>(usage.raw) ^ mix_bits(static_cast<std::uint64_t>(usage.raw >> 64)));
  }
}

}  // namespace

std::uint64_t fingerprint(const State& state) {
  Sum sum{mix_bits(state.version) ^ state.epoch.value ^ static_cast<std::uint64_t>(state.slice_due.value)};
  add_jobs(sum, state);
  add_nodes(sum, state);
  add_standing(sum, state);
  add_records(sum, state);
  return sum.value;
}

}  // namespace millrace
