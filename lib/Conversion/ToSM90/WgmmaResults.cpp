//===- WgmmaResults.cpp - Sums into results -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads have sums of two scaled rows, two plain ones apart. By shared memory,
// 64 plain rows at a time, they become fragments of rows of the result, which
// are written as on every chip.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/EpilogueWriter.h"
#include "WgmmaRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Barrier 0 is that of all threads.
static constexpr int64_t kResultBarrier = 1;

static void emitBarrier(KernelBuilder &b) {
  NVVM::BarrierOp::create(b, /*res=*/Type(), b.i32(kResultBarrier),
                          b.i32(kProductThreads),
                          /*reductionOp=*/NVVM::BarrierReductionAttr(),
                          /*reductionPredicate=*/Value());
}

int64_t WgmmaResults::getParts() const {
  const WgmmaLayout &shared = context.shared;
  int64_t part =
      context.spec.format.isScaledA ? shared.sumCols : shared.sumRows;
  return context.tile.plainRows / part;
}

void WgmmaResults::emitPart(
    const TileCoord &tile, Value part,
    function_ref<void(const ResultRow &row, Value fragment, Value col)> write) {
  const WgmmaLayout &shared = context.shared;
  const GemmScheduleAttr schedule = context.spec.schedule;
  int64_t fragments = shared.sumCols / context.spec.products / kFragment;
  Lanes number(b, thread.number);
  Lanes inPart = number & (shared.sumRows - 1);
  Lanes fragment = number >> llvm::Log2_64(shared.sumRows);
  emit::emitIf(b, compare(Predicate::ult, fragment, fragments), [&] {
    Lanes row = Lanes(b, tile.row) * schedule.getRows() + inPart;
    Lanes col = Lanes(b, tile.col) * context.spec.getResultCols() +
                fragment * kFragment;
    if (context.spec.format.isScaledA)
      col = col + Lanes(b, part) * shared.sumCols;
    else
      row = row + Lanes(b, part) * shared.sumRows;
    const ProductRange &product = tile.product;
    write({product.number, Lanes(b, tile.firstResult) + toI64(b, row),
           isBelow(b, row, product.rows), row, product.rows, product.firstBand},
          fragment, col);
  });
}

/// Stores the sums of a part of a tile to shared memory (PTX ISA, "Register
/// Fragments for wgmma.mma_async.m64nNk16", "Accumulator D").
void WgmmaResults::emitStoreSums(ValueRange sums) {
  const WgmmaLayout &shared = context.shared;
  bool isScaledA = context.spec.format.isScaledA;
  constexpr int64_t accumulator = 4;
  Lanes row(b, thread.row), col = Lanes(b, thread.member) * 2;
  // Distances, in f32, of sums of neighbouring scaled and plain rows.
  int64_t scaledPitch = isScaledA ? shared.sumPitch : 1;
  int64_t plainPitch = isScaledA ? 1 : shared.sumPitch;
  Value base = b.offset(context.getShared(b, shared.sums), b.getF32Type(),
                        row * scaledPitch + col * plainPitch);
  auto address = [&](int64_t i) {
    int64_t plain = i / accumulator * 8 + i % 2;
    int64_t scaled = i % accumulator / 2 * kRowDistance;
    return b.offset(base, b.getF32Type(),
                    b.i32(plain * plainPitch + scaled * scaledPitch));
  };
  for (size_t i = 0; i < sums.size(); i += 2) {
    if (isScaledA) {
      b.store(b.pack(sums.slice(i, 2)), address(i), 2 * kWordBytes);
      continue;
    }
    b.store(sums[i], address(i), kWordBytes);
    b.store(sums[i + 1], address(i + 1), kWordBytes);
  }
}

