// src/cli/options/manual_html.h - man pages as pages of the web: what manual.h writes in troff, and no other troff.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

std::string manual_html(std::string_view page);
// The same page around other content, which is HTML already.
std::string html_page(std::string_view title, std::string_view body);
std::string html_text(std::string_view plain);  // safe in HTML

}  // namespace millrace
