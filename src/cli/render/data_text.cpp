// src/cli/render/data_text.cpp - see data_text.h.
#include "cli/render/data_text.h"

#include <charconv>
#include <cstdio>

#include "base/shown_text.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

void put_quoted(std::string& out, std::string_view text, bool escape_slash) {
  const auto plain = [&](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && (c != '/' || !escape_slash);
  };
  out += '"';
  while (!text.empty()) {
    std::size_t run = 0;  // nearly all of nearly every text
    while (run < text.size() && plain(text[run])) ++run;
    out.append(text.data(), run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    if (length == 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0) {  // a control in two bytes
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned char>(text[1]));
      out += buffer;
      text.remove_prefix(2);
      continue;
    }
    if (length != 1) {
      out += length == 0 ? replacement : text.substr(0, length);
      text.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    const char c = text[0];
    text.remove_prefix(1);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '/':
        out += escape_slash ? "\\/" : "/";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char buffer[8];
          std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned char>(c));
          out += buffer;
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void put_real(std::string& out, double value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  const std::string_view text{buffer, static_cast<std::size_t>(end - buffer)};
  if (text.find_first_of("in") != std::string_view::npos)
    out += "null";  // inf and nan have no place in JSON
  else
    out += std::string{text} + (text.find_first_of(".e") == std::string_view::npos ? ".0" : "");
}

// Everything but texts, lists and maps.
void put_plain(std::string& out, const Data& data) {
  const Data::Value& value = data.value();
  if (data.is_null())
    out += "null";
  else if (const bool* yes = std::get_if<bool>(&value))
    out += *yes ? "true" : "false";
  else if (const std::int64_t* number = std::get_if<std::int64_t>(&value))
    out += std::to_string(*number);
  else if (const std::uint64_t* count = std::get_if<std::uint64_t>(&value))
    out += std::to_string(*count);
  else if (const double* real = std::get_if<double>(&value))
    put_real(out, *real);
}

void put_json(std::string& out, const Data& data, std::size_t depth) {
  const auto indent = [&](std::size_t level) { out.append(2 * level, ' '); };
  if (const DataMap* members = data.map()) {
    out += "{\n";
    for (std::size_t i = 0; i < members->size(); ++i) {
      indent(depth + 1);
      put_quoted(out, (*members)[i].first, true);
      out += ": ";
      put_json(out, (*members)[i].second, depth + 1);
      out += i + 1 < members->size() ? ",\n" : "\n";
    }
    indent(depth);
    out += '}';
  } else if (const DataList* list = data.list()) {
    out += "[\n";
    for (std::size_t i = 0; i < list->size(); ++i) {
      indent(depth + 1);
      put_json(out, (*list)[i], depth + 1);
      out += i + 1 < list->size() ? ",\n" : "\n";
    }
    indent(depth);
    out += ']';
  } else if (data.is_text()) {
    put_quoted(out, std::get<std::string>(data.value()), true);
  } else {
    put_plain(out, data);
  }
}

// A word that YAML reads as the same text without quotes: it looks like no number, no truth value and no mark.
bool plain_in_yaml(std::string_view text) {
  if (text.empty() || text.size() > 80) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!letter(text[0]) && text[0] != '/') return false;
  for (const char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.' && c != '/' && c != '+' && c != '=')
      return false;
  if (text.size() > 5) return true;
  for (const std::string_view word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
    if (equals_ignoring_case(text, word)) return false;
  return true;
}

void put_yaml_text(std::string& out, std::string_view text) {
  if (plain_in_yaml(text))
    out += text;
  else
    put_quoted(out, text, false);
}

void put_yaml(std::string& out, const Data& data, std::size_t depth, bool after_key);

void put_yaml_members(std::string& out, const DataMap& members, std::size_t depth, bool first_indented) {
  for (const auto& [key, value] : members) {
    if (!first_indented) out.append(2 * depth, ' ');
    first_indented = false;
    put_yaml_text(out, key);
    out += ':';
    put_yaml(out, value, depth, true);
  }
}

void put_yaml(std::string& out, const Data& data, std::size_t depth, bool after_key) {
  if (const DataMap* members = data.map()) {
    if (members->empty()) {
      out += " {}\n";
      return;
    }
    out += after_key ? "\n" : " ";
    put_yaml_members(out, *members, depth + 1, !after_key);
  } else if (const DataList* list = data.list()) {
    if (list->empty()) {
      out += " []\n";
      return;
    }
    if (after_key) out += '\n';
    for (const Data& each : *list) {
      out.append(2 * depth, ' ');
      out += '-';
      put_yaml(out, each, depth, false);
    }
  } else {
    out += ' ';
    if (data.is_text())
      put_yaml_text(out, std::get<std::string>(data.value()));
    else
      put_plain(out, data);
    out += '\n';
  }
}

}  // namespace

std::string to_json(const Data& data) {
  std::string out;
  put_json(out, data, 0);
  return out + '\n';
}

std::string to_yaml(const Data& data) {
  std::string out = "---\n";
  if (const DataMap* members = data.map(); members != nullptr && !members->empty())
    put_yaml_members(out, *members, 0, false);
  else
    put_yaml(out, data, 0, false);
  return out + "...\n";
}

void DataListText::begin(std::string& out) {
  if (begun_) return;
  begun_ = true;
  if (form_ == DataForm::yaml) {
    out += "---\n";
    put_yaml_text(out, key_);
    out += ':';
    return;
  }
  out += "{\n  ";
  put_quoted(out, key_, true);
  out += ": [\n";
}

void DataListText::add(std::string& out, const Data& item) {
  begin(out);
  if (form_ == DataForm::yaml) {
    out += any_ ? "-" : "\n-";
    put_yaml(out, item, 0, false);
  } else {
    out += any_ ? ",\n    " : "    ";
    put_json(out, item, 2);
  }
  any_ = true;
}

void DataListText::finish(std::string& out, const DataMap& others) {
  begin(out);
  if (form_ == DataForm::yaml) {
    if (!any_) out += " []\n";
    put_yaml_members(out, others, 0, false);
    out += "...\n";
    return;
  }
  out += any_ ? "\n  ]" : "  ]";
  for (const auto& [key, value] : others) {
    out += ",\n  ";
    put_quoted(out, key, true);
    out += ": ";
    put_json(out, value, 1);
  }
  out += "\n}\n";
}

std::string to_text(const Data& data, DataForm form) { return form == DataForm::json ? to_json(data) : to_yaml(data); }

}  // namespace millrace
