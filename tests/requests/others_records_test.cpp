// tests/requests/others_records_test.cpp - every request, aimed at somebody else's records by every field that can name
// them, asked by everybody: what is not in the table here changes nothing and shows nothing.
#include <gtest/gtest.h>

#include <iterator>
#include <regex>

#include "agent.pb.h"
#include "controller/requests/request_table.h"
#include "core/ledger/apply.h"
#include "core/ledger/compare.h"
#include "core/model/account_change.h"
#include "request_schema.h"
#include "small_controller.h"
#include "small_state.h"

namespace millrace {
namespace {

using B = wire::Request::BodyCase;

// u4711 works in the account `lab`.
constexpr std::uint32_t owner = 4711;

enum RoleBit : unsigned {
  user = 1,
  of_other = 2,  // coordinates another account
  of_lab = 4,    // coordinates that of the owner
  operates = 8,
  administers = 16,
  slurm_user = 32,
  root = 64
};
constexpr unsigned supers = slurm_user | root;
constexpr unsigned operators = operates | administers | supers;
constexpr unsigned managers = of_lab | operators;
constexpr unsigned everybody = user | of_other | managers;

struct Role {
  RoleBit bit;
  const char* name;
  std::uint32_t uid;
};
constexpr Role roles[] = {{user, "a user", 1000},
                          {of_other, "the coordinator of another account", 1004},
                          {of_lab, "the coordinator of the account", 1001},
                          {operates, "an operator", 1002},
                          {administers, "an administrator", 1003},
                          {slurm_user, "SlurmUser", 990},
                          {root, "root", 0}};

// Who may change something by a request with this field, who is shown what is the owner's alone (the script and the
// crontab), and who is heard where what is asked for is done on nodes and not in the ledger.
struct AllowedRow {
  B request;
  std::string_view field;
  unsigned changes = 0, shows = 0, heard = 0;
};
constexpr AllowedRow allowed[] = {
    // One's own job: whose account pays is a matter of AccountingStorageEnforce, whom it writes to the user's.
    {B::kSubmit, "job.account", everybody},
    {B::kSubmit, "more_components.account", everybody},
    {B::kSubmit, "job.extras.mail_user", everybody},
    {B::kSubmit, "more_components.extras.mail_user", everybody},
    // As somebody else.
    {B::kSubmit, "job.as_uid", supers},
    {B::kSubmit, "job.as_gid", supers},
    {B::kSubmit, "more_components.as_uid", supers},
    {B::kSubmit, "more_components.as_gid", supers},
    {B::kSetCrontab, "uid", supers},
    // Somebody's jobs.
    {B::kCancel, "jobs.job_id", managers},
    {B::kCancel, "user", managers},
    {B::kCancel, "name", managers},
    {B::kCancel, "account", managers},
    {B::kUpdateJob, "job.job_id", managers},
    {B::kHold, "jobs.job_id", managers},
    {B::kHold, "name", managers},
    {B::kRequeue, "jobs.job_id", managers},
    {B::kSuspend, "jobs.job_id", operators},
    {B::kAnnotateRecord, "job_ids", managers},
    // What is somebody's alone.
    {B::kGetScript, "job_id", 0, operators},
    {B::kQueryCrontab, "uid", 0, operators},
    // Reservations for somebody, and triggers: whose they are the controller says, whatever is asked.
    {B::kReserve, "users", operators},
    {B::kReserve, "accounts", operators},
    {B::kSetTrigger, "trigger.id", supers},
    {B::kSetTrigger, "trigger.uid", supers},
    {B::kSetTrigger, "trigger.job", supers},
    {B::kSetTrigger, "trigger.job_id", supers},
    {B::kClearTriggers, "id", operators},
    {B::kClearTriggers, "uid", operators},
    // Steps of somebody's job. What runs or is typed there runs as the owner; a step of no job at all is nobody's.
    {B::kCreateStep, "job_id", 0, 0, supers},
    {B::kCreateStep, "step.as_uid", 0, 0, supers},
    {B::kCreateStep, "step.as_gid", 0, 0, supers},
    {B::kCreateStep, "step.account", 0, 0, everybody},
    {B::kCreateStep, "step.extras.mail_user", 0, 0, everybody},
    {B::kAttachStep, "step.job.job_id", 0, 0, supers},
    {B::kEndAllocation, "job_id", 0, 0, managers},
    {B::kSignalStep, "step.job.job_id", 0, 0, managers},
    {B::kSampleSteps, "steps.job.job_id", 0, 0, managers},
    {B::kUpdateStep, "step.job.job_id", 0, 0, managers},
    {B::kNotifyJob, "step.job.job_id", 0, 0, managers},
    {B::kTopJobs, "jobs.job_id", 0, 0, operators},
};

// ---- the requests ----

void put_number(std::string& to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}

std::string field_bytes(int number, const std::string& inside) {
  std::string out;
  put_number(out, static_cast<std::uint64_t>(number) << 3 | 2);
  put_number(out, inside.size());
  return out + inside;
}

std::string number_bytes(int number, std::uint64_t value) {
  std::string out;
  put_number(out, static_cast<std::uint64_t>(number) << 3);
  put_number(out, value);
  return out;
}

struct Victim {
  std::uint32_t job_id = 0;
  std::uint64_t key = 0;
};

// The value by which this field names the owner or something of his; nothing: it cannot.
std::optional<std::string> aimed(const std::string& message, const SchemaField& field, const Victim& victim) {
  static const std::regex of_user{
      R"((as_)?(uid|gid|user|users|group|groups|owner|user_name|group_name)|\w+_(uid|gid|user|users))"};
  const bool number = field.type == "uint32" || field.type == "uint64";
  if (std::regex_match(field.name, of_user)) {
    if (number) return number_bytes(field.number, owner);
    if (field.type != "bytes") return std::nullopt;
    const bool group = field.name.find("g") == 0 || field.name.find("_g") != std::string::npos;
    return field_bytes(field.number, message == "CancelJobs" ? std::to_string(owner) : group ? "g4711" : "u4711");
  }
  if (field.type == "bytes" && (field.name == "account" || field.name == "accounts"))
    return field_bytes(field.number, "lab");
  if (field.type == "bytes" && field.name == "name" && (message == "CancelJobs" || message == "HoldJobs"))
    return field_bytes(field.number, "theirs");
  if (!number) return std::nullopt;
  if (field.name == "job_id" || field.name == "job_ids") return number_bytes(field.number, victim.job_id);
  if (field.name == "key" || field.name == "job") return number_bytes(field.number, victim.key);
  if (field.name == "id") return number_bytes(field.number, 1);  // of the owner's trigger
  return std::nullopt;
}

struct Aimed {
  std::string field;  // "jobs.job_id"
  std::string bytes;
};

// Every field within this message, however deep, that can name somebody else.
void aim(const Schema& schema, const std::string& message, const Victim& victim, const std::string& path, int depth,
         std::vector<Aimed>& out) {
  const auto found = schema.find(message);
  if (found == schema.end() || depth > 6) return;
  for (const SchemaField& field : found->second) {
    const std::string name = path.empty() ? field.name : path + "." + field.name;
    if (const auto bytes = aimed(message, field, victim)) out.push_back({name, *bytes});
    if (!schema.contains(field.type)) continue;
    std::vector<Aimed> inside;
    aim(schema, field.type, victim, name, depth + 1, inside);
    for (Aimed& each : inside) out.push_back({std::move(each.field), field_bytes(field.number, each.bytes)});
  }
}

void describe(wire::JobDescription& job, const char* name) {
  job.set_name(name);
  job.set_work_dir("/tmp");
}

// What makes a request of this kind do something, whoever and whatever it is aimed at.
wire::Request usual(B kind) {
  wire::Request out;
  switch (kind) {
    case B::kSubmit:
      describe(*out.mutable_submit()->mutable_job(), "mine");
      out.mutable_submit()->set_script("#!/bin/sh\n");
      break;
    case B::kUpdateJob:
      out.mutable_update_job()->set_comment("changed");
      break;
    case B::kHold:
      out.mutable_hold();
      break;
    case B::kReserve:
      out.mutable_reserve()->set_name("r");
      out.mutable_reserve()->set_nodes("n4");
      out.mutable_reserve()->set_users("root");
      out.mutable_reserve()->set_start_us(1'800'000'000'000'000);
      out.mutable_reserve()->set_duration_us(60'000'000);
      break;
    case B::kSetTrigger:
      out.mutable_set_trigger()->mutable_trigger()->set_program("/bin/true");
      break;
    case B::kCreateStep:
      describe(*out.mutable_create_step()->mutable_step(), "step");
      out.mutable_create_step()->mutable_step()->set_tasks(1);
      break;
    case B::kUpdateStep:
      out.mutable_update_step()->set_time_limit_minutes(5);
      break;
    case B::kNotifyJob:
      out.mutable_notify_job()->set_text("words");
      break;
    case B::kAnnotateRecord:
      out.mutable_annotate_record()->set_comment("changed");
      break;
    case B::kQueryJobs:
      out.mutable_query_jobs()->set_finished_too(true);
      out.mutable_query_jobs()->set_accounting(true);
      break;
    case B::kGetScript:
      out.mutable_get_script()->set_with_environment(true);
      break;
    default:
      break;
  }
  return out;
}

constexpr const char* secret = "nobody-elses-business";

// A cluster in which u4711 has a job that runs, one that waits, one that is over, a crontab and a trigger.
class Cluster {
 public:
  Cluster() {
    wire::Request make_room;
    make_room.mutable_cancel()->set_user("0");
    controller.request(0, make_room.SerializeAsString());
    end_all();
    wire::Request ask;
    describe(*ask.mutable_submit()->mutable_job(), "theirs");
    ask.mutable_submit()->mutable_job()->set_memory_per_node_mib(100);
    ask.mutable_submit()->mutable_job()->set_account("lab");
    ask.mutable_submit()->set_script(std::string{"#!/bin/sh\n# "} + secret + "\n");
    ask.mutable_submit()->set_environment(std::string{"SECRET="} + secret + std::string(1, '\0'));
    over_ = submit(ask);
    ask.mutable_submit()->mutable_job()->set_begin_at_us(2'000'000'000'000'000);
    waiting_ = submit(ask);
    wire::Request cancel;
    cancel.mutable_cancel()->add_jobs()->set_job_id(over_);
    controller.request(owner, cancel.SerializeAsString());
    end_all();
    ask.mutable_submit()->mutable_job()->clear_begin_at_us();
    running_ = submit(ask);
    wire::Request crontab;
    crontab.mutable_set_crontab()->set_text(std::string{"# "} + secret + "\n@yearly x\n");
    wire::CronEntry& entry = *crontab.mutable_set_crontab()->add_entries();
    entry.set_line(2);
    entry.set_times("@yearly");
    describe(*entry.mutable_job()->mutable_job(), "cron");
    entry.mutable_job()->set_script("#!/bin/sh\n");
    EXPECT_TRUE(controller.request(owner, crontab.SerializeAsString()).has_crontab());
    for (int i = 0; i < 3; ++i) controller.run();
    EXPECT_EQ(controller.durable().find_job(JobId{running_})->state, JobState::running);
    EXPECT_EQ(controller.durable().find_job(JobId{over_})->state, JobState::ended);
  }
  Victim victim(B kind) const {
    const std::uint32_t id = kind == B::kAnnotateRecord                ? over_
                             : kind == B::kHold || kind == B::kTopJobs ? waiting_
                                                                       : running_;
    return {id, controller.durable().by_id.at(JobId{id}).value};
  }
  fuzz::SmallController controller{with_trigger(fuzz::state_with_roles())};

 private:
  static State with_trigger(State state) {
    Trigger trigger;
    trigger.id = TriggerId{1};
    trigger.uid = UserId{owner};
    trigger.job_id = JobId{1};
    trigger.job = JobKey{1};
    trigger.permanent = true;
    trigger.program = "/bin/true";
    apply(state, TriggerSet{trigger, Time{1'700'000'000'000'001}});
    return state;
  }
  std::uint32_t submit(const wire::Request& ask) {
    const wire::Reply reply = controller.request(owner, ask.SerializeAsString());
    EXPECT_TRUE(reply.has_submitted()) << reply.failure().text();
    return reply.submitted().job_id();
  }
  // The nodes say that what is to end has ended.
  void end_all() {
    for (const std::uint32_t index : {0u, 1u}) {
      wire::ToController message;
      for (const JobKey key : controller.durable().node(NodeIndex{index}).jobs) {
        if (controller.durable().job(key).state != JobState::completing) continue;
        wire::AttemptStatus& attempt = *message.mutable_report()->add_attempts();
        attempt.set_job_key(key.value);
        attempt.set_attempt(controller.durable().job(key).attempt.value);
        attempt.set_state(wire::AttemptStatus::ENDED);
        attempt.set_end(wire::AttemptStatus::EXITED);
      }
      if (message.has_report()) controller.from_agent(index == 0 ? "n1" : "n2", message.SerializeAsString());
    }
  }
  std::uint32_t over_ = 0, running_ = 0, waiting_ = 0;
};

// What somebody did: with the version, with which even a refusal may be noted, out of it.
bool has_changed(State before, State after) {
  before.version = after.version = 0;
  return first_difference(before, after).has_value();
}

struct Effect {
  unsigned changes = 0, shows = 0, heard = 0;
};

bool is_done_on_nodes(B kind) {
  return kind == B::kCreateStep || kind == B::kSignalStep || kind == B::kAttachStep || kind == B::kUpdateStep ||
         kind == B::kNotifyJob || kind == B::kEndAllocation || kind == B::kSampleSteps || kind == B::kTopJobs;
}

bool is_denied(const wire::Reply& reply) {
  constexpr std::uint32_t denied = 2002;
  const auto& failed = reply.jobs_changed().failed();
  return reply.failure().code() == denied || (!failed.empty() && failed.begin()->code() == denied);
}

Effect effect_of(B kind, const std::string& bytes) {
  Effect out;
  auto cluster = std::make_unique<Cluster>();
  for (const Role& role : roles) {
    const State before = cluster->controller.durable();
    const wire::Reply reply = cluster->controller.request(role.uid, bytes);
    const bool changed = has_changed(before, cluster->controller.durable());
    if (changed) out.changes |= role.bit;
    if (is_done_on_nodes(kind) && !is_denied(reply)) out.heard |= role.bit;
    if (reply.SerializeAsString().find(secret) != std::string::npos) out.shows |= role.bit;
    if (changed) cluster = std::make_unique<Cluster>();
  }
  return out;
}

std::string names_of(unsigned bits) {
  std::string out;
  for (const Role& role : roles)
    if ((bits & role.bit) != 0) out += (out.empty() ? "" : ", ") + std::string{role.name};
  return out.empty() ? "nobody" : out;
}

const AllowedRow* row_of(B kind, std::string_view field) {
  for (const AllowedRow& row : allowed)
    if (row.request == kind && row.field == field) return &row;
  return nullptr;
}

TEST(OthersRecords, Nothing_happens_to_them_that_no_row_allows) {
  const Schema schema = read_schema();
  const Cluster sample;
  std::size_t tried = 0, rows = 0;
  for (const SchemaField& body : schema.at("Request")) {
    if (!schema.contains(body.type)) continue;
    const auto kind = static_cast<B>(body.number);
    if (kind == B::kShutdown) continue;
    std::vector<Aimed> ways;
    aim(schema, body.type, sample.victim(kind), "", 0, ways);
    for (const Aimed& way : ways) {
      wire::Request ask = usual(kind);
      ask.set_number(1);
      const Effect effect = effect_of(kind, ask.SerializeAsString() + field_bytes(body.number, way.bytes));
      const AllowedRow* row = row_of(kind, way.field);
      ++tried;
      rows += row ? 1 : 0;
      EXPECT_EQ(names_of(effect.changes), names_of(row ? row->changes : 0))
          << "may change something by " << body.name << " with " << way.field;
      EXPECT_EQ(names_of(effect.shows), names_of(row ? row->shows : 0))
          << "may see what is the owner's by " << body.name << " with " << way.field;
      EXPECT_EQ(names_of(effect.heard), names_of(row ? row->heard : 0))
          << "is heard by " << body.name << " with " << way.field;
    }
  }
  EXPECT_EQ(rows, std::size(allowed)) << "a row for what nobody can ask";
  EXPECT_GT(tried, 60u);
}

}  // namespace
}  // namespace millrace
