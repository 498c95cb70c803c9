//===- MatrixFootprint.h - Memory that matrix work touches ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that tcgen05.mma, cp, ld and st read and write, known when they are
// issued. Invalid operands have an empty footprint: the instruction itself
// refuses them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_MATRIXFOOTPRINT_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_MATRIXFOOTPRINT_H

#include "Emulator/Hazards/AsyncWork.h"
#include "Emulator/Matrix/Mma.h"
#include "Emulator/Memory/TensorMemoryAccess.h"
#include "Emulator/Memory/TensorMemoryCopy.h"

namespace blockscale::emulator {

/// What an MMA of the CTAs of these ranks reads and writes.
AsyncWork getMmaFootprint(const MmaInstruction &instruction,
                          llvm::ArrayRef<unsigned> ranks);

/// What tcgen05.cp in the CTAs of these ranks reads and writes.
AsyncWork getCopyFootprint(CopyShape shape, uint64_t descriptor,
                           uint32_t address, llvm::ArrayRef<unsigned> ranks);

/// The cells that tcgen05.ld and st touch.
llvm::SmallVector<CellRange, 4>
getFragmentCells(const Fragment &fragment, unsigned rank, uint32_t address);

/// The chunks of 16 bytes of a matrix in shared memory, `rows` by `bytes` (of
/// K), joined to ranges. An MN-major matrix has `rows` bytes by `bytes` lines.
llvm::SmallVector<SharedRange, 2>
getMatrixRanges(uint64_t descriptor, Major major, unsigned rank, unsigned rows,
                unsigned bytes, bool mayLeadByAddress = false);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_MATRIXFOOTPRINT_H
