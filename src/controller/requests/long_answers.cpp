// src/controller/requests/long_answers.cpp - see long_answers.h.
#include "controller/requests/long_answers.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace millrace {
namespace {

// So many finished rounds of one question are kept for readers that do not read; then the oldest is left to the limits
// of their links.
constexpr std::size_t unread_rounds_max = 8;
// So many are a crowd. The next round for one begins after a pause of so many times what the last round took.
constexpr std::size_t crowd = 8;
constexpr std::int64_t pause_factor = 4;
constexpr Duration pause_max = seconds(1);
// So many rounds of questions one user has made at a time.
constexpr std::size_t made_at_once_max = 16;

struct Reader {
  ClientId client = 0;
  Turn user;
  std::uint64_t number = 0;  // of its request
  std::size_t next = 0;      // part it gets next
  bool reads = false;        // still what it was sent before
};

// One making of an answer and those who get it.
struct Round {
  std::string question;
  Turn user;  // who began it
  LongAnswers::Begin begin;
  std::shared_ptr<RowWalk> walk;  // set while it is made
  std::vector<Reader> readers;
  std::vector<std::shared_ptr<const std::string>> parts;  // null: everybody has it
  Time began;
  bool working = false;   // the worker makes the next part
  bool complete = false;  // every part is made
  bool giving = false;    // somewhere up the stack
  bool hurried = false;   // parts go to the links whether they are read or not
};

}  // namespace

struct LongAnswers::Inner : std::enable_shared_from_this<Inner> {
  Inner(Loop& l, FairWorker& w, Clients& c) : loop(l), worker(w), clients(c) {}

  struct Rounds {
    std::shared_ptr<Round> made_now, next;
    std::vector<std::shared_ptr<Round>> unread;  // complete, oldest first
  };
  Loop& loop;
  // Of one user: rounds in the making, and others that wait for one of them to be complete.
  struct Making {
    std::size_t count = 0;
    std::deque<std::shared_ptr<Round>> held;
  };
  FairWorker& worker;
  Clients& clients;
  std::map<std::string, Rounds> rounds;
  std::map<Turn, Making> makings;

  void start(const std::shared_ptr<Round>& round) {
    // In the name of anybody who waits for it: nobody is held up by what another has asked.
    for (const Reader& reader : round->readers)
      if (makings[reader.user].count < made_at_once_max) {
        round->user = reader.user;
        ++makings[reader.user].count;
        return begin(round);
      }
    makings[round->user].held.push_back(round);
  }

  // One more waits for a round that has not begun.
  void join(const std::shared_ptr<Round>& round, Reader reader) {
    round->readers.push_back(reader);
    std::erase(makings[round->user].held, round);
    start(round);
  }

  void begin(const std::shared_ptr<Round>& round) {
    round->began = loop.steady();
    round->walk = round->begin();
    round->begin = nullptr;
    make_part(round);
  }

  void make_part(const std::shared_ptr<Round>& round) {
    struct Part {
      std::string bytes;
      bool more = true;
    };
    if (round->working || round->complete || !round->walk) return;
    round->working = true;
    worker.ask(least_busy(*round), 0, [weak = weak_from_this(), round] {
      const auto part = std::make_shared<Part>();
      return FairWorker::Piece{[walk = round->walk, part] { part->more = walk->advance(part->bytes); },
                               [weak, round, part] {
                                 if (const auto self = weak.lock())
                                   self->made(round, std::move(part->bytes), part->more);
                               }};
    });
  }

  // In whose turn it is made: nobody waits longer because another asks the same.
  Turn least_busy(const Round& round) const {
    Turn best = round.user;
    for (const Reader& reader : round.readers)
      if (reader.user != best && worker.waiting(reader.user) < worker.waiting(best)) best = reader.user;
    return best;
  }

  void made(const std::shared_ptr<Round>& round, std::string bytes, bool more) {
    round->working = false;
    round->parts.push_back(std::make_shared<const std::string>(std::move(bytes)));
    if (!more) {
      round->complete = true;
      round->walk.reset();
    }
    go_on(round);
  }

  void go_on(const std::shared_ptr<Round>& round) {
    give(*round, round);
    Rounds& here = rounds[round->question];
    if (here.made_now == round) {
      if (round->readers.empty() && !round->working) round->complete = true;  // nobody is left to make it for
      if (round->complete) return completed(here, round);
      // At the pace of its fastest reader, unless somebody waits for the next round.
      const bool wanted = std::ranges::any_of(
          round->readers, [&](const Reader& reader) { return !reader.reads && reader.next == round->parts.size(); });
      if (wanted || here.next) make_part(round);
      return;
    }
    if (round->readers.empty()) std::erase(here.unread, round);
    forget_idle(round->question);
  }

