//===- PrepackedUnits.h - Codes in words of fragments -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the words of a unit of prepacked data (Numerics/DataLayout.h) are made of
// bytes of row-major rows, and taken apart. Kernels say how these bytes are
// loaded and stored, which for codes of 4 bits are pairs.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_PREPACKEDUNITS_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_PREPACKEDUNITS_H

#include "LoopEmitter.h"

namespace blockscale::emit {

/// A unit of a thread, index values, in a block of a matrix with codes of
/// `bits` bits.
struct PrepackedUnit {
  int64_t bits;
  Lanes rowBlock, colBlock, thread, unit;
};

/// The words of a unit. `load` gives the byte of a row, 0 beyond the matrix, in
/// 32 bits.
llvm::SmallVector<Lanes>
emitGatherUnit(mlir::ImplicitLocOpBuilder &b, const PrepackedUnit &unit,
               llvm::function_ref<Lanes(Lanes row, Lanes byte)> load);

/// Gives the bytes that the words of a unit hold to `store`, in 32 bits.
void emitScatterUnit(
    const PrepackedUnit &unit, llvm::ArrayRef<Lanes> words,
    llvm::function_ref<void(Lanes code, Lanes row, Lanes byte)> store);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_PREPACKEDUNITS_H
