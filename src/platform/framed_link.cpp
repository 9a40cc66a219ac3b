// src/platform/framed_link.cpp - see framed_link.h.
#include "platform/framed_link.h"

#include <array>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "platform/event_loop.h"

namespace millrace {

namespace {

constexpr std::size_t read_size = 64u << 10;
constexpr int reads_per_turn = 8;  // then others get their turn
constexpr std::size_t compact_above = 1u << 20;

}  // namespace

// Lives as long as somebody is inside one of its functions, so that a handler may destroy the link from within a call.
struct FramedLink::Inner : std::enable_shared_from_this<Inner> {
  enum class Phase : std::uint8_t { waiting, connecting, open, leaving, closed };

  Inner(EventLoop& l, LinkLimits m, std::unique_ptr<StreamFilter> f, Peer p)
      : loop(l), limits(m), filter(std::move(f)), reader(m.receive_max), peer(std::move(p)) {}

  EventLoop& loop;
  const LinkLimits limits;
  std::unique_ptr<StreamFilter> filter;
  FrameReader reader;
  Peer peer;
  Phase phase = Phase::waiting;
  Descriptor socket;
  std::optional<DescriptorWatch> watch;  // after the socket: ends before it
  std::shared_ptr<LinkPlace> place;
  LinkHandler* handler = nullptr;
  Task established;
  std::vector<SocketAddress> addresses;  // not tried yet
  std::string last_problem;
  Loop::TimerId guard = 0;          // of the opening, the first message and the farewell
  Loop::TimerId message_guard = 0;  // of a message that has begun
  Loop::TimerId write_guard = 0;    // while the peer takes nothing
  bool progress = false;            // since write_guard was set
  bool backlog = false;             // messages that are here get their turn
  bool backlog_held = false;        // until the peer has read, or the owner lets us
  bool reading_held = false;        // the same, of what has not come yet
  bool owner_holds = false;
  std::string plain;  // frames the filter has not taken yet
  std::string out;    // bytes for the socket, from out_begin on
  std::size_t out_begin = 0;
  std::size_t undelivered = 0;  // bytes of a message that has begun and not ended
  std::size_t wished_below = 0;
  Task wish;  // when fewer than so many bytes are unsent
  bool flush_posted = false;
  bool started = false, greeted = false, heard = false, we_connected = false;

  std::size_t unsent() const { return plain.size() + out.size() - out_begin; }
  bool held() const { return owner_holds || unsent() >= limits.read_while_unsent_below; }
  bool ready() const { return phase == Phase::open && (!filter || filter->established()); }

  void adopt(Descriptor fresh) {
    watch.reset();
    socket = std::move(fresh);
    watch.emplace(loop, socket.get(), [this] { readable(); }, [this] { writable(); });
  }

  void set_guard(Duration delay, void (Inner::*late)()) {
    loop.cancel(std::exchange(guard, 0));
    guard = loop.after(delay, [weak = weak_from_this(), late] {
      if (const auto self = weak.lock()) (self.get()->*late)();
    });
  }

  void shut() {
    phase = Phase::closed;
    for (Loop::TimerId* timer : {&guard, &message_guard, &write_guard}) loop.cancel(std::exchange(*timer, 0));
    watch.reset();
    socket.reset();
    place.reset();
    std::string{}.swap(plain);
    std::string{}.swap(out);
    out_begin = 0;
    wish = nullptr;
  }

  // The end that the owner hears of.
  void end(std::string_view why) {
    if (phase == Phase::closed) return;
    const auto self = shared_from_this();
    const std::string story = peer.address + ": " + std::string{why};
    shut();
    established = nullptr;
    if (LinkHandler* listener = std::exchange(handler, nullptr)) listener->closed(story);
  }