  // The next of those that wait for one of a user's rounds to be complete.
  void one_less(Turn user) {
    Making& making = makings[user];
    --making.count;
    while (making.count < made_at_once_max && !making.held.empty()) {
      const std::shared_ptr<Round> next = making.held.front();
      making.held.pop_front();
      if (next->complete) continue;  // nobody is left to make it for
      ++making.count;
      return begin(next);
    }
    if (making.count == 0) makings.erase(user);
  }

  void completed(Rounds& here, const std::shared_ptr<Round>& round) {
    const bool was_begun = !round->begin;
    round->walk.reset();
    here.made_now.reset();
    if (was_begun) one_less(round->user);
    if (!round->readers.empty()) here.unread.push_back(round);
    if (here.unread.size() > unread_rounds_max) {
      const std::shared_ptr<Round> oldest = here.unread.front();
      here.unread.erase(here.unread.begin());
      oldest->hurried = true;
      give(*oldest, oldest);
    }
    if (!here.next || here.next->readers.size() < crowd) return begin_next(round->question);
    const Duration pause{std::min(pause_max.value, pause_factor * (loop.steady() - round->began).value)};
    loop.after(pause, [weak = weak_from_this(), question = round->question] {
      if (const auto self = weak.lock()) self->begin_next(question);
    });
  }

  void begin_next(const std::string& question) {
    const auto it = rounds.find(question);
    if (it == rounds.end() || it->second.made_now) return;
    const std::shared_ptr<Round> next = it->second.made_now = std::exchange(it->second.next, nullptr);
    if (next)
      start(next);
    else
      forget_idle(question);
  }

  void forget_idle(const std::string& question) {
    const auto it = rounds.find(question);
    if (it != rounds.end() && !it->second.made_now && !it->second.next && it->second.unread.empty()) rounds.erase(it);
  }

  // Gives every reader the parts it is ready for.
  void give(Round& round, const std::shared_ptr<Round>& shared) {
    if (std::exchange(round.giving, true)) return;
    for (std::size_t i = 0; i < round.readers.size(); ++i)
      while ((!round.readers[i].reads || round.hurried) && round.readers[i].next < round.parts.size())
        give_part(round, round.readers[i], shared);
    round.giving = false;
    if (round.complete)
      std::erase_if(round.readers, [&](const Reader& reader) { return reader.next == round.parts.size(); });
    std::size_t taken = round.parts.size();
    for (const Reader& reader : round.readers) taken = std::min(taken, reader.next);
    for (std::size_t i = 0; i < taken; ++i) round.parts[i].reset();
  }

  void give_part(Round& round, Reader& reader, const std::shared_ptr<Round>& shared) {
    wire::Reply head;
    head.set_number(reader.number);
    std::string bytes = head.SerializeAsString();
    bytes += *round.parts[reader.next++];
    clients.reply_encoded(reader.client, std::move(bytes));
    reader.reads = true;
    clients.when_read(reader.client, [weak = weak_from_this(), round = std::weak_ptr(shared), client = reader.client,
                                      number = reader.number] {
      const auto self = weak.lock();
      const auto there = round.lock();
      if (!self || !there) return;
      for (Reader& each : there->readers)
        if (each.client == client && each.number == number) each.reads = false;
      if (!there->giving) self->go_on(there);
    });
  }

  void leave(ClientId client) {
    std::vector<std::shared_ptr<Round>> touched;
    for (auto& [question, here] : rounds) {
      std::vector<std::shared_ptr<Round>> all = here.unread;
      all.push_back(here.made_now);
      all.push_back(here.next);
      for (const auto& round : all)
        if (round && std::erase_if(round->readers, [&](const Reader& reader) { return reader.client == client; }) > 0)
          touched.push_back(round);
      if (here.next && here.next->readers.empty()) here.next.reset();
    }
    for (const auto& round : touched)
      if (round->walk || round->complete || round->readers.empty()) go_on(round);
  }
};

LongAnswers::LongAnswers(Loop& loop, FairWorker& worker, Clients& clients)
    : inner_(std::make_shared<Inner>(loop, worker, clients)) {}
LongAnswers::~LongAnswers() = default;

void LongAnswers::ask(const Asker& asker, std::uint64_t number, const std::string& question, Begin begin) {
  Inner::Rounds& here = inner_->rounds[question];
  if (here.made_now && here.made_now->begin)
    return inner_->join(std::shared_ptr(here.made_now), {asker.client, asker, number});
  const bool at_once = !here.made_now && !here.next;
  std::shared_ptr<Round>& round = at_once ? here.made_now : here.next;
  const bool fresh = !round;
  if (fresh) {
    round = std::make_shared<Round>();
    round->question = question;
    round->user = asker;
    round->begin = std::move(begin);
  }
  round->readers.push_back({asker.client, asker, number});
  if (!fresh) return;
  if (at_once)
    inner_->start(std::shared_ptr(round));
  else if (here.made_now)
    inner_->make_part(std::shared_ptr(here.made_now));
}

void LongAnswers::client_left(ClientId client) { inner_->leave(client); }

}  // namespace millrace
