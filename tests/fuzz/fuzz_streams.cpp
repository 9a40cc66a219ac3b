// tests/fuzz/fuzz_streams.cpp - what a node and the srun it calls send to each other: proofs first, then streams of
// tasks.
#include <unistd.h>

#include <climits>

#include "cli/task_talk.h"
#include "step/stdio/call_talk.h"
#include "step/stdio/srun_streams.h"
#include "step/stdio/stream_call.h"
#include "target.h"

using namespace millrace;

namespace {

const std::string secret(stream_secret_min, 's');

StreamParty node_number(std::uint32_t number) { return {12, number, "n" + std::to_string(number)}; }

std::string pieces_of(std::initializer_list<std::string> messages) {
  wire::MpiPairs pairs;
  for (const std::string& each : messages) pairs.add_keys(each);
  return pairs.SerializeAsString();
}

std::string hello_of(std::uint32_t position, std::uint32_t tasks) {
  wire::FromTask message;
  message.mutable_hello()->set_node_position(position);
  message.mutable_hello()->set_first_task(position * tasks);
  message.mutable_hello()->set_tasks(tasks);
  message.mutable_hello()->set_node_name("n" + std::to_string(position));
  return message.SerializeAsString();
}

// A node that has proved who it is.
TaskTalk::Peer& call(TaskTalk& talk, std::uint32_t number) {
  TaskTalk::Peer& peer = talk.join();
  CallTalk node(secret, node_number(number));
  fuzz::must(talk.take(peer, node.opening()), "srun answers a node");
  const auto proof = node.take(std::exchange(peer.unsent, {}));
  fuzz::must(proof && *proof && talk.take(peer, **proof) && peer.proved, "who knows the secret is believed");
  return peer;
}

}  // namespace

FUZZ_SEEDS(from_task) {
  wire::FromTask output, ended, note, join, direct, abort, window;
  output.mutable_output()->set_data("one\ntwo");
  ended.mutable_ended()->set_exit_signal(11);
  ended.mutable_ended()->set_core_dumped(true);
  note.set_note("slurmstepd: error: no disk");
  join.mutable_mpi()->mutable_join()->set_exchange("e");
  join.mutable_mpi()->mutable_join()->set_members(2);
  direct.mutable_mpi()->mutable_direct()->set_node(5);
  abort.mutable_mpi()->mutable_abort()->set_exit_code(3);
  window.mutable_x11()->set_cookie("0123456789abcdef");
  wire::FromTask listed;
  listed.ParseFromString(hello_of(3, 2));
  for (const std::uint32_t rank : {4u, 9u}) listed.mutable_hello()->add_ranks(rank);
  return {pieces_of({hello_of(0, 2), hello_of(1, 2), output.SerializeAsString(), ended.SerializeAsString()}),
          pieces_of({hello_of(0, 1), hello_of(1, 1), join.SerializeAsString(), join.SerializeAsString()}),
          pieces_of({hello_of(0, 1), hello_of(5, 1), direct.SerializeAsString(), abort.SerializeAsString()}),
          pieces_of({listed.SerializeAsString(), note.SerializeAsString(), window.SerializeAsString()})};
}

FUZZ_BINARY(from_task) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 24) return;
  StreamOptions options;
  options.label = pairs.values_size() > 0;
  options.output_fd = options.error_fd = -1;  // nobody reads
  TaskTalk talk(secret, options);
  talk.want_x11();
  talk.set_task_count(4);
  talk.send_input("early");
  TaskTalk::Peer& stranger = talk.join();
  fuzz::use(talk.take(stranger, input));
  fuzz::must(!stranger.proved && !stranger.known, "a stranger stays one");
  talk.leave(stranger);
  TaskTalk::Peer* nodes[] = {&call(talk, 0), &call(talk, 1)};
  std::size_t turn = 0;
  for (const std::string& each : pairs.keys()) {
    TaskTalk::Peer*& node = nodes[turn++ % 2];
    if (node == nullptr || talk.take(*node, frame(each))) continue;
    talk.leave(*std::exchange(node, nullptr));
  }
  fuzz::must(talk.tasks_ended() <= talk.tasks_started(), "only a task that began has ended");
  fuzz::use(end_lines(talk.take_ends()));
  for (const std::string& note : talk.take_notes()) fuzz::use(note);
  for (TaskTalk::FromDisplay& one : talk.take_x11()) talk.send_x11(one.node, std::move(one.piece));
  fuzz::use(talk.tasks_by_node());
  talk.lose(talk.running());
  fuzz::must(talk.tasks_ended() == talk.tasks_started(), "what went with its node is not waited for");
}

