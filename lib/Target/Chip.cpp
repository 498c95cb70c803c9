//===- Chip.cpp - What each GPU can do ------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Chip.h"

namespace blockscale::target {

static constexpr Chip kChips[] = {
    {"sm_100a", "+ptx88", /*fp4Cvt=*/true, /*fp8Cvt=*/true,
     /*wideGlobalAccess=*/true, /*blockScaledMma=*/true},
    {"sm_103a", "+ptx88", /*fp4Cvt=*/true, /*fp8Cvt=*/true,
     /*wideGlobalAccess=*/true, /*blockScaledMma=*/true},
    {"sm_110a", "+ptx90", /*fp4Cvt=*/true, /*fp8Cvt=*/true,
     /*wideGlobalAccess=*/true, /*blockScaledMma=*/true},
};

const Chip *findChip(std::string_view name) {
  for (const Chip &chip : kChips)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

std::string listChips() {
  std::string names;
  for (const Chip &chip : kChips) {
    if (!names.empty())
      names += ", ";
    names += chip.name;
  }
  return names;
}

} // namespace blockscale::target