  // --- opening ---------------------------------------------------------------------------------------------------
  void connect_next() {
    while (!addresses.empty()) {
      const SocketAddress address = addresses.front();
      addresses.erase(addresses.begin());
      auto fresh = connect_begin(address);
      if (!fresh) {
        last_problem = fresh.error().story;
        continue;
      }
      phase = Phase::connecting;
      last_problem = "connect to " + address.text();
      adopt(*std::move(fresh));
      set_guard(limits.connect_time_max, &Inner::connect_late);
      watch->want_writable();
      return;
    }
    end(last_problem.empty() ? "no address to connect to" : last_problem);
  }
  void resolve_late() { end("the name service does not answer"); }
  void connect_late() {
    last_problem += ": no answer within " + std::to_string(limits.connect_time_max.value / 1'000'000) + " s";
    connect_next();
  }
  void connected() {
    if (const int error = connect_outcome(socket); error != 0) {
      last_problem += ": " + errno_text(error);
      return connect_next();
    }
    open();
  }

  void open() {
    const auto self = shared_from_this();
    phase = Phase::open;
    // A peer that connects and then says nothing, or one byte a minute, must not hold a place.
    guard_silence();
    watch->want_readable();
    greet();
    if (phase == Phase::open) flush();
  }
  void guard_silence() {
    if (!owner_holds) set_guard(limits.first_message_time_max, &Inner::silent);
  }
  void silent() { end(ready() ? "no message within the time for a first one" : "no handshake within its time"); }

  void greet() {
    if (greeted || !ready()) return;
    greeted = true;
    if (filter) peer.identity = filter->identity();
    if (we_connected) loop.cancel(std::exchange(guard, 0));
    if (Task tell = std::exchange(established, nullptr)) {
      handler = nullptr;
      tell();
    }
  }

  // --- reading ---------------------------------------------------------------------------------------------------
  void readable() {
    const auto self = shared_from_this();
    static thread_local std::array<char, read_size> buffer;
    for (int turn = 0; turn < reads_per_turn && phase == Phase::open && !backlog && !owner_holds; ++turn) {
      const ssize_t count = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return end("read: " + errno_text(errno));
      if (count == 0) return end(undelivered > 0 ? "connection ended inside a message" : "connection closed by peer");
      take({buffer.data(), static_cast<std::size_t>(count)});
      if (static_cast<std::size_t>(count) < buffer.size()) break;
    }
    read_on();
  }

  void read_on() {
    if (phase != Phase::open || backlog) return;
    reading_held = held();
    if (!reading_held) watch->want_readable();
  }

  void take(std::string_view bytes) {
    if (!filter) return deliver(bytes);
    std::string decoded;
    const auto outcome = filter->received(bytes, decoded);
    out += filter->take_output();
    if (!outcome) {
      flush_socket();  // the reason, for the peer's log
      if (phase == Phase::open) end(outcome.error().story);
      return;
    }
    greet();
    if (phase != Phase::open) return;
    if (unsent() > 0) flush();
    if (!decoded.empty()) deliver(decoded);
  }

  void deliver(std::string_view bytes) {
    reader.feed(bytes);
    undelivered += bytes.size();
    if (!backlog) deliver_one();
    if (phase == Phase::open && !account()) end_full();
  }

  // One message a turn of the loop: a peer that has sent many does not keep others waiting.
  void deliver_one() {
    const auto self = shared_from_this();
    const auto message = reader.next();
    if (!message) return end(message.error().story);
    if (!*message) return guard_message();
    undelivered -= frame_header_size + (*message)->size();
    if (!std::exchange(heard, true)) loop.cancel(std::exchange(guard, 0));
    loop.cancel(std::exchange(message_guard, 0));
    if (handler) handler->message(**message);
    if (phase != Phase::open) return;
    reader.forget_taken();
    if (undelivered == 0) return;
    backlog = true;
    go_on_with_backlog();
  }

  // What is here of a peer that does not read its answers waits, too: each message may cost us a large one.
  void go_on_with_backlog() {
    backlog_held = held();
    if (backlog_held) return;
    loop.post([weak = weak_from_this()] {
      const auto inner = weak.lock();
      if (!inner || inner->phase != Phase::open) return;
      inner->backlog_held = inner->owner_holds;  // since then
      if (inner->backlog_held) return;
      inner->backlog = false;
      inner->deliver_one();
      (void)inner->account();
      inner->read_on();
    });
  }

