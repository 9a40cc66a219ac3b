// src/cli/options/manual_html.cpp - see manual_html.h.
#include "cli/options/manual_html.h"

#include "base/text.h"

namespace millrace {
namespace {

// troff's escapes as manual.cpp makes them: \- \e \& and nothing else.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    if (text[i] == '-')
      out += '-';
    else if (text[i] == 'e')
      out += '\\';
  }
  return out;
}

// Terms and their texts are a list; anything else ends it.
class Writer {
 public:
  void section(std::string_view title) {
    end_list();
    body_ += "<h2>" + html_text(plain(title)) + "</h2>\n";
  }
  void begin_entry() {
    if (!in_list_) body_ += "<dl>\n";
    in_list_ = wants_term_ = true;
  }
  void bold(std::string_view text) {
    const std::string word = html_text(plain(text));
    if (!wants_term_) {
      body_ += "<b>" + word + "</b>\n";
      return;
    }
    std::string name = word;  // an anchor, so that one option can be pointed at
    if (const std::size_t end = name.find_first_of(" =[(,"); end != std::string::npos) name.resize(end);
    body_ += "<dt id=\"" + name + "\"><code>" + word + "</code></dt>\n";
    wants_term_ = false;
    wants_text_ = true;
  }
  void text(std::string_view line) {
    const std::string words = html_text(plain(line));
    body_ += wants_text_ ? "<dd>" + words + "</dd>\n" : words + "\n";
    wants_text_ = false;
  }
  std::string take() {
    end_list();
    return std::move(body_);
  }

 private:
  void end_list() {
    if (in_list_) body_ += "</dl>\n";
    in_list_ = wants_term_ = wants_text_ = false;
  }
  std::string body_;
  bool in_list_ = false, wants_term_ = false, wants_text_ = false;
};

constexpr std::string_view style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 "
    "1rem;color:#1d2327;background:#fff}"
    "h1{font-size:1.6rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid "
    "#d5d9dd}dt{margin-top:.7rem}dd{margin-left:2rem}"
    "code{font:.92em ui-monospace,monospace;color:#0b4f7d}a{color:#0b5fa5}"
    "@media(prefers-color-scheme:dark){body{background:#15191d;color:#dfe4e8}code{color:#8cc8f2}a{color:#7db9ea}h2{"
    "border-color:#39424a}}";

}  // namespace

std::string html_text(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view body) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>" +
         html_text(title) + "</title><style>" + std::string{style} +
         "</style></head>\n<body>\n<p><a href=\"index.html\">Millrace: all pages</a></p>\n" + std::string{body} +
         "</body></html>\n";
}

std::string manual_html(std::string_view page) {
  Writer writer;
  std::string title;
  for (const std::string_view line : split(page, '\n')) {
    if (line.starts_with(".TH ") || line == ".SH NAME") continue;
    if (line.starts_with(".SH "))
      writer.section(line.substr(4));
    else if (line == ".TP")
      writer.begin_entry();
    else if (line.starts_with(".B "))
      writer.bold(line.substr(3));
    else if (title.empty())
      title = plain(line);  // the line below NAME
    else if (!line.empty())
      writer.text(line);
  }
  return html_page(title.substr(0, title.find(" - ")), "<h1>" + html_text(title) + "</h1>\n" + writer.take());
}

}  // namespace millrace
