// tests/requests/request_schema.h - the messages of requests and their fields, read from the schema: nothing is asked
// about those that somebody would have to remember to list.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace millrace {

struct SchemaField {
  std::string type, name;
  int number = 0;
};
using Schema = std::map<std::string, std::vector<SchemaField>>;

// Fields by message; those of nested messages and of a oneof count for the message around them.
Schema read_schema();
// Every message that a request can hold, however deep.
void reach(const Schema& schema, const std::string& message, std::set<std::string>& seen);

}  // namespace millrace