  void guard_message() {
    if (undelivered == 0 || message_guard != 0 || !heard || owner_holds)
      return;  // the first one has a guard of its own
    message_guard = loop.after(limits.message_time_max, [weak = weak_from_this()] {
      const auto inner = weak.lock();
      if (!inner) return;
      inner->message_guard = 0;
      inner->end("a message began and did not end within its time");
    });
  }

  void hold(bool now) {
    if (std::exchange(owner_holds, now) == now || phase != Phase::open) return;
    if (now) {
      loop.cancel(std::exchange(message_guard, 0));
      if (!heard && !we_connected) loop.cancel(std::exchange(guard, 0));
      return;
    }
    if (!heard && !we_connected) guard_silence();
    guard_message();
    if (backlog_held) go_on_with_backlog();
    if (reading_held) read_on();
  }

  bool account() { return !place || place->holds(reader.buffered() + unsent()); }
  // Its peer is told why, unless that would come in the middle of something else.
  void end_full() {
    const std::string word = !filter && unsent() == 0 ? place->last_word() : std::string{};
    if (!word.empty()) (void)::send(socket.get(), frame(word).data(), frame_header_size + word.size(), MSG_NOSIGNAL);
    end("too many bytes of this user wait");
  }

  // --- writing ---------------------------------------------------------------------------------------------------
  void send(std::string_view message) {
    if (phase == Phase::closed || phase == Phase::leaving) return;
    if (message.size() > limits.send_max)
      return end_later("message of " + std::to_string(message.size()) + " bytes is over the limit of " +
                       std::to_string(limits.send_max));
    if (unsent() + message.size() > limits.unsent_max)
      return end_later("peer does not read: " + std::to_string(unsent()) + " bytes wait for it");
    std::string& buffer = filter || phase != Phase::open ? plain : out;
    if (buffer.empty())
      buffer = frame(message);
    else
      buffer += frame(message);
    if (!account()) return end_later("peer does not read: too many bytes of its user wait");
    post_flush();
  }

  void post_flush() {
    if (std::exchange(flush_posted, true)) return;
    // One write for everything that is sent in this turn of the loop.
    loop.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->flush_posted = false;
      self->flush();
    });
  }

  // send() must not call closed(): its caller is in the middle of something.
  void end_later(std::string why) {
    loop.post([weak = weak_from_this(), why = std::move(why)] {
      if (const auto self = weak.lock()) self->end(why);
    });
  }

  void flush() {
    if (phase != Phase::open && phase != Phase::leaving) return;
    if (!filter) {
      out += plain;  // what was sent before the connection stood
      plain.clear();
    } else if (filter->established() && !plain.empty()) {
      const auto outcome = filter->send(plain);
      plain.clear();
      out += filter->take_output();
      if (!outcome) return end(outcome.error().story);
    } else {
      out += filter->take_output();
    }
    flush_socket();
  }

  void flush_socket() {
    while (out_begin < out.size()) {
      const ssize_t count = ::send(socket.get(), out.data() + out_begin, out.size() - out_begin, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        watch->want_writable();
        guard_writing();
        break;
      }
      if (count < 0) return broken_pipe(errno);
      out_begin += static_cast<std::size_t>(count);
      progress = true;
    }
    if (out_begin == out.size() || out_begin > compact_above) {
      out.erase(0, out_begin);
      out_begin = 0;
      if (out.empty() && out.capacity() > compact_above) out.shrink_to_fit();
    }
    if (unsent() == 0) loop.cancel(std::exchange(write_guard, 0));
    if (phase == Phase::open) (void)account();
    grant_wish();
    if (backlog_held) go_on_with_backlog();
    if (reading_held) read_on();
    if (phase == Phase::leaving && unsent() == 0) shut();
  }

  void guard_writing() {
    if (write_guard != 0 || phase != Phase::open) return;
    progress = false;
    write_guard = loop.after(limits.unread_time_max, [weak = weak_from_this()] {
      const auto inner = weak.lock();
      if (!inner) return;
      inner->write_guard = 0;
      if (!inner->progress) return inner->end("peer does not read");
      inner->guard_writing();
    });
  }

  void grant_wish() {
    if (wish && unsent() < wished_below) loop.post(std::exchange(wish, nullptr));
  }

  // The peer may have said why before it went: what it sent is read first, and the end of the stream ends the link. A
  // client has nothing more to say that anybody could answer.
  void broken_pipe(int error) {
    if (phase == Phase::leaving) return shut();
    if (limits.read_while_unsent_below != SIZE_MAX) return end("connection closed by peer, which left answers unread");
    out.clear();
    out_begin = 0;
    if (error != EPIPE && error != ECONNRESET) return end("write: " + errno_text(error));
    watch->want_readable();
  }

  void writable() {
    const auto self = shared_from_this();
    if (phase == Phase::connecting) return connected();
    flush();
  }

  void leave() {
    handler = nullptr;
    established = nullptr;
    wish = nullptr;
    if (phase == Phase::closed || phase == Phase::leaving) return;
    if (!ready()) return shut();
    loop.cancel(std::exchange(guard, 0));
    if (filter) {
      if (!plain.empty()) (void)filter->send(plain);  // a failure has nobody left to hear of it
      plain.clear();
      filter->finish();
      out += filter->take_output();
    }
    phase = Phase::leaving;
    flush();
    if (phase != Phase::leaving) return;
    // Nobody owns us any more but this timer; the peer gets its answer if it takes it in time.
    guard = loop.after(limits.farewell_time_max, [self = shared_from_this()] { self->shut(); });
  }
};

