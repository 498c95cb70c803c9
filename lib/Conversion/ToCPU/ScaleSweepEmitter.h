//===- ScaleSweepEmitter.h - Rounding of a scale sweep ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALESWEEPEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALESWEEPEMITTER_H

#include "Lanes.h"

namespace blockscale::cpu {

/// numerics::roundToE2M1 of f32 lanes.
Lanes emitRoundToE2M1(Lanes x);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_SCALESWEEPEMITTER_H
