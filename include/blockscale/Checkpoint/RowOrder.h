//===- RowOrder.h - Rows of two matrices in one -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two matrices of a layer, gate and up, are stored as one. In gpt-oss their
// rows alternate; elsewhere one follows the other:
//
//   alternating  gate 0, up 0, gate 1, up 1, ..
//   split        gate 0, gate 1, .., up 0, up 1, ..
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_ROWORDER_H
#define BLOCKSCALE_CHECKPOINT_ROWORDER_H

#include <cstdint>

namespace blockscale::checkpoint {

/// Brings each of `count` matrices, of an even number of rows of `rowBytes`,
/// from alternating rows to split ones.
void splitRows(int64_t count, int64_t rows, int64_t rowBytes,
               const uint8_t *alternating, uint8_t *split);
/// The inverse.
void alternateRows(int64_t count, int64_t rows, int64_t rowBytes,
                   const uint8_t *split, uint8_t *alternating);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_ROWORDER_H