FramedLink::FramedLink(EventLoop& loop, Descriptor socket, Peer peer, LinkLimits limits,
                       std::unique_ptr<StreamFilter> filter, std::shared_ptr<LinkPlace> place)
    : inner_(std::make_shared<Inner>(loop, limits, std::move(filter), std::move(peer))) {
  inner_->place = std::move(place);
  inner_->adopt(std::move(socket));
}

FramedLink::FramedLink(EventLoop& loop, std::string name, LinkLimits limits, std::unique_ptr<StreamFilter> filter)
    : inner_(std::make_shared<Inner>(loop, limits, std::move(filter), Peer{std::move(name), {}, {}})) {
  inner_->we_connected = true;
}

FramedLink::~FramedLink() { inner_->leave(); }

void FramedLink::start(LinkHandler& handler, Task established) {
  inner_->handler = &handler;
  inner_->established = std::move(established);
  if (inner_->socket && !std::exchange(inner_->started, true)) inner_->open();
}

void FramedLink::connect(Worker& resolver, std::string host, std::uint16_t port) {
  if (auto addresses = parse_address(host, port); !addresses.empty()) return connect(std::move(addresses));
  using Found = Result<std::vector<SocketAddress>>;
  const auto found = std::make_shared<Found>(std::vector<SocketAddress>{});
  inner_->set_guard(inner_->limits.connect_time_max, &Inner::resolve_late);
  resolver.run([found, host = std::move(host), port] { *found = resolve(host, port); },
               [found, weak = inner_->weak_from_this()] {
                 const auto self = weak.lock();
                 if (!self || self->phase != Inner::Phase::waiting) return;
                 if (!*found) return self->end(found->error().story);
                 self->addresses = *std::move(*found);
                 self->connect_next();
               });
}

void FramedLink::connect(std::vector<SocketAddress> addresses) {
  MR_ASSERT(inner_->phase == Inner::Phase::waiting);
  inner_->addresses = std::move(addresses);
  // Even a failure known at once is told later: the caller of dial() does not have its link yet.
  inner_->loop.post([weak = inner_->weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->phase == Inner::Phase::waiting) self->connect_next();
  });
}

void FramedLink::fail_later(std::string why) { inner_->end_later(std::move(why)); }

const Peer& FramedLink::peer() const { return inner_->peer; }

void FramedLink::send(std::string bytes) { inner_->send(bytes); }

void FramedLink::close() { inner_->leave(); }

std::size_t FramedLink::unsent() const { return inner_->unsent(); }

void FramedLink::hold(bool held) { inner_->hold(held); }

void FramedLink::when_unsent_below(std::size_t bytes, Task then) {
  if (inner_->phase == Inner::Phase::closed) return;
  inner_->wished_below = bytes;
  inner_->wish = std::move(then);
  inner_->grant_wish();
}

}  // namespace millrace
