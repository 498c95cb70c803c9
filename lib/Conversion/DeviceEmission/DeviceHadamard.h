//===- DeviceHadamard.h - Hadamard transforms in registers ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEHADAMARD_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEHADAMARD_H

#include "Emission/Lanes.h"
#include "KernelBuilder.h"

namespace blockscale {

/// Transforms x as numerics::transformHadamard does: a group of f32 with bf16
/// values, or one such group in each lane.
void emitHadamard(KernelBuilder &b, llvm::MutableArrayRef<emit::Lanes> x,
                  uint64_t signMask);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICEHADAMARD_H
