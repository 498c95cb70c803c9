//===- TensorScan.h - What numbers a tensor has -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts by which a checkpoint that loads and is wrong is told: scales of NaN or
// 0, blocks without a large code, columns that differ from those of another
// tensor. Pointers to elements may be unaligned.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_TENSORSCAN_H
#define BLOCKSCALE_CHECKPOINT_TENSORSCAN_H

#include "blockscale/Checkpoint/ElementType.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale::checkpoint {

/// The largest magnitude; NaN if there is one, 0 of nothing.
float findAmax(ElementType type, const void *elements, int64_t count);

struct Statistics {
  uint64_t count = 0;
  uint64_t nan = 0;
  uint64_t infinite = 0;
  /// 0 and -0.
  uint64_t zero = 0;
  /// Less than 0, infinity too.
  uint64_t negative = 0;
  /// Of what is not NaN; infinity and -infinity if there is nothing.
  float min, max;
  /// The least magnitude that is not 0; infinity if there is none.
  float least;
};
Statistics scanTensor(ElementType type, const void *elements, int64_t count);

/// Numbers of E2M1 codes.
struct CodeStatistics {
  /// By the parity of the column, and by the code.
  uint64_t codes[2][16] = {};
  /// Blocks by the code of their largest magnitude. A block that was quantized
  /// by its amax has a large one, and one of other elements often has none.
  uint64_t largest[8] = {};
};
/// Rows of packed codes, with blocks of `blockCols` columns; the last one of a
/// row may be shorter.
CodeStatistics scanCodes(int64_t rows, int64_t cols, int64_t blockCols,
                         const uint8_t *codes);

/// Adds up the squares of each column of a matrix.
void sumColumnSquares(ElementType type, int64_t rows, int64_t cols,
                      const void *elements, double *squares);
/// The same for packed E2M1 codes with row-major scales of `blockCols` columns,
/// an even number.
void sumColumnSquares(numerics::ScaleFormat scale, int64_t rows, int64_t cols,
                      int64_t blockCols, const uint8_t *codes,
                      const uint8_t *scales, double *squares);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_TENSORSCAN_H
