//===- PhiloxEmitter.h - Code that draws random bits ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator of random bits of Numerics/Philox.h.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_PHILOXEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_PHILOXEMITTER_H

#include "Lanes.h"

#include <array>

namespace blockscale::emit {

using PhiloxLanes = std::array<Lanes, 4>;

/// numerics::philox4x32 of i32 lanes; the keys are scalars.
PhiloxLanes emitPhilox(PhiloxLanes counter, Lanes key0, Lanes key1);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_PHILOXEMITTER_H
