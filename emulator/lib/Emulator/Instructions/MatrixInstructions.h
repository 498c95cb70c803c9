//===- MatrixInstructions.h - Matrices of warps and warpgroups --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_MATRIXINSTRUCTIONS_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_MATRIXINSTRUCTIONS_H

#include "Emulator/Instructions/MatrixFragment.h"

#include "Emulator/Instructions/Decoder.h"

namespace blockscale::emulator {

/// ldmatrix, stmatrix, movmatrix.
llvm::Error decodeMatrixMove(Decoder &decoder, Op &op);
/// mma.sync.
llvm::Error decodeWarpMma(Decoder &decoder, Op &op);
/// wgmma.
llvm::Error decodeWarpgroup(Decoder &decoder, Op &op);

/// M, N and K of the modifier `.m16n8k32`.
struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
};
MatrixShape getMatrixShape(const Instruction &instruction);

/// The modifiers that name an element's type, in order: D, A, B, ...
llvm::SmallVector<llvm::StringRef, 5>
getElementTypes(const Instruction &instruction);
/// The format of a multiplicand; none for f64.
std::optional<MmaFormat> findMmaFormat(llvm::StringRef name);
/// The format of an accumulator; none for f64.
std::optional<MmaAccumulator> findAccumulator(llvm::StringRef name);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_MATRIXINSTRUCTIONS_H