FUZZ_SEEDS(stream_proof) {
  wire::FromTask opening, proof;
  *opening.mutable_proof() = CallerProof(secret, node_number(0), std::string(proof_nonce_size, 'n')).opening();
  proof.mutable_proof()->set_code(std::string(32, 'c'));
  wire::ToTask answer;
  answer.mutable_proof()->set_nonce(std::string(proof_nonce_size, 'm'));
  answer.mutable_proof()->set_code(std::string(32, 'c'));
  return {pieces_of({opening.SerializeAsString(), proof.SerializeAsString()}), pieces_of({answer.SerializeAsString()})};
}

FUZZ_BINARY(stream_proof) {
  fuzz::use(read_addresses(input));
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 6) return;
  TaskTalk talk(secret, {});
  talk.send_input("for the tasks");
  TaskTalk::Peer& stranger = talk.join();
  CallTalk node(secret, node_number(0)), unasked(secret, node_number(0));
  bool welcome = true, heard = true;
  fuzz::must(!unasked.take(input).value_or(std::nullopt), "bytes are no proof");
  for (const std::string& each : pairs.keys()) {
    if (welcome) welcome = talk.take(stranger, frame(each));
    fuzz::must(!stranger.proved, "who does not know the secret is not believed");
    fuzz::must(stranger.unsent.size() <= frame_header_size + proof_frame_max, "a stranger is told little");
    if (!heard) continue;
    const auto answer = node.take(frame(each));
    heard = answer.has_value();
    fuzz::must(!heard || !*answer, "a node proves nothing to a stranger");
  }
}

FUZZ_SEEDS(to_task) {
  wire::ToTask input, one, ended, signal, window, mpi, x11;
  input.set_input("line\n");
  one.set_input("for one");
  one.set_input_task(1);
  ended.set_input_ended(true);
  signal.set_signal(15);
  window.mutable_window()->set_rows(24);
  mpi.mutable_mpi()->mutable_part()->set_exchange("e");
  x11.mutable_x11()->set_data("l");
  return {pieces_of({input.SerializeAsString(), one.SerializeAsString(), ended.SerializeAsString()}),
          pieces_of({signal.SerializeAsString(), window.SerializeAsString()}),
          pieces_of({mpi.SerializeAsString(), x11.SerializeAsString()})};
}

FUZZ_BINARY(to_task) {
  wire::MpiPairs pairs;
  if (!pairs.ParseFromArray(input.data(), static_cast<int>(input.size())) || pairs.keys_size() > 24) return;
  SrunStreams streams;
  TaskSpec tasks[2];
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tasks[rank].out.path = tasks[rank].err.path = "/dev/null";  // only their input is ours
    if (!streams.prepare_task(rank, tasks[rank])) return;
  }
  std::string for_second;
  bool any_ended = false, second_ended = false;
  for (const std::string& each : pairs.keys()) {
    wire::ToTask message;
    const bool good = message.ParseFromString(each);
    const bool attached = pairs.values_size() > 0;
    fuzz::must((attached ? streams.hear_attached(each) : streams.hear(each)) == good, "what is no message ends it");
    if (!good) break;
    fuzz::use(streams.take_signals());
    fuzz::use(streams.take_mpi());
    fuzz::use(streams.take_x11());
    any_ended = any_ended || (message.has_input_ended() && !attached);
    const bool for_streams = attached ? message.has_input() : !message.has_mpi() && !message.has_x11();
    if (!for_streams || (message.has_input_task() && message.input_task() != 1)) continue;
    if (!second_ended) for_second += message.input();
    second_ended = any_ended;
  }
  std::string came(PIPE_BUF + for_second.size(), '\0');
  streams.give_up();
  const ssize_t got = for_second.empty() ? 0 : read(tasks[1].in.fd, came.data(), came.size());
  came.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  fuzz::must(came == for_second, "a task gets its input whole and in order");
  for (const TaskSpec& task : tasks) streams.task_started(task);
}
