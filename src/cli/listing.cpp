// src/cli/listing.cpp - see listing.h.
#include "cli/listing.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/one_cluster.h"
#include "cli/version.h"

namespace millrace {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;  // printed at once

Result<void> wish_data(ListingWish& wish, DataForm form, std::string_view parser) {
  MR_TRY(wish.data, parse_data_wish(form, parser));
  return {};
}

}  // namespace

Result<void> wish_json(ListingWish& wish, std::string_view parser) { return wish_data(wish, DataForm::json, parser); }
Result<void> wish_yaml(ListingWish& wish, std::string_view parser) { return wish_data(wish, DataForm::yaml, parser); }

Result<void> wish_iterate(ListingWish& wish, std::string_view seconds) {
  const auto number = parse_integer(seconds);
  if (!number || *number <= 0 || *number > UINT32_MAX) return fail(Errc::refused, "--iterate=" + std::string{seconds});
  wish.every_seconds = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> check_clusters(const std::optional<std::string>& clusters, const ClientSettings& settings) {
  return only_this_cluster(clusters.value_or(""), settings.cluster_name);
}

int run_listing(const Command& command, const ListingWish& wish, const ClientSettings& settings,
                const std::function<int()>& once) {
  if (wish.data && wish.data->list_parsers) return print(data_parser_names());
  if (const auto known = check_clusters(wish.clusters, settings); !known)
    return say_usage_error(command, known.error());
  for (;;) {
    if (wish.clusters && !wish.data) print("CLUSTER: " + settings.cluster_name + '\n');
    const int code = once();
    if (wish.every_seconds == 0 || wish.data) return code;
    if (print("\n") != 0) return 1;  // nobody reads any more
    sleep(wish.every_seconds);
  }
}

int print_records(const Command& command, const ClientSettings& settings, DataForm form, std::string_view key,
                  const std::function<Data()>& next, DataMap others) {
  DataListText text(form, key);
  std::string out;
  for (Data record = next(); !record.is_null(); record = next()) {
    text.add(out, record);
    if (out.size() < piece_bytes) continue;
    if (print(out) != 0) return 1;
    out.clear();
  }
  const Data document =
      data_document(std::move(others), {command.name, command.words, settings.cluster_name, slurm_version});
  text.finish(out, *document.map());
  return print(out);
}

std::string name_columns(const std::vector<std::string_view>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += names[i];
    if (names[i].size() < 19) out.append(19 - names[i].size(), ' ');
    out += i % 4 == 3 || i + 1 == names.size() ? '\n' : ' ';
  }
  return out;
}

}  // namespace millrace
