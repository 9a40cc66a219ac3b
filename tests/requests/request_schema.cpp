// tests/requests/request_schema.cpp - see request_schema.h.
#include "request_schema.h"

#include <fstream>
#include <regex>
#include <sstream>

namespace millrace {

static std::string without_comments(std::string text) {
  text = std::regex_replace(text, std::regex{R"(//[^\n]*)"}, "");
  return std::regex_replace(text, std::regex{R"(/\*[^*]*\*/)"}, "");
}

Schema read_schema() {
  Schema out;
  for (const char* name : {"client", "job"}) {
    std::ifstream file{std::string{SCHEMA_DIR} + "/" + name + ".proto"};
    std::stringstream bytes;
    bytes << file.rdbuf();
    const std::string text = without_comments(bytes.str());
    const std::regex field{R"((?:optional |repeated )?([A-Za-z][\w.]*) (\w+) = (\d+);)"},
        message{R"(message (\w+) \{)"};
    for (std::sregex_iterator at{text.begin(), text.end(), message}, end; at != end; ++at) {
      int depth = 1;
      std::size_t from = static_cast<std::size_t>(at->position() + at->length()), to = from;
      for (; to < text.size() && depth > 0; ++to) depth += text[to] == '{' ? 1 : text[to] == '}' ? -1 : 0;
      const std::string body = text.substr(from, to - from);
      for (std::sregex_iterator each{body.begin(), body.end(), field}; each != end; ++each)
        if (body.find("enum " + (*each)[1].str() + " {") == std::string::npos)
          out[(*at)[1].str()].push_back({(*each)[1], (*each)[2], std::stoi((*each)[3])});
    }
  }
  return out;
}

void reach(const Schema& schema, const std::string& message, std::set<std::string>& seen) {
  const auto found = schema.find(message);
  if (found == schema.end() || !seen.insert(message).second) return;
  for (const SchemaField& field : found->second) reach(schema, field.type, seen);
}

}  // namespace millrace
