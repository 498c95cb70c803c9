//===- SumDevice.h - Whose sums of products ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The devices whose tensor cores add products each in their own way.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_SUMDEVICE_H
#define BLOCKSCALE_EMULATOR_SUMDEVICE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace blockscale::emulator {

enum class SumDevice : uint8_t {
  /// No device's: the sum in f64, which is exact where f64 holds it, rounded
  /// once.
  Exact,
  /// sm_80 to sm_88.
  SM80,
  SM89,
  SM90,
  /// sm_100 to sm_119.
  SM100,
  /// sm_120 to sm_129.
  SM120,
};

/// "exact", or the first target of the device: "sm_90".
llvm::StringRef getName(SumDevice device);

/// The device of a target of PTX, as "sm_90a", or Exact by its name; none where
/// nobody has told how the target adds.
std::optional<SumDevice> findSumDevice(llvm::StringRef name);

/// What an option that names a device expects, for its diagnostics.
inline constexpr llvm::StringLiteral kSumDeviceNames =
    "exact, or a chip whose sums are known (sm_80 to sm_89, sm_90, sm_100 to "
    "sm_129)";

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_SUMDEVICE_H
