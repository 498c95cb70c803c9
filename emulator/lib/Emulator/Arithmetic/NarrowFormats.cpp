//===- NarrowFormats.cpp - Scales of eight bits ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/NarrowFormats.h"

namespace blockscale::emulator {

uint8_t encodeUE8M0(double value, Rounding rounding, bool satfinite) {
  uint8_t overflow = satfinite ? kUE8M0Max : kUE8M0NaN;
  uint64_t magnitude = asBits(value) & F64::kFormat.magnitude();
  if (isNaN<F64>(magnitude))
    return kUE8M0NaN;
  // A double subnormal is far below the least scale, as zero is.
  int exponent = static_cast<int>(magnitude >> F64::kFormat.mantissaBits) -
                 F64::kFormat.bias;
  if (rounding == Rounding::Up && (magnitude & F64::kFormat.mantissa()) != 0)
    ++exponent;
  if (exponent < -kUE8M0Bias)
    return 0;
  int code = exponent + kUE8M0Bias;
  return code > kUE8M0Max ? overflow : static_cast<uint8_t>(code);
}

} // namespace blockscale::emulator
