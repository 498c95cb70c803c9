//===- MagnitudeRange.h - Whether numbers are in a range --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many f32 are compared with a range by one maximum of how far their bits are
// above those of its least magnitude, as numbers without sign: smaller ones are
// the farthest. NaN has larger bits than all numbers, and 0 counts as in range.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_MAGNITUDERANGE_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_MAGNITUDERANGE_H

#include "Emission/Lanes.h"

namespace blockscale::cpu {

using namespace emit;

struct MagnitudeRange {
  float least, most;

  /// The maximum of no number, in so many lanes.
  static Lanes createFirst(mlir::ImplicitLocOpBuilder &b, int64_t lanes);

  /// `farthest` and the f32 with these bits.
  Lanes raise(Lanes farthest, Lanes bits) const;

  /// Whether all numbers of all lanes were in the range, an i1.
  Lanes holds(Lanes farthest) const;
};

/// The larger one of all lanes, without sign.
Lanes emitMaximum(Lanes x);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_MAGNITUDERANGE_H
