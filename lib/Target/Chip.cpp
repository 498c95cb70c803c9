//===- Chip.cpp - What each GPU can do ------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Chip.h"

namespace blockscale::target {

// LLVM has `cvt` to 8-bit formats from PTX 8.1 on.
static constexpr Chip kChips[] = {
    {"sm_80", "+ptx70", /*gpu=*/"H200", /*kernelSuffix=*/"_sm80",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/false, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false},
    {"sm_89", "+ptx81", /*gpu=*/"H200", /*kernelSuffix=*/"_sm89",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false},
    {"sm_90a", "+ptx81", /*gpu=*/"H200", /*kernelSuffix=*/"_sm90",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/true, /*tcgen05=*/false, /*wideTransforms=*/false},
    {"sm_100a", "+ptx88", /*gpu=*/"B200", /*kernelSuffix=*/"", /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/true, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/true, /*wideTransforms=*/true},
    {"sm_103a", "+ptx88", /*gpu=*/"B300", /*kernelSuffix=*/"", /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/true, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/true, /*wideTransforms=*/true},
    {"sm_110a", "+ptx90", /*gpu=*/"B200", /*kernelSuffix=*/"_sm110",
     /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/true, /*wideTransforms=*/true},
};

const Chip *findChip(std::string_view name) {
  for (const Chip &chip : kChips)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

std::string listChips() { return listChips(nullptr); }

std::string listChips(bool (Chip::*hasFeature)() const) {
  std::string names;
  for (const Chip &chip : kChips) {
    if (hasFeature && !(chip.*hasFeature)())
      continue;
    if (!names.empty())
      names += ", ";
    names += chip.name;
  }
  return names;
}

} // namespace blockscale::target
