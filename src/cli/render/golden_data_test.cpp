// src/cli/render/golden_data_test.cpp - what --json prints against recordings of a real Slurm: every key, its place,
// its type and its value.
#include <boost/json.hpp>

#include "cli/render/data_accounts.h"
#include "cli/render/data_document.h"
#include "cli/render/data_records.h"
#include "cli/render/data_text.h"
#include "cli/render/golden_cluster.h"

namespace millrace {
namespace {

namespace json = boost::json;

// Paths whose values are another cluster's or another program's, and why.
struct Excuse {
  std::string_view path, why;
};
constexpr Excuse excuses[] = {
    {"jobs/*/flags", "what Slurm filled in itself and what the user said is not told apart here"},
    {"jobs/*/association_id", "numbers of a database"},
    {"jobs/*/step_id/sluid", "an id"},
    {"last_backfill/number", "a time"},
    {"last_update/number", "a time"},
    {"meta/plugin/accounting_storage", "there is no such plugin"},
    {"meta/client/user", "who runs the test"},
    {"meta/client/group", "who runs the test"},
    {"sinfo/*/port", "of the first node that is asked"},
};

const char* kind_word(const json::value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "list";
  if (value.is_string()) return "text";
  if (value.is_bool()) return "bool";
  if (value.is_double()) return "real";
  if (value.is_number()) return "number";
  return "null";
}

void compare_values(const json::value& ours, const json::value& theirs, const std::string& path) {
  if (std::string_view{kind_word(ours)} != kind_word(theirs)) {
    ADD_FAILURE() << path << ": " << kind_word(ours) << " instead of " << kind_word(theirs);
    return;
  }
  for (const Excuse& excuse : excuses)
    if (path == excuse.path) return;
  const auto below = [&](std::string_view key) {
    return path.empty() ? std::string{key} : path + '/' + std::string{key};
  };
  if (theirs.is_object()) {
    std::vector<std::string> our_keys, their_keys;
    for (const auto& member : ours.as_object()) our_keys.emplace_back(member.key());
    for (const auto& member : theirs.as_object()) their_keys.emplace_back(member.key());
    EXPECT_EQ(our_keys, their_keys) << path;
    for (const auto& member : theirs.as_object())
      if (const json::value* mine = ours.as_object().if_contains(member.key()))
        compare_values(*mine, member.value(), below(member.key()));
  } else if (theirs.is_array()) {
    ASSERT_EQ(ours.as_array().size(), theirs.as_array().size()) << path;
    for (std::size_t i = 0; i < theirs.as_array().size(); ++i)
      compare_values(ours.as_array()[i], theirs.as_array()[i], below("*"));
  } else {
    EXPECT_EQ(json::serialize(ours), json::serialize(theirs)) << path;
  }
}

class GoldenData : public Golden {
 protected:
  void SetUp() override {
    Golden::SetUp();
    for (wire::JobView& view : jobs_) dress(view);
    for (wire::NodeView& node : nodes_) {
      node.set_gres_used(node.name() == "c1" ? "gpu:1" : "gpu:0");
      data_context_.nodes[node.name()] = &node;
    }
    data_context_.now_us = at("07:22:28");
    data_context_.cluster = "clientsnew";
    data_context_.names = &names_;
  }

  // What only JSON shows.
  static void dress(wire::JobView& view) {
    view.set_std_in_pattern("/dev/null");
    view.set_std_out_pattern(view.std_out());
    if (view.state() == wire::PENDING) return;
    view.add_cpus_per_allocated_node(1);
    view.add_cpu_ids_per_allocated_node(view.job_id() == 92 ? "2" : view.job_id() == 93 ? "3" : "4");
    if (view.job_id() == 90) {
      view.mutable_resources()->add_gres_per_allocated_node("gpu:1(IDX:0)");
      view.set_submit_line(
          "sbatch --parsable --gres=gpu:1 -t 5 --mem 50 -o /tmp/golden.8Ni8/gpu.out --wrap env | grep -E "
          "\"CUDA|GPU|SLURM_JOB_GPUS|ROCR\" | sort; sleep 15");
      view.set_std_out("/tmp/golden.8Ni8/gpu.out");
      view.set_std_out_pattern(view.std_out());
    }
    if (view.job_id() != 86) return;
    view.set_std_out_pattern("/tmp/golden.8Ni8/g.%j.out");
    view.clear_cpus_per_allocated_node();
    view.clear_cpu_ids_per_allocated_node();
    for (int i = 0; i < 2; ++i) {
      view.add_cpus_per_allocated_node(2);
      view.add_cpu_ids_per_allocated_node("0-1");
    }
  }