void WgmmaResults::emitSums(const TileCoord &tile, ValueRange sums) {
  const WgmmaLayout &shared = context.shared;
  int64_t parts = getParts();
  size_t each = sums.size() / parts;
  auto type = VectorType::get({kFragment}, b.getF32Type());
  emitCount(b, b.i32(parts), {}, [&](Value part, ValueRange) {
    // Registers have no numbers: each part has its code. What makes results of
    // them stands once.
    for (int64_t i = 0; i < parts; ++i)
      emit::emitIf(b, compare(Predicate::eq, Lanes(b, part), i),
                   [&] { emitStoreSums(sums.slice(i * each, each)); });
    emitBarrier(b);
    emitPart(tile, part, [&](const ResultRow &row, Value fragment, Value col) {
      Lanes inPart = Lanes(b, thread.number) & (shared.sumRows - 1);
      SmallVector<Value> ofProducts;
      for (int64_t i = 0; i < context.spec.products; ++i) {
        int64_t first = i * (shared.sumCols / context.spec.products);
        Value address = b.offset(
            context.getShared(b, shared.sums), b.getF32Type(),
            inPart * shared.sumPitch + Lanes(b, fragment) * kFragment + first);
        SmallVector<Value> words;
        for (Lanes word : emitLoadWords(b, address, kFragment * kWordBytes, 16))
          words.push_back(word);
        ofProducts.push_back(b.bitcast(type, b.pack(words)));
      }
      createRowWriter(b, context.spec, context.arguments, row)
          ->emitFragment(ofProducts, col);
    });
    emitBarrier(b);
    return SmallVector<Value>();
  });
  if (context.spec.hasPadding())
    emitPadding(tile);
}

void WgmmaResults::emitPadding(const TileCoord &tile) {
  Lanes firstRow = Lanes(b, tile.row) * context.spec.schedule.getRows();
  Lanes firstCol = Lanes(b, tile.col) * context.spec.getResultCols();
  Lanes endRow = firstRow + context.spec.schedule.getRows();
  Lanes endCol = firstCol + context.spec.getResultCols();
  auto getPaddedEnd = [&](Lanes end, Lanes size, int64_t multiple) {
    Lanes padded = (size + (multiple - 1)) & -multiple;
    return select(compare(Predicate::ult, end, size), end,
                  maxUnsigned(end, padded));
  };
  Lanes paddedRow =
      getPaddedEnd(endRow, Lanes(b, tile.product.rows), kTileRows);
  Lanes paddedCol =
      getPaddedEnd(endCol, Lanes(b, context.arguments.cols), Sink::kPaddedCols);
  // First rows below the tile, then columns beside it.
  emitCount(b, b.i32(2), {}, [&](Value region, ValueRange) {
    Lanes isBelow = compare(Predicate::eq, Lanes(b, region), 0);
    Lanes rowBegin = select(isBelow, endRow, firstRow);
    Lanes rowEnd = select(isBelow, paddedRow, endRow);
    Lanes colBegin = select(isBelow, firstCol, endCol);
    Lanes fragments = (paddedCol - colBegin) >> llvm::Log2_64(kFragment);
    Lanes count = (rowEnd - rowBegin) * fragments;
    emitWhile(
        b, thread.number,
        [&](ValueRange values) {
          return blockscale::isBelow(b, values.front(), count);
        },
        [&](ValueRange values) {
          Lanes number(b, values.front());
          Lanes line = divide(b, number, fragments);
          Lanes row = rowBegin + line;
          Lanes col = colBegin + (number - line * fragments) * kFragment;
          const ProductRange &product = tile.product;
          Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
          ResultRow padding = {product.number,
                               Lanes(b, tile.firstResult) + toI64(b, row),
                               no,
                               row,
                               product.rows,
                               product.firstBand};
          createRowWriter(b, context.spec, context.arguments, padding)
              ->emitPadding(col);
          return SmallVector<Value>{number + kProductThreads};
        });
    return SmallVector<Value>();
  });
}

void WgmmaResults::emitTile(const TileCoord &tile) {
  emitCount(b, b.i32(getParts()), {}, [&](Value part, ValueRange) {
    emitPart(tile, part, [&](const ResultRow &row, Value, Value col) {
      createRowWriter(b, context.spec, context.arguments, row)->emitZeros(col);
    });
    return SmallVector<Value>();
  });
}

void WgmmaResults::emitRest(const ProductRange &product, Value cluster,
                            Value clusters) {
  if (!context.spec.hasRest())
    return;
  // It is the work of as many threads as a tile of scales has words.
  Value isOne = compare(Predicate::ult, Lanes(b, thread.number), kTileRows);
  emit::emitIf(b, isOne, [&] {
    context.spec.epilogue->sink->emitRest(
        b, context.arguments.sink, context.arguments.cols,
        {product.firstBand, thread.number, cluster, clusters});
  });
}

} // namespace blockscale::gemm
