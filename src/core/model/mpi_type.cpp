// src/core/model/mpi_type.cpp - see mpi_type.h.
#include "core/model/mpi_type.h"

#include <algorithm>

namespace millrace {

Result<std::string> parse_mpi_type(std::string_view text) {
  constexpr std::string_view of_pmix[] = {"pmix", "pmix_v2", "pmix_v3", "pmix_v4", "pmix_v5"};
  if (text.empty() || text == "none") return std::string{};
  if (text == "pmi2") return std::string{text};
  if (std::ranges::find(of_pmix, text) != std::end(of_pmix)) return std::string{"pmix"};
  return fail(Errc::invalid, "'" + std::string{text} + "' is not known, none, pmi2 or pmix would be right");
}

}  // namespace millrace