  void compare_json(const std::string& name, const Data& document) {
    const std::string text = to_json(document);
    const json::value ours = json::parse(text);
    if (std::filesystem::exists(recordings() / name)) compare_values(ours, json::parse(recorded(name)), "");
    std::string kept = text;
    // Who ran the test last is nobody's business.
    for (const char* key : {"\"user\": \"", "\"group\": \""})
      if (const std::size_t where = kept.rfind(key); where != std::string::npos) {
        const std::size_t from = where + std::string_view{key}.size();
        kept.replace(from, kept.find('"', from) - from, "root");
      }
    const auto fixture = repository() / "tests/golden/cli" / name;
    if (std::getenv("MR_UPDATE_GOLDEN") != nullptr) std::ofstream(fixture) << kept;
    EXPECT_EQ(kept, slurp(fixture)) << name << ": fixture; MR_UPDATE_GOLDEN=1 writes it anew";
  }

  Data jobs_document(const std::vector<std::size_t>& which, std::vector<std::string_view> words, const char* command) {
    DataList records;
    for (const std::size_t i : which) records.push_back(job_data(jobs_[i], data_context_));
    return data_document({{"jobs", std::move(records)},
                          {"last_backfill", time_of(at("07:19:14"))},
                          {"last_update", time_of(at("07:22:28"))}},
                         {command, words, "clientsnew", "26.11.0-0rc1"});
  }

  DataContext data_context_;
};

TEST_F(GoldenData, Squeue_json) {
  compare_json("squeue-json.txt", jobs_document({3, 4, 2, 1, 5, 6, 0}, {"--json"}, "squeue"));
}

TEST_F(GoldenData, Scontrol_show_job_json) {
  compare_json("scontrol-show-job-json.txt", jobs_document({3}, {"show", "job", "86", "--json"}, "scontrol"));
}

TEST_F(GoldenData, Sinfo_json) {
  NodeListing listing;
  for (const auto& p : partitions_) listing.partitions.push_back(&p);
  for (const auto& n : nodes_) listing.nodes.push_back(&n);
  std::vector<std::string> unknown;
  const auto format = parse_long_format<NodeGroup>(sinfo_record_columns, node_columns(), unknown);
  ASSERT_TRUE(unknown.empty());
  const NodeContext context{&names_, "clientsnew"};
  DataList records;
  for (const NodeGroup& group : group_nodes(listing, format, {.exact = true}, context))
    records.push_back(node_group_data(group, data_context_));
  const std::string_view words[] = {"--json"};
  compare_json("sinfo-json.txt",
               data_document({{"sinfo", std::move(records)}}, {"sinfo", words, "clientsnew", "26.11.0-0rc1"}));
}

// A schema is made of the tables: what they promise is what comes.
TEST_F(GoldenData, Every_value_has_the_form_its_type_promises_and_stands_once) {
  wire::ReservationView reservation;
  const auto check = [](const Data& record, const std::vector<DataFieldText>& fields) {
    std::set<std::string_view> seen;
    for (const DataFieldText& field : fields) {
      EXPECT_TRUE(seen.insert(field.path).second) << field.path << " stands twice";
      const Data* value = &record;
      std::string_view rest = field.path;
      while (value != nullptr && !rest.empty()) {
        const std::size_t slash = rest.find('/');
        value = value->find(rest.substr(0, slash));
        rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
      }
      ASSERT_NE(value, nullptr) << field.path;
      EXPECT_TRUE(has_form(*value, field.type)) << field.path << " is no " << field.type;
    }
  };
  for (const wire::JobView& view : jobs_) check(job_data(view, data_context_), job_data_fields());
  check(node_data(nodes_[0], data_context_), node_data_fields());
  check(partition_data(partitions_[0], data_context_), partition_data_fields());
  check(reservation_data(reservation), reservation_data_fields());
  check(step_data(steps()[0], data_context_), step_data_fields());
  wire::Accounts accounts;
  wire::Association& root = *accounts.add_associations()->mutable_association();
  root.set_id(1);
  root.set_account("root");
  accounts.add_qos()->set_name("normal");
  const AccountBook book(accounts);
  check(association_data({&book, book.in_tree_order.at(0)}), association_data_fields());
  check(qos_data({&book, &book.answer.qos(0)}), qos_data_fields());
}

}  // namespace
}  // namespace millrace
