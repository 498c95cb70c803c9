//===- HadamardEmitter.h - A Hadamard transform's butterfly -----*- C++ -*-===//
//-*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_HADAMARDEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_HADAMARDEMITTER_H

#include "Lanes.h"

namespace blockscale::emit {

/// numerics::transformHadamard of the f32 group x, or of a group in each lane.
void emitHadamard(llvm::MutableArrayRef<Lanes> x, uint64_t signMask);

/// Its rounds of sums and differences of values that are `span` and more apart.
void emitHadamardRounds(llvm::MutableArrayRef<Lanes> x, int64_t span);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_HADAMARDEMITTER_H
