// src/controller/requests/sessions.cpp - see sessions.h.
#include "controller/requests/sessions.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "wire/frame.h"
#include "wire/reply_parts.h"
#include "wire/request_limits.h"

namespace millrace {

constexpr std::uint32_t connect_failure_code = 1800;  // Slurm's number
constexpr std::size_t almost_read = 256u << 10;       // so little unsent keeps a client busy while the next is made

class Sessions::Session final : public LinkHandler {
 public:
  Session(Sessions& sessions, Asker asker, std::unique_ptr<Link> link, bool relayed)
      : sessions_(sessions), asker_(asker), link_(std::move(link)), relayed_(relayed) {}
  ~Session() override {
    for (const ReplyCutter& reply : outgoing_) count_unread(-static_cast<std::ptrdiff_t>(reply.left()));
    while (!unanswered_.empty()) answered(unanswered_.begin()->first);
  }
  void message(std::string_view bytes) override { sessions_.received(asker_.client, bytes); }
  void closed(std::string_view) override { sessions_.left(asker_.client); }

  // Answers leave as fast as the client reads: what it has not read waits here, once, and not in its link as well.
  void answer(std::string reply) {
    const ReplyHead head = head_of_reply(reply);
    if (!head.more) answered(head.number);
    outgoing_.emplace_back(std::move(reply));
    count_unread(static_cast<std::ptrdiff_t>(outgoing_.back().left()));
    send_on();
  }
  void when_read(Task then) {
    wish_ = std::move(then);
    send_on();
  }
  // srun asks again and again for a step that waits for room; only the last time counts.
  void forget_earlier(const std::string& step) {
    std::vector<std::uint64_t> earlier;
    for (const auto& [number, open] : unanswered_)
      if (!step.empty() && open.step == step && open.waiting) earlier.push_back(number);
    for (const std::uint64_t number : earlier) answered(number);
  }
  void asks(std::uint64_t number, std::size_t bytes, std::string step) {
    unanswered_.emplace(number, Open{bytes, std::move(step)});
    Unanswered& all = sessions_.unanswered_[asker_.uid];
    ++all.requests;
    all.bytes += bytes;
  }
  void waits(std::uint64_t number) {
    const auto it = unanswered_.find(number);
    if (it == unanswered_.end() || std::exchange(it->second.waiting, true)) return;
    Unanswered& all = sessions_.unanswered_[asker_.uid];
    all.bytes -= std::exchange(it->second.bytes, 0);
    --all.requests;
    ++all.waiting;
  }
  bool is_idle() const { return unanswered_.empty() && outgoing_.empty() && !relayed_; }

  Sessions& sessions_;
  Asker asker_;
  std::unique_ptr<Link> link_;
  Judge judge_;  // of a relayed client
  struct Open {
    std::size_t bytes = 0;
    std::string step{};    // that it asks for
    bool waiting = false;  // see Clients::waits()
  };
  std::map<std::uint64_t, Open> unanswered_;  // by number: requests whose last reply has not been made
  int idle_sweeps_ = 0;

 private:
  void send_on() {
    const Sessions& sessions = sessions_;
    const ClientId client = asker_.client;
    while (!outgoing_.empty()) {
      if (link_->unsent() >= almost_read) return wait_for_reader();
      const std::size_t before = outgoing_.front().left();
      std::string bytes = outgoing_.front().next();
      count_unread(static_cast<std::ptrdiff_t>(outgoing_.front().left()) - static_cast<std::ptrdiff_t>(before));
      if (outgoing_.front().done()) outgoing_.pop_front();
      link_->send(std::move(bytes));
      if (!sessions.sessions_.contains(client)) return;  // its relay turned out to be gone, and this session with it
    }
    if (!wish_) return;
    if (link_->unsent() >= almost_read) return wait_for_reader();
    if (Task then = std::exchange(wish_, nullptr)) then();
  }
  void wait_for_reader() {
    // By number: the session may have ended when this runs.
    link_->when_unsent_below(almost_read, [&sessions = sessions_, client = asker_.client] {
      if (const auto it = sessions.sessions_.find(client); it != sessions.sessions_.end()) it->second->send_on();
    });
  }
  void answered(std::uint64_t number) {
    const auto it = unanswered_.find(number);
    if (it == unanswered_.end()) return;
    const auto all = sessions_.unanswered_.find(asker_.uid);
    all->second.bytes -= it->second.bytes;
    --(it->second.waiting ? all->second.waiting : all->second.requests);
    if (all->second.requests + all->second.waiting == 0) sessions_.unanswered_.erase(all);
    unanswered_.erase(it);
  }
  void count_unread(std::ptrdiff_t change) {
    const auto it = sessions_.unread_.try_emplace(asker_.uid, 0).first;
    it->second += static_cast<std::size_t>(change);
    if (it->second == 0) sessions_.unread_.erase(it);
  }

