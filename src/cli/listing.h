// src/cli/listing.h - what the listing commands share: again every n seconds, which clusters, records as data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/render/data_document.h"
#include "cli/render/data_records.h"

namespace millrace {

struct ListingWish {
  std::optional<DataWish> data;         // --json, --yaml
  std::optional<std::string> clusters;  // -M
  std::uint32_t every_seconds = 0;      // -i; 0: once
  bool help_format = false, help_states = false;
};

Result<void> wish_json(ListingWish& wish, std::string_view parser);
Result<void> wish_yaml(ListingWish& wish, std::string_view parser);
Result<void> wish_iterate(ListingWish& wish, std::string_view seconds);

// One cluster is known here: its own name and "all" mean it, any other is an error in Slurm's words.
Result<void> check_clusters(const std::optional<std::string>& clusters, const ClientSettings& settings);

// What runs once, or again and again until somebody ends it; -M puts the cluster's name before it.
int run_listing(const Command& command, const ListingWish& wish, const ClientSettings& settings,
                const std::function<int()>& once);

// {"key": [records], others..., "meta", "errors", "warnings"}; `next` gives the records one by one and null after the
// last.
int print_records(const Command& command, const ClientSettings& settings, DataForm form, std::string_view key,
                  const std::function<Data()>& next, DataMap others = {});

// Names in four columns, as --helpformat prints them.
std::string name_columns(const std::vector<std::string_view>& names);

}  // namespace millrace
