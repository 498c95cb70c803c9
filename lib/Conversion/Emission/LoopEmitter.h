//===- LoopEmitter.h - Loops, indices and memory access ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_LOOPEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_LOOPEMITTER_H

#include "Lanes.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace blockscale::emit {

using Indices = llvm::SmallVector<mlir::Value>;

//===----------------------------------------------------------------------===//
// Index arithmetic, folded where sizes are static
//===----------------------------------------------------------------------===//

Lanes getIndex(mlir::ImplicitLocOpBuilder &b, int64_t value);

Lanes add(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
Lanes sub(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
Lanes mul(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
Lanes mul(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
Lanes min(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
Lanes max(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);

/// Quotients, remainders and multiples of non-negative numbers.
Lanes div(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
Lanes rem(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
Lanes ceilDiv(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
Lanes roundUp(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);

/// Whether x < y, and whether begin <= x < end, of such numbers.
Lanes isBelow(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
Lanes isIn(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value begin,
           mlir::Value end);

Lanes getDim(mlir::ImplicitLocOpBuilder &b, mlir::Value memref, int64_t dim);

/// The first `count` sizes of a memref.
Indices getLeadingSizes(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                        int64_t count);

Lanes getProduct(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange sizes);

/// Row-major position `item` as one index for each of `sizes`.
Indices delinearize(mlir::ImplicitLocOpBuilder &b, mlir::Value item,
                    mlir::ValueRange sizes);

/// The row-major position of `indices`; the inverse of `delinearize`.
Lanes linearize(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange indices,
                mlir::ValueRange sizes);

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

using LoopBody = llvm::function_ref<void(Lanes)>;

/// Emits the loop `for i in [begin, end) step step`.
void emitLoop(mlir::ImplicitLocOpBuilder &b, mlir::Value begin, mlir::Value end,
              LoopBody body, mlir::Value step);
void emitLoop(mlir::ImplicitLocOpBuilder &b, mlir::Value begin, mlir::Value end,
              LoopBody body, int64_t step = 1);

using ReductionBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    Lanes i, mlir::ValueRange carried)>;

/// Emits a loop as `emitLoop` does, with values that are carried from iteration
/// to iteration, and returns the last ones.
llvm::SmallVector<mlir::Value>
emitReduction(mlir::ImplicitLocOpBuilder &b, mlir::Value begin, mlir::Value end,
              mlir::ValueRange inits, ReductionBody body, mlir::Value step);
llvm::SmallVector<mlir::Value>
emitReduction(mlir::ImplicitLocOpBuilder &b, mlir::Value begin, mlir::Value end,
              mlir::ValueRange inits, ReductionBody body, int64_t step = 1);

/// Emits a loop as `emitLoop` does, with one value that is carried, and returns
/// the last one.
Lanes emitReduction(
    mlir::ImplicitLocOpBuilder &b, mlir::Value begin, mlir::Value end,
    mlir::Value init,
    llvm::function_ref<mlir::Value(Lanes i, Lanes carried)> body,
    int64_t step = 1);

/// if (condition) { thenBody() } else { elseBody() }
void emitIf(mlir::ImplicitLocOpBuilder &b, mlir::Value condition,
            llvm::function_ref<void()> thenBody,
            llvm::function_ref<void()> elseBody = nullptr);

/// Covers the units [0, count) in steps of several units, each emitted by
/// `body(first, units)` for a number of units known now, at most `maxUnits` (a
/// power of two). The last step of a row starts early enough to be a whole one,
/// so units may be visited twice: `body` must give the same result again.
void emitUnitSteps(mlir::ImplicitLocOpBuilder &b, mlir::Value count,
                   int64_t maxUnits,
                   llvm::function_ref<void(Lanes, int64_t)> body);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// `count` elements along the last dimension, as integers of the element's
/// width.
Lanes loadLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                mlir::ValueRange indices, int64_t count);

/// Stores integers of the element's width along the last dimension.
void storeLanes(Lanes lanes, mlir::Value memref, mlir::ValueRange indices);

/// One element, as an integer of the element's width.
Lanes loadBits(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
               mlir::ValueRange indices);
void storeBits(Lanes bits, mlir::Value memref, mlir::ValueRange indices);

/// Asks for `count` elements along the last dimension, which are read soon.
/// They may lie outside of `memref`.
void emitPrefetch(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                  mlir::ValueRange indices, int64_t count);

/// `indices`, the last of which are moved by `offsets`, or the last one.
Indices offsetBy(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange indices,
                 mlir::ValueRange offsets);
inline Indices offsetBy(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange indices,
                        Lanes offset) {
  return offsetBy(b, indices, mlir::Value(offset));
}

/// `indices` with more behind them, or one.
Indices append(mlir::ValueRange indices, mlir::ValueRange more);
inline Indices append(mlir::ValueRange indices, Lanes more) {
  return append(indices, mlir::Value(more));
}

/// A heap buffer, aligned for vectors.
mlir::Value allocate(mlir::ImplicitLocOpBuilder &b,
                     llvm::ArrayRef<int64_t> shape, mlir::Type element,
                     mlir::ValueRange dynamicSizes = {});

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_LOOPEMITTER_H
