// src/apps/millrace_smap.cpp - smap: the cluster on a terminal, drawn again every few seconds; -c prints it once.
#include <curses.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "cli/console.h"
#include "cli/options/option.h"
#include "cli/version.h"
#include "smap/questions.h"

namespace millrace {
namespace {

constexpr ManualHead head{
    "smap", "show nodes and what they do on a terminal", "[options]",
    "Shows a map of the nodes, one character each, and below it the jobs, partitions, reservations or switches whose "
    "letters are on the map. "
    "Keys: j jobs, s partitions, r reservations, t network, arrows scroll, space asks again, q leaves."};

struct Draft {
  Asked asked;
  SmapOptions page;
  bool command_line = false;
  int seconds = 5;
};

using Text = std::string_view;
using enum ArgKind;

Result<void> set_view(Draft& d, Text v) {
  if (v == "j")
    d.page.view = SmapView::jobs;
  else if (v == "s")
    d.page.view = SmapView::partitions;
  else if (v == "r")
    d.page.view = SmapView::reservations;
  else if (v == "t")
    d.page.view = SmapView::network;
  else
    return fail(Errc::invalid,
                "'" + std::string{v} +
                    "' is no page: j (jobs), s (partitions), r (reservations) or t (network) would be right");
  return {};
}

Result<void> set_seconds(Draft& d, Text v) {
  const auto number = parse_integer(v);
  if (!number || *number < 1 || *number > 86400)
    return fail(Errc::invalid, "'" + std::string{v} + "' is no number of seconds between two looks");
  d.seconds = static_cast<int>(*number);
  return {};
}

// clang-format off
constexpr Option<Draft> rows[] = {
    {"commandline", 'c', none, "", any_tool, "", "", "print one page and end", [](Draft& d, Text) -> Result<void> { d.command_line = true; return {}; }},
    {"display", 'D', required, "<page>", any_tool, "", "", "j: jobs, s: partitions, r: reservations, t: network", set_view},
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](Draft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"iterate", 'i', required, "<seconds>", any_tool, "", "", "seconds between two looks", set_seconds},
    {"nodes", 'n', required, "<nodes>", any_tool, "", "", "only these nodes", [](Draft& d, Text v) -> Result<void> { d.page.nodes = v; return {}; }},
    {"noheader", 'h', none, "", any_tool, "", "", "no header", [](Draft& d, Text) -> Result<void> { d.page.header = false; return {}; }},
    {"usage", '\0', none, "", any_tool, "", "", "show a short summary", [](Draft& d, Text) -> Result<void> { d.asked.usage = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](Draft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
};
// clang-format on

// The terminal is given back however we leave.
class Screen {
 public:
  Screen() {
    initscr();
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    if (!has_colors()) return;
    start_color();
    use_default_colors();
    constexpr short colours[] = {COLOR_GREEN, COLOR_CYAN, COLOR_YELLOW, COLOR_BLUE, COLOR_MAGENTA, COLOR_WHITE};
    for (short i = 0; i < smap_colours; ++i) init_pair(static_cast<short>(i + 1), colours[i], -1);
    init_pair(smap_alarm, COLOR_RED, -1);
  }
  ~Screen() { endwin(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void draw(const SmapPage& page, const std::string& title, std::size_t& first) {
    erase();
    int row = 0;
    put(row++, {{title, smap_head}});
    for (const SmapLine& line : page.map)
      if (row < LINES / 2) put(row++, line);
    ++row;
    const std::size_t fixed = page.list.empty() ? 0 : 1;  // the header stays
    if (fixed != 0) put(row++, page.list.front());
    const std::size_t room = row < LINES ? static_cast<std::size_t>(LINES - row) : 0;
    const std::size_t rest = page.list.size() - fixed;
    first = std::min(first, rest > room ? rest - room : 0);
    for (std::size_t i = 0; i < room && first + i < rest; ++i) put(row++, page.list[fixed + first + i]);
    refresh();
  }

 private:
  void put(int row, const SmapLine& line) {
    move(row, 0);
    for (const SmapSpan& span : line) {
      const attr_t look = span.colour == smap_head    ? A_REVERSE
                          : span.colour == smap_faint ? A_DIM
                          : span.colour == smap_alarm ? A_BOLD
                                                      : A_NORMAL;
      const int pair = span.colour >= 1 && span.colour <= smap_alarm && span.colour != smap_faint ? span.colour : 0;
      attrset(static_cast<int>(look | static_cast<attr_t>(COLOR_PAIR(pair))));
      addnstr(span.text.c_str(), std::max(0, COLS - getcurx(stdscr)));
    }
    attrset(A_NORMAL);
  }
};

std::string_view name_of(SmapView view) {
  switch (view) {
    case SmapView::jobs:
      return "jobs";
    case SmapView::partitions:
      return "partitions";
    case SmapView::reservations:
      return "reservations";
    case SmapView::network:
      return "network";
  }
  return "";
}

// True: go on. Keys that change the page ask at once.
bool obey(int key, Draft& draft, std::size_t& first, bool& ask) {
  switch (key) {
    case 'q':
      return false;
    case 'j':
      draft.page.view = SmapView::jobs, first = 0, ask = true;
      break;
    case 's':
      draft.page.view = SmapView::partitions, first = 0, ask = true;
      break;
    case 'r':
      draft.page.view = SmapView::reservations, first = 0, ask = true;
      break;
    case 't':
      draft.page.view = SmapView::network, first = 0, ask = true;
      break;
    case ' ':
      ask = true;
      break;
    case KEY_DOWN:
      ++first;
      break;
    case KEY_UP:
      first -= first > 0 ? 1 : 0;
      break;
    case KEY_NPAGE:
      first += static_cast<std::size_t>(LINES / 2);
      break;
    case KEY_PPAGE:
      first -= std::min(first, static_cast<std::size_t>(LINES / 2));
      break;
    default:
      break;
  }
  return true;
}

int show_live(Session& session, Draft& draft, const std::string& cluster) {
  Screen screen;
  SmapData data;
  std::string trouble;
  std::size_t first = 0;
  for (bool ask = true;;) {
    if (ask) {
      auto answer = ask_for_page(session, draft.page.view);
      trouble = answer ? "" : "  " + answer.error().story;  // the last page stays; the next round asks again
      if (answer) data = *std::move(answer);
    }
    draft.page.width = COLS;
    const std::string title = " " + cluster + ": " + std::string{name_of(draft.page.view)} +
                              "   j jobs  s partitions  r reservations  t network  q quit" + trouble + " ";
    screen.draw(make_page(data, draft.page), title, first);
    ask = false;
    timeout(draft.seconds * 1000);
    const int key = getch();
    if (key == ERR)
      ask = true;
    else if (!obey(key, draft, first, ask))
      return 0;
  }
}

int run_smap(Command& command) {
  Draft draft;
  const std::span<const Option<Draft>> table{rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, head, option_texts(table, any_tool))) return 0;
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  Session session(*session_options(*settings));
  if (!draft.command_line && isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0)
    return show_live(session, draft, settings->cluster_name);
  const auto data = ask_for_page(session, draft.page.view);
  if (!data) {
    say_trouble(command, session);
    say_error(command, data.error().story);
    return 1;
  }
  return print(plain_text(make_page(*data, draft.page)));
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  millrace::Command command;
  command.name = "smap";
  for (int i = 1; i < argc; ++i) command.words.emplace_back(argv[i]);
  if (command.words.size() == 1 && command.words[0] == "--print-man")
    return millrace::print(millrace::man_page(
        millrace::head, millrace::option_texts(std::span<const millrace::Option<millrace::Draft>>{millrace::rows},
                                               millrace::any_tool)));
  return millrace::run_smap(command);
}
