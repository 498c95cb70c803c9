//===- RandomBytes.h - Random bits of elements, in a buffer -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The random bytes of elements (Numerics/Philox.h), drawn into a buffer 16
// elements at a time, and read from there in whatever order a walk over the
// matrix takes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_RANDOMBYTES_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_RANDOMBYTES_H

#include "Emission/LoopEmitter.h"

#include <array>

namespace blockscale::cpu {

using namespace emit;

/// Random bytes of elements of x, for some rows and columns at a time.
class RandomBytes {
public:
  /// `rng` has seed and offset, and perhaps the place of x; `cols` is the row
  /// length of x. The buffer has `rows` rows of `width` columns, whole groups
  /// of 16.
  RandomBytes(mlir::ImplicitLocOpBuilder &b, mlir::Value rng, mlir::Value cols,
              int64_t rows, mlir::Value width);

  /// Draws the bytes of columns [firstCol, firstCol + count) of row `row`, all
  /// leading dimensions counted as rows, to row `place` of the buffer.
  /// `firstCol` begins a group; a last group is drawn whole.
  void emitDraw(mlir::Value place, mlir::Value row, mlir::Value firstCol,
                mlir::Value count);

  /// `count` bytes of the buffer as i8 lanes.
  Lanes load(mlir::Value place, mlir::Value col, int64_t count) const;

  void emitFree();

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value buffer, groupsPerRow;
  /// The group of x's first element; null for 0.
  mlir::Value firstGroup;
  /// Low and high halves of the operand's numbers, i32.
  std::array<mlir::Value, 2> seed, offset;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_RANDOMBYTES_H
