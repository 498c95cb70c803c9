//===- ChipMatch.cpp - Which PTX a GPU runs -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/ChipMatch.h"

#include <charconv>

using namespace blockscale::runtime;

std::string ComputeCapability::format() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

namespace {
struct ParsedChip {
  /// 100 for sm_100a.
  int number = 0;
  /// 'a', 'f' or 0.
  char suffix = 0;
};
} // namespace

static std::optional<ParsedChip> parseChip(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  if (name.substr(0, kPrefix.size()) != kPrefix)
    return std::nullopt;
  ParsedChip chip;
  const char *end = name.data() + name.size();
  auto [stop, error] =
      std::from_chars(name.data() + kPrefix.size(), end, chip.number);
  if (error != std::errc() || chip.number <= 0)
    return std::nullopt;
  if (stop != end)
    chip.suffix = *stop++;
  if (stop != end || (chip.suffix && chip.suffix != 'a' && chip.suffix != 'f'))
    return std::nullopt;
  return chip;
}

static bool runsOn(const ParsedChip &chip, ComputeCapability device) {
  int number = device.major * 10 + device.minor;
  switch (chip.suffix) {
  case 'a':
    return number == chip.number;
  case 'f':
    return number >= chip.number && device.major == chip.number / 10;
  default:
    return number >= chip.number;
  }
}

bool blockscale::runtime::runsOn(std::string_view chip,
                                 ComputeCapability device) {
  std::optional<ParsedChip> parsed = parseChip(chip);
  return parsed && ::runsOn(*parsed, device);
}

std::optional<size_t>
blockscale::runtime::chooseChip(const std::vector<std::string_view> &chips,
                                ComputeCapability device) {
  std::optional<size_t> best;
  int bestRank = -1;
  for (size_t i = 0; i < chips.size(); ++i) {
    std::optional<ParsedChip> chip = parseChip(chips[i]);
    if (!chip || !::runsOn(*chip, device))
      continue;
    // Chips of one number differ in the suffix: a has most features.
    int own = chip->suffix == 'a' ? 2 : chip->suffix == 'f' ? 1 : 0;
    int rank = chip->number * 3 + own;
    if (rank <= bestRank)
      continue;
    best = i;
    bestRank = rank;
  }
  return best;
}
