//===- Chip.cpp - What each GPU can do ------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Chip.h"

namespace blockscale::target {

// From the table of compute capabilities in the CUDA programming guide.
static constexpr MultiprocessorLimits kDatacenter = {2048, 32, 228 << 10};
static constexpr MultiprocessorLimits kConsumer = {1536, 24, 100 << 10};

// LLVM has `cvt` to 8-bit formats from PTX 8.1 on, and ptxas takes sm_86 from
// 7.1, sm_120a from 8.7, sm_121a from 8.8 and sm_110a from 9.0. Accesses of 32
// bytes need 8.8.
static constexpr Chip kChips[] = {
    {"sm_80", "+ptx70", /*gpu=*/"H200", /*kernelSuffix=*/"_sm80",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/false, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false,
     /*limits=*/{2048, 32, 164 << 10}, /*blockScaleMma=*/false,
     /*plainMma=*/true},
    {"sm_86", "+ptx71", /*gpu=*/"RTX 3090", /*kernelSuffix=*/"_sm86",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/false, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false,
     /*limits=*/{1536, 16, 100 << 10}, /*blockScaleMma=*/false,
     /*plainMma=*/true},
    {"sm_89", "+ptx81", /*gpu=*/"H200", /*kernelSuffix=*/"_sm89",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false,
     /*limits=*/kConsumer, /*blockScaleMma=*/false,
     /*plainMma=*/true},
    {"sm_90a", "+ptx81", /*gpu=*/"H200", /*kernelSuffix=*/"_sm90",
     /*fp4Cvt=*/false,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/false,
     /*wgmma=*/true, /*tcgen05=*/false, /*wideTransforms=*/false,
     /*limits=*/kDatacenter},
    {"sm_100a", "+ptx88", /*gpu=*/"B200", /*kernelSuffix=*/"", /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/true, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/true, /*wideTransforms=*/true,
     /*limits=*/kDatacenter},
    {"sm_103a", "+ptx88", /*gpu=*/"B300", /*kernelSuffix=*/"", /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/true, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/true, /*wideTransforms=*/true,
     /*limits=*/kDatacenter, /*blockScaleMma=*/false, /*plainMma=*/false,
     /*longTcgen05=*/true},
    {"sm_110a", "+ptx90", /*gpu=*/"B200", /*kernelSuffix=*/"_sm110",
     /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/true, /*wideTransforms=*/true,
     /*limits=*/kDatacenter},
    // TransformerEngine's kernels of transforms use tcgen05.
    {"sm_120a", "+ptx88", /*gpu=*/"RTX 5090", /*kernelSuffix=*/"_sm120",
     /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false,
     /*limits=*/kConsumer, /*blockScaleMma=*/true, /*plainMma=*/true},
    {"sm_121a", "+ptx88", /*gpu=*/"GB10", /*kernelSuffix=*/"_sm121",
     /*fp4Cvt=*/true,
     /*fp8Cvt=*/true, /*stochasticCvt=*/false, /*wideGlobalAccess=*/true,
     /*wgmma=*/false, /*tcgen05=*/false, /*wideTransforms=*/false,
     /*limits=*/kConsumer, /*blockScaleMma=*/true, /*plainMma=*/true},
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
