// src/core/planner/shape.h - equal requests treated once: what a job asks for, apart from whose it is and how long it
// runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ledger/state.h"
#include "core/model/node_fit.h"
#include "core/planner/arrange.h"

namespace millrace {

// Nodes that are alike in everything a request can ask about; their number is small however many nodes there are.
class NodeClasses {
 public:
  std::uint32_t class_of(const NodeDef& def);
  const NodeDef& sample(std::uint32_t index) const { return *samples_[index]; }
  std::size_t size() const { return samples_.size(); }

 private:
  std::map<std::string, std::uint32_t> known_;
  std::vector<SharedValue<NodeDef>> samples_;
};

// What a node of one class must have free to be of any use to a shape.
struct Unit {
  bool possible = false;
  bool exact = false;  // enough by itself; otherwise task_capacity has the last word
  Amounts least;
};

struct Shape {
  SharedValue<JobSpec> spec;
  PartitionIndex partition;
  std::vector<std::uint32_t> nodes;  // the order in which nodes are tried, when it is not the partition's
  bool own_nodes = false;
  std::size_t required = 0;       // so many of the first must all be used
  std::uint32_t node_set = 0;     // shapes that wait for the same nodes have the same number
  std::vector<Unit> units;        // by node class
  std::uint32_t nodes_least = 1;  // no fewer can hold it
  std::uint32_t tasks_least = 1;  // and each of them at least so many tasks

  bool single = false;  // one node takes all of it
  Wishes wishes;
  bool minds = false;  // which nodes it gets together
  bool exact = false;  // counts are not enough: the very devices and sockets decide
  bool exclusive_user = false;
  bool capped = false;        // its partition has only so many CPUs of each node
  bool alone = false;         // what failed for one job says nothing about the next of this shape
  bool any_switches = false;  // of the job that is tried: it has waited long enough for its switches
  ReservationId reservation;  // 0: none; its nodes are the only ones
  Time window_start,
      window_end = never;  // of that reservation: its jobs start within, and whatever their limits, they end with it
  Duration opens_for{INT64_MAX};  // its jobs may have the reservation's nodes when they are no longer than this

  // Of the last try that failed, in this pass or an earlier one: the span that found no room (0: no span would), the
  // moment (Timeline::improvements), and the promises ahead that stood in the way (a digest of them; 0: none did).
  Duration failed_span{INT64_MAX};
  std::size_t failed_at = SIZE_MAX;
  std::uint64_t failed_behind = 0;
  std::size_t failed_found = SIZE_MAX;  // nodes that had room for a part of it; SIZE_MAX: not counted

  // Of this pass alone; amounts only shrink while it runs.
  std::uint64_t pass = 0;
  std::size_t cursor = 0;        // nodes before it have too little free
  Duration searched{INT64_MAX};  // a job of this span or longer cannot start before `search_from`
  Time search_from;
  Duration hopeless{INT64_MAX};  // a job of this span or longer has no room even when everything has ended
};

// How long a job of this shape would run that starts at the earliest possible moment from `at` on.
inline Duration span_within(const Shape& shape, Time at, Duration span) {
  return shape.window_end == never ? span : std::min(span, shape.window_end - std::max(at, shape.window_start));
}

// The same request on at least so many nodes. Where the number of tasks was not asked for it follows the nodes.
Shape wider(const State& state, const NodeClasses& classes, const Shape& shape, std::uint32_t nodes);

class Shapes {
 public:
  // The shape of this request in this partition; `classes` may have grown since.
  std::uint32_t shape_of(const State& state, const SharedValue<JobSpec>& spec, PartitionIndex partition,
                         NodeClasses& classes);
  Shape& at(std::uint32_t index) { return shapes_[index]; }
  // A job of this shape and span or a longer one cannot start in this pass any more; kept apart, because every waiting
  // job asks.
  Duration& failed(std::uint32_t index) { return failed_[index]; }
  void begin_pass() { failed_.assign(shapes_.size(), Duration{INT64_MAX}); }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::map<std::string, std::uint32_t> known_;
  std::map<std::string, std::uint32_t> node_sets_;
  std::vector<Shape> shapes_;
  std::vector<Duration> failed_;
};

}  // namespace millrace
