//===- WarpResults.cpp - Sums into results --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/EpilogueWriter.h"
#include "Products/TilePadding.h"
#include "WarpRoles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// The number of the barrier of the threads that multiply.
static constexpr int64_t kResultBarrier = 1;

WarpResults::WarpResults(KernelBuilder &b, const WarpContext &context,
                         const WarpThread &thread)
    : b(b), context(context), thread(thread) {
  // What a sink takes has all columns of a fragment. Other results are stored
  // by 16 bytes, so that threads beside each other store whole lines.
  const ScaledGemmSpec &spec = context.spec;
  width = spec.epilogue ? kFragment : kCopyBytes / getByteSize(spec.result);
}

void WarpResults::emitBarrier() {
  NVVM::BarrierOp::create(b, /*res=*/Type(), b.i32(kResultBarrier),
                          b.i32(kMultiplyThreads),
                          /*reductionOp=*/NVVM::BarrierReductionAttr(),
                          /*reductionPredicate=*/Value());
}

void WarpResults::emitPart(
    const TileCoord &tile, Value part,
    function_ref<void(const ResultRow &row, Value place, Value col)> write) {
  int64_t fragments = context.spec.getResultCols() / width;
  int64_t count = kRepeatRows * fragments;
  Lanes number(b, thread.number);
  emitCount(
      b, b.i32(llvm::divideCeil(count, kMultiplyThreads)), {},
      [&](Value i, ValueRange) {
        Lanes item = Lanes(b, i) * kMultiplyThreads + number;
        auto emitItem = [&] {
          Lanes inPart = item >> llvm::Log2_64(fragments);
          Lanes fragment = (item & (fragments - 1)) * width;
          Lanes row = Lanes(b, tile.row) * kWarpTileRows +
                      Lanes(b, part) * kRepeatRows + inPart;
          const ProductRange &product = tile.product;
          write({product.number, Lanes(b, tile.firstResult) + toI64(b, row),
                 isBelow(b, row, product.rows), row, product.rows,
                 product.firstBand},
                inPart * context.shared.sumPitch + fragment,
                Lanes(b, tile.col) * context.spec.getResultCols() + fragment);
        };
        if (count % kMultiplyThreads == 0)
          emitItem();
        else
          emit::emitIf(b, compare(Predicate::ult, item, count), emitItem);
        return SmallVector<Value>();
      });
}

/// The `width` sums (f32) from `place` on.
Value WarpResults::loadSums(Value place) {
  Value address = b.offset(context.getShared(b, context.shared.sums),
                           b.getF32Type(), place);
  SmallVector<Value> sums;
  for (Lanes word : emitLoadWords(b, address, width * kWordBytes, kCopyBytes))
    sums.push_back(b.bitcast(b.getF32Type(), word));
  return b.pack(sums);
}

/// Stores the sums of one instruction along rows and of all along columns. Two
/// sums of a thread are beside each other, and the others are eight rows behind
/// (PTX ISA, "Matrix Fragments for mma.m16n8k64").
void WarpResults::emitStoreSums(ValueRange sums) {
  constexpr int64_t pair = 2;
  constexpr int64_t distance = kMmaRows / 2;
  Lanes lane(b, thread.lane);
  Lanes row = Lanes(b, thread.row) + (lane >> 2);
  Lanes col = Lanes(b, thread.col) + (lane & 3) * pair;
  Value base = b.offset(context.getShared(b, context.shared.sums),
                        b.getF32Type(), row * context.shared.sumPitch + col);
  for (int64_t j = 0; j < kColRepeats; ++j)
    for (int64_t i = 0; i < kMmaSums / pair; ++i) {
      int64_t place = j * kRepeatRows + i * distance * context.shared.sumPitch;
      b.store(b.pack(sums.slice(j * kMmaSums + i * pair, pair)),
              b.offset(base, b.getF32Type(), b.i32(place)), pair * kWordBytes);
    }
}

void WarpResults::emitSums(const TileCoord &tile, ValueRange sums) {
  constexpr int64_t each = kColRepeats * kMmaSums;
  const ScaledGemmSpec &spec = context.spec;
  emitCount(b, b.i32(kRowRepeats), {}, [&](Value part, ValueRange) {
    // Registers have no numbers: each part has its code. What makes results of
    // them stands once.
    for (int64_t i = 0; i < kRowRepeats; ++i)
      emit::emitIf(b, compare(Predicate::eq, Lanes(b, part), i),
                   [&] { emitStoreSums(sums.slice(i * each, each)); });
    emitBarrier();
    emitPart(tile, part, [&](const ResultRow &row, Value place, Value col) {
      SmallVector<Value> ofProducts;
      for (int64_t i = 0; i < spec.products; ++i)
        ofProducts.push_back(
            loadSums(Lanes(b, place) + i * spec.getResultCols()));
      createRowWriter(b, spec, context.arguments, row, width)
          ->emitFragment(ofProducts, col);
    });
    emitBarrier();
    return SmallVector<Value>();
  });
  if (spec.hasPadding())
    emitTilePadding(b, spec, context.arguments, tile, thread.number,
                    kMultiplyThreads);
}

void WarpResults::emitTile(const TileCoord &tile) {
  emitCount(b, b.i32(kRowRepeats), {}, [&](Value part, ValueRange) {
    emitPart(tile, part, [&](const ResultRow &row, Value, Value col) {
      createRowWriter(b, context.spec, context.arguments, row, width)
          ->emitZeros(col);
    });
    return SmallVector<Value>();
  });
}

void WarpResults::emitRest(const ProductRange &product, Value cluster,
                           Value clusters) {
  if (context.spec.hasRest())
    emitSinkRest(b, context.spec, context.arguments, product, thread.number,
                 cluster, clusters);
}

} // namespace blockscale::gemm
