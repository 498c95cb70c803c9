//===- Chip.cpp - What each GPU can do ------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Chip.h"

#include <initializer_list>

namespace blockscale::target {

// From the table of compute capabilities in the CUDA programming guide.
static constexpr MultiprocessorLimits kDatacenter = {2048, 32, 228 << 10};
static constexpr MultiprocessorLimits kConsumer = {1536, 24, 100 << 10};

/// A chip with the features that are named, and no others.
static constexpr Chip makeChip(std::string_view name,
                               std::string_view backendFeatures,
                               std::string_view gpu,
                               std::string_view kernelSuffix,
                               MultiprocessorLimits limits,
                               std::initializer_list<bool Chip::*> features) {
  Chip chip = {};
  chip.name = name;
  chip.backendFeatures = backendFeatures;
  chip.gpu = gpu;
  chip.kernelSuffix = kernelSuffix;
  chip.limits = limits;
  for (bool Chip::*feature : features)
    chip.*feature = true;
  return chip;
}

// LLVM has `cvt` to 8-bit formats from PTX 8.1 on, and ptxas takes sm_86 from
// 7.1, sm_120a from 8.7, sm_121a from 8.8 and sm_110a from 9.0. Accesses of 32
// bytes need 8.8.
static constexpr Chip kChips[] = {
    makeChip("sm_80", "+ptx70", /*gpu=*/"H200", /*kernelSuffix=*/"_sm80",
             {2048, 32, 164 << 10}, {&Chip::plainMma}),
    makeChip("sm_86", "+ptx71", /*gpu=*/"RTX 3090", /*kernelSuffix=*/"_sm86",
             {1536, 16, 100 << 10}, {&Chip::plainMma}),
    makeChip("sm_89", "+ptx81", /*gpu=*/"H200", /*kernelSuffix=*/"_sm89",
             kConsumer, {&Chip::fp8Cvt, &Chip::plainMma}),
    makeChip("sm_90a", "+ptx81", /*gpu=*/"H200", /*kernelSuffix=*/"_sm90",
             kDatacenter,
             {&Chip::fp8Cvt, &Chip::wgmma, &Chip::dependentLaunch}),
    makeChip("sm_100a", "+ptx88", /*gpu=*/"B200", /*kernelSuffix=*/"",
             kDatacenter,
             {&Chip::fp4Cvt, &Chip::fp8Cvt, &Chip::stochasticCvt,
              &Chip::wideGlobalAccess, &Chip::tcgen05, &Chip::dependentLaunch}),
    makeChip("sm_103a", "+ptx88", /*gpu=*/"B300", /*kernelSuffix=*/"",
             kDatacenter,
             {&Chip::fp4Cvt, &Chip::fp8Cvt, &Chip::stochasticCvt,
              &Chip::wideGlobalAccess, &Chip::tcgen05, &Chip::longTcgen05,
              &Chip::dependentLaunch}),
    makeChip("sm_110a", "+ptx90", /*gpu=*/"B200", /*kernelSuffix=*/"_sm110",
             kDatacenter,
             {&Chip::fp4Cvt, &Chip::fp8Cvt, &Chip::wideGlobalAccess,
              &Chip::tcgen05, &Chip::dependentLaunch}),
    makeChip("sm_120a", "+ptx88", /*gpu=*/"RTX 5090", /*kernelSuffix=*/"_sm120",
             kConsumer,
             {&Chip::fp4Cvt, &Chip::fp8Cvt, &Chip::wideGlobalAccess,
              &Chip::blockScaleMma, &Chip::plainMma, &Chip::dependentLaunch}),
    makeChip("sm_121a", "+ptx88", /*gpu=*/"GB10", /*kernelSuffix=*/"_sm121",
             kConsumer,
             {&Chip::fp4Cvt, &Chip::fp8Cvt, &Chip::wideGlobalAccess,
              &Chip::blockScaleMma, &Chip::plainMma, &Chip::dependentLaunch}),
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
