//===- SumLaw.cpp - How a tensor core adds products -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/SumLaw.h"

namespace blockscale::emulator {

static constexpr llvm::StringLiteral kDeviceNames[] = {
    "exact", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"};

llvm::StringRef getName(SumDevice device) {
  return kDeviceNames[unsigned(device)];
}

std::optional<SumDevice> findSumDevice(llvm::StringRef name) {
  if (name == getName(SumDevice::Exact))
    return SumDevice::Exact;
  unsigned number = 0;
  if (!name.consume_front("sm_") || name.consumeInteger(10, number) ||
      (!name.empty() && name != "a" && name != "f"))
    return std::nullopt;
  if (number >= 80 && number < 89)
    return SumDevice::SM80;
  if (number == 89)
    return SumDevice::SM89;
  if (number == 90)
    return SumDevice::SM90;
  if (number >= 100 && number < 120)
    return SumDevice::SM100;
  if (number >= 120 && number < 130)
    return SumDevice::SM120;
  return std::nullopt;
}

/// The law of the types that every tensor core here has.
static SumLaw getPlainLaw(bool isAmpere, bool isTF32, bool isHalf) {
  if (isAmpere)
    return {isTF32 ? 4U : 8U, 24, 23, isHalf ? -20 : -132};
  return {isTF32 ? 8U : 16U, 25, 23, isHalf ? -21 : -133};
}

/// That of e4m3, e5m2 and narrower types, which may be mixed.
static SumLaw getNarrowLaw(SumDevice device, MmaUnit unit, bool isHalf) {
  switch (device) {
  case SumDevice::SM89:
    return {16, 13, 13, -132};
  case SumDevice::SM90:
    if (unit != MmaUnit::Warp)
      return {32, 13, 13, -133};
    break;
  case SumDevice::SM100:
    if (unit == MmaUnit::Warp)
      break;
    [[fallthrough]];
  case SumDevice::SM120:
    return isHalf ? SumLaw() : SumLaw{32, 25, 23, -133};
  case SumDevice::Exact:
  case SumDevice::SM80:
    return {};
  }
  SumLaw law = getPlainLaw(/*isAmpere=*/false, /*isTF32=*/false, isHalf);
  law.isByPairs = law.addsLast = true;
  return law;
}

SumLaw getSumLaw(SumDevice device, MmaUnit unit, MmaFormat a, MmaFormat b,
                 MmaAccumulator accumulator) {
  if (accumulator == MmaAccumulator::S32 || device == SumDevice::Exact)
    return {};
  bool isHalf = accumulator == MmaAccumulator::F16;
  bool isAmpere = device == SumDevice::SM80 || device == SumDevice::SM89;
  switch (a) {
  case MmaFormat::F16:
  case MmaFormat::BF16:
  case MmaFormat::TF32:
    return getPlainLaw(isAmpere, a == MmaFormat::TF32, isHalf);
  case MmaFormat::E2M3:
  case MmaFormat::E3M2:
  case MmaFormat::E2M1:
    break;
  case MmaFormat::E4M3:
  case MmaFormat::E5M2:
    if (b == MmaFormat::E4M3 || b == MmaFormat::E5M2)
      return getNarrowLaw(device, unit, isHalf);
    break;
  case MmaFormat::U8:
  case MmaFormat::S8:
    return {};
  }
  // Formats that only the units of Blackwell have.
  if (device != SumDevice::SM100 && device != SumDevice::SM120)
    return {};
  return getNarrowLaw(device, unit, isHalf);
}

} // namespace blockscale::emulator
