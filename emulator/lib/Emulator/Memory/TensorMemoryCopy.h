//===- TensorMemoryCopy.h - Copies from shared to tensor memory -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.cp: from shared to tensor memory. PTX ISA, sections "Data Movement
// Shape" and "tcgen05.cp"; the lanes are those of the UTCCP copy atoms of CuTe.
//
//   shape                    rows  bytes a row  lanes of row r
//   128x256b                 128   32           r
//   4x256b                   4     32           32 r
//   128x128b                 128   16           r
//   64x128b.warpx2::02_13    64    16           r, r + 64
//   64x128b.warpx2::01_23    64    16           r and r + 32, from row 32 on
//                                               r + 32 and r + 64
//   32x128b.warpx4           32    16           r, r + 32, r + 64, r + 96
//
// Rows come from a K-major matrix in shared memory; four bytes fill a column.
// The forms that expand values of 4 and 6 bits are not modelled.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORYCOPY_H
#define BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORYCOPY_H

#include "Emulator/Memory/TensorMemory.h"
#include "blockscale/Emulator/Memory.h"

namespace blockscale::emulator {

enum class CopyShape : uint8_t {
  L128x256b,
  L4x256b,
  L128x128b,
  L64x128bWarps02And13,
  L64x128bWarps01And23,
  L32x128bAllWarps,
};

/// The matrix that is copied.
struct CopyExtent {
  unsigned rows;
  unsigned bytes;
  /// Lanes from the address on that are written, or passed over.
  unsigned lanes;
};

CopyExtent getExtent(CopyShape shape);

/// Copies the matrix of `descriptor` of the CTA of rank `rank`, whose memories
/// these are, to `address` on. False, and a fault, where it is refused.
bool copyToTensorMemory(CopyShape shape, uint64_t descriptor,
                        const Memory &shared, unsigned rank,
                        TensorMemory &memory, uint32_t address, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MEMORY_TENSORMEMORYCOPY_H
