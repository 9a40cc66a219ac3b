// tests/requests/extreme_numbers_test.cpp - jobs that ask for numbers at the edges of their types, in every pair of
// fields: sums and products of them fit, whatever is made of the job. The sanitizer is the judge.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>

#include "base/prng.h"
#include "request_schema.h"
#include "small_controller.h"
#include "small_state.h"

namespace millrace {
namespace {

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

struct NumberField {
  std::vector<int> path;  // field numbers, from the message that the request holds
  std::string name;
  bool text = false;  // a number in words
};

bool is_number(const std::string& type) {
  return type == "uint32" || type == "uint64" || type == "int32" || type == "int64" || type == "sint32" ||
         type == "sint64";
}

// Texts that hold numbers of something.
bool is_amount(const std::string& name) {
  return name == "gres" || name.starts_with("gpus") || name == "tres_per_task" || name == "licenses" ||
         name == "node_counts";
}

void find_numbers(const Schema& schema, const std::string& message, std::vector<int> path,
                  std::vector<NumberField>& out) {
  if (path.size() > 4) return;
  for (const SchemaField& field : schema.at(message)) {
    std::vector<int> here = path;
    here.push_back(field.number);
    if (field.name == "as_uid" || field.name == "as_gid" || field.name == "job_id") continue;
    if (is_number(field.type))
      out.push_back({here, field.name});
    else if (field.type == "bytes" && is_amount(field.name))
      out.push_back({here, field.name, true});
    else if (schema.contains(field.type) && field.type != "JobName")
      find_numbers(schema, field.type, here, out);
  }
}

const std::string amounts[] = {"gpu:1", "gpu:34359738368", "gpu:1048576", "gpu:1125899906842624", "34359738368", "1"};
constexpr std::uint64_t numbers[] = {0,         1,          2,          1'000'000,       1u << 20,   268435456,
                                     INT32_MAX, UINT32_MAX, 1ULL << 33, 1ULL << 36,      1ULL << 40, 1ULL << 53,
                                     INT64_MAX, UINT64_MAX, 3,          68'719'476'735u, 1ULL << 50};

class Extremes {
 public:
  explicit Extremes(std::uint64_t seed) : random_(seed) {
    const Schema schema = read_schema();
    find_numbers(schema, "JobDescription", {}, of_jobs_);
    find_numbers(schema, "UpdateJob", {}, of_updates_);
  }

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      if (round % 40 == 0) {
        controller_ = std::make_unique<fuzz::SmallController>(fuzz::state_with_roles());
        next_id_ = 6;
      }
      wire::Request submit;
      submit.mutable_submit()->set_script("#!/bin/sh\n");
      std::string job;
      wire::JobDescription usual;
      usual.set_work_dir("/tmp");
      usual.set_name("n");
      job = usual.SerializeAsString() + some_fields(of_jobs_);
      // SubmitJob.job is field 1, and what comes later is merged into what came before.
      ask(submit.submit().SerializeAsString() + wrapped(1, job), wire::Request::kSubmit);
      if (random_.chance(1, 2)) {
        wire::UpdateJob update;
        update.mutable_job()->set_job_id(2 + static_cast<std::uint32_t>(random_.below(next_id_)));
        ask(update.SerializeAsString() + some_fields(of_updates_), wire::Request::kUpdateJob);
      }
      if (round % 20 == 19) controller_->run();
    }
  }

 private:
  static std::string wrapped(int number, const std::string& bytes) {
    std::string out;
    put_varint(out, static_cast<std::uint64_t>(number) << 3 | 2);
    put_varint(out, bytes.size());
    return out + bytes;
  }
  std::string some_fields(const std::vector<NumberField>& fields) {
    std::string out;
    for (std::uint64_t n = 1 + random_.below(4); n > 0; --n) {
      const NumberField& field = fields[random_.below(fields.size())];
      std::string bytes;
      if (field.text) {
        bytes = wrapped(field.path.back(), amounts[random_.below(std::size(amounts))]);
      } else {
        put_varint(bytes, static_cast<std::uint64_t>(field.path.back()) << 3);
        put_varint(bytes, numbers[random_.below(std::size(numbers))]);
      }
      for (std::size_t up = field.path.size() - 1; up-- > 0;) bytes = wrapped(field.path[up], bytes);
      out += bytes;
    }
    return out;
  }
  void ask(const std::string& body, wire::Request::BodyCase kind) {
    const wire::Reply reply = controller_->request(4711, wrapped(static_cast<int>(kind), body));
    if (reply.has_submitted()) next_id_ = reply.submitted().job_id();
  }

  Prng random_;
  std::vector<NumberField> of_jobs_, of_updates_;
  std::unique_ptr<fuzz::SmallController> controller_;
  std::uint32_t next_id_ = 6;
};

TEST(ExtremeNumbers, Of_jobs_are_refused_or_add_up) {
  const char* given = std::getenv("MR_SIM_FIRST");
  const char* count = std::getenv("MR_EXTREMES");
  Extremes{given ? std::strtoull(given, nullptr, 10) : 1}.run(count ? std::atoi(count) : 4000);
}

}  // namespace
}  // namespace millrace