  const bool relayed_;
  std::deque<ReplyCutter> outgoing_;
  Task wish_;  // when everything is read
};

Sessions::Sessions(SessionLimits limits) : limits_(limits) {}
Sessions::~Sessions() = default;

ClientId Sessions::accept(std::unique_ptr<Link> link, UserId uid, GroupId gid) {
  const ClientId client = next_++;
  sessions_.emplace(client, std::make_unique<Session>(*this, Asker{client, uid, gid}, std::move(link), false));
  return client;
}

LinkHandler& Sessions::handler(ClientId client) { return *sessions_.at(client); }

ClientId Sessions::accept_relayed(UserId uid, GroupId gid, std::unique_ptr<Link> path, Judge judge,
                                  std::optional<std::uint64_t> relay) {
  const ClientId client = next_++;
  auto session = std::make_unique<Session>(*this, Asker{client, uid, gid, relay.has_value(), relay.value_or(0)},
                                           std::move(path), true);
  session->judge_ = std::move(judge);
  sessions_.emplace(client, std::move(session));
  return client;
}

ClientId Sessions::accept_relayed(UserId uid, GroupId gid, std::move_only_function<void(std::string)> send) {
  return accept_relayed(uid, gid, std::make_unique<RelayedPath>(std::move(send)));
}

void Sessions::relayed_message(ClientId client, std::string_view bytes) { received(client, bytes); }
void Sessions::relayed_closed(ClientId client) { left(client); }

void Sessions::refuse(ClientId client, std::uint64_t number, std::uint32_t code, const char* text, std::string note) {
  wire::Reply out;
  out.set_number(number);
  out.mutable_failure()->set_code(code);
  out.mutable_failure()->set_text(text);
  if (!note.empty()) out.mutable_failure()->add_notes(std::move(note));
  reply(client, out);
}

// Which step it wants: the same however often it asks, by the secret that srun made for it.
static std::string step_in(const wire::Request& request) {
  if (request.create_step().step().stdio().secret().empty()) return {};
  const wire::CreateStep& ask = request.create_step();
  return std::to_string(ask.job_id()) + "+" + std::to_string(ask.component()) + " " + ask.step().stdio().secret();
}

void Sessions::received(ClientId client, std::string_view bytes) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return;
  it->second->idle_sweeps_ = 0;
  // Before it is read: lists that are too long never become objects.
  if (auto problem = over_limit(bytes)) {
    if (has_number_twice(client, number_of_request(bytes))) return;
    return refuse(client, number_of_request(bytes), too_long_code, too_long_text, *std::move(problem));
  }
  wire::Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    refuse(client, 0, 1802, "Unable to contact slurm controller (receive failure)", "the request could not be read");
    return left(client);
  }
  if (has_number_twice(client, request.number())) return;
  if (request.protocol() != protocol_version)
    return refuse(client, request.number(), 1005, "Incompatible versions of client and server code", {});
  if (is_for_another(client, request)) return;
  std::string step = step_in(request);
  it->second->forget_earlier(step);
  // As long as it waits, it is kept.
  const std::size_t memory = memory_of_request(bytes);
  if (std::string why = too_many(*it->second, request, memory); !why.empty())
    return refuse(client, request.number(), 2037, "Requested operation is presently disabled", std::move(why));
  if (it->second->judge_)
    if (auto why = it->second->judge_(request))
      return refuse(client, request.number(), 2002, "Access/permission denied", *std::move(why));
  if (!controller_) return;
  it->second->asks(request.number(), memory, std::move(step));
  const Asker asker = it->second->asker_;  // a copy: handling may end the session
  controller_->request(asker, std::move(request));
}

