// src/base/shown_text.h - texts of users as they are shown: on a terminal, in a line of a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// The length of the UTF-8 sequence at the front; 0: it is none (too long forms and surrogates are none either).
std::size_t utf8_length(std::string_view text);

// Printable ASCII alone, as nearly every text is: shown as it is.
bool is_plain_text(std::string_view text);

// Names, paths and comments are bytes, and whoever chose them may mean harm. What moves a cursor, begins a line or is
// no UTF-8 is written as \n, \r, \t or \x1b; everything else as it is.
void append_shown(std::string& out, std::string_view text);
std::string shown_text(std::string_view text);
// The same for what has several lines: ends of lines and tabs stay.
std::string shown_lines(std::string_view text);

}  // namespace millrace