std::string Sessions::too_many(const Session& session, const wire::Request& request, std::size_t bytes) const {
  if (session.unanswered_.size() >= limits_.unanswered_max)
    return "too many unanswered requests on one connection (" + std::to_string(limits_.unanswered_max) + ")";
  const auto it = unanswered_.find(session.asker_.uid);
  if (it == unanswered_.end() || is_privileged_(session.asker_.uid)) return {};
  if (it->second.waiting >= limits_.waiting_per_user_max && (request.has_wait_job() || request.has_create_step()))
    return "too many requests of this user wait for jobs and steps (" + std::to_string(limits_.waiting_per_user_max) +
           ")";
  if (it->second.requests >= limits_.unanswered_per_user_max)
    return "too many unanswered requests of this user (" + std::to_string(limits_.unanswered_per_user_max) +
           "); ask again when some of them have been answered";
  if (it->second.bytes + bytes > limits_.unanswered_bytes_per_user_max)
    return "the unanswered requests of this user take " + std::to_string(it->second.bytes) +
           " bytes; ask again when some of them have been answered";
  return {};
}

// Asked before anything is refused: a refusal would count as the answer to the request that waits.
bool Sessions::has_number_twice(ClientId client, std::uint64_t number) {
  if (!sessions_.at(client)->unanswered_.contains(number)) return false;
  refuse(client, number, 2037, "Requested operation is presently disabled",
         "a request of this number has not been answered yet");
  left(client);
  return true;
}

void Sessions::set_cluster(std::string name, std::uint16_t port) {
  if (cluster_.empty()) cluster_ = std::move(name);  // which takes a restart to change
  if (std::ranges::find(ports_, port) == ports_.end()) ports_.push_back(port);
}

// Two clusters of one machine may share a socket's path, by mistake or one after the other.
bool Sessions::is_for_another(ClientId client, const wire::Request& request) {
  if (cluster_.empty() || request.cluster().empty()) return false;
  // With another port the file may be newer than what we have read of it: then reading it again must be possible.
  const bool known_port = std::ranges::find(ports_, request.controller_port()) != ports_.end();
  if (request.cluster() == cluster_ && (known_port || request.has_reconfigure())) return false;
  wire::Reply out;
  out.set_number(request.number());
  out.set_other_cluster("cluster '" + cluster_ + "' with SlurmctldPort=" + std::to_string(ports_.back()));
  out.mutable_failure()->set_code(connect_failure_code);
  out.mutable_failure()->set_text("Unable to contact slurm controller (connect failure)");
  reply(client, out);
  return true;
}

void Sessions::left(ClientId client) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return;
  // Removed from the table first: what the controller does now must not find it.
  const std::unique_ptr<Session> gone = std::move(it->second);
  sessions_.erase(it);
  if (controller_) controller_->client_left(client);
}

void Sessions::sweep() {
  std::vector<ClientId> idle;
  for (auto& [client, session] : sessions_) {
    session->idle_sweeps_ = session->is_idle() ? session->idle_sweeps_ + 1 : 0;
    if (session->idle_sweeps_ > limits_.idle_sweeps_max) idle.push_back(client);
  }
  for (const ClientId client : idle) left(client);
}

void Sessions::reply(ClientId client, const wire::Reply& reply) { reply_encoded(client, reply.SerializeAsString()); }

void Sessions::reply_encoded(ClientId client, std::string reply) {
  const auto it = sessions_.find(client);
  if (it == sessions_.end()) return;
  const Asker& asker = it->second->asker_;
  // The first answer that waits may be of any size. What comes on top of it is bounded, over all of a user's clients.
  const auto unread = unread_.find(asker.uid);
  if (unread != unread_.end() && reply.size() > 4096 &&
      unread->second + reply.size() > limits_.unread_bytes_per_user_max && !is_privileged_(asker.uid)) {
    wire::Reply instead;
    instead.set_number(head_of_reply(reply).number);
    instead.mutable_failure()->set_code(2037);
    instead.mutable_failure()->set_text("answers of " + std::to_string(unread->second) +
                                        " bytes to this user have not been read; read them, or close connections");
    reply = instead.SerializeAsString();
  }
  it->second->answer(std::move(reply));
}

void Sessions::waits(ClientId client, std::uint64_t number) {
  const auto it = sessions_.find(client);
  if (it != sessions_.end()) it->second->waits(number);
}

void Sessions::when_read(ClientId client, Task then) {
  const auto it = sessions_.find(client);
  if (it != sessions_.end()) it->second->when_read(std::move(then));
}

}  // namespace millrace
