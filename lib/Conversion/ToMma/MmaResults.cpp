//===- MmaResults.cpp - Sums into results ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "MmaRoles.h"
#include "Products/Arithmetic.h"
#include "Products/EpilogueWriter.h"
#include "Products/TilePadding.h"

#include <cmath>

using namespace mlir;

namespace blockscale::gemm {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

MmaResults::MmaResults(KernelBuilder &b, const MmaContext &context,
                       const MmaThread &thread)
    : b(b), context(context), thread(thread) {
  // What a sink takes has all columns of a fragment. Other results are stored
  // by 16 bytes, so that threads beside each other store whole lines.
  const MmaSpec &spec = context.spec;
  width = spec.epilogue ? kFragment : kCopyBytes / getByteSize(spec.result);
}

int64_t MmaResults::getParts() const {
  const MmaLayout &shared = context.shared;
  return context.tile.plainRows /
         (context.spec.format.isScaledA ? shared.sumCols : shared.sumRows);
}

void MmaResults::emitPart(
    const TileCoord &tile, Value part,
    function_ref<void(const ResultRow &row, Value place, Value col)> write) {
  const MmaSpec &spec = context.spec;
  const MmaLayout &shared = context.shared;
  bool isScaledA = spec.format.isScaledA;
  int64_t threads = spec.getThreads();
  int64_t fragments = shared.sumCols / spec.products / width;
  int64_t count = shared.sumRows * fragments;
  Lanes number(b, thread.number);
  emitCount(
      b, b.i32(llvm::divideCeil(count, threads)), {}, [&](Value i, ValueRange) {
        Lanes item = Lanes(b, i) * threads + number;
        auto emitItem = [&] {
          Lanes inPart = item >> llvm::Log2_64(fragments);
          Lanes fragment = (item & (fragments - 1)) * width;
          Lanes row = Lanes(b, tile.row) * spec.schedule.getRows() + inPart;
          Lanes col = Lanes(b, tile.col) * spec.getResultCols() + fragment;
          if (isScaledA)
            col = col + Lanes(b, part) * shared.sumCols;
          else
            row = row + Lanes(b, part) * shared.sumRows;
          const ProductRange &product = tile.product;
          write({product.number, Lanes(b, tile.firstResult) + toI64(b, row),
                 isBelow(b, row, product.rows), row, product.rows,
                 product.firstBand},
                inPart * shared.sumPitch + fragment, col);
        };
        if (count % threads == 0)
          emitItem();
        else
          emit::emitIf(b, compare(Predicate::ult, item, count), emitItem);
        return SmallVector<Value>();
      });
}

/// The `width` sums (f32) from `place` on: those of each team, added in the
/// order of their numbers, and brought to the size of results.
Value MmaResults::loadSums(Value place) {
  const MmaLayout &shared = context.shared;
  SmallVector<Value> sums;
  for (int64_t i = 0; i < context.spec.getTeams(); ++i) {
    Value address =
        b.offset(context.getShared(b, shared.sums + i * shared.sumBytes),
                 b.getF32Type(), place);
    for (auto [j, word] : llvm::enumerate(
             emitLoadWords(b, address, width * kWordBytes, kCopyBytes))) {
      Value value = b.bitcast(b.getF32Type(), word);
      if (i == 0)
        sums.push_back(value);
      else
        sums[j] = Lanes(b, sums[j]) + Lanes(b, value);
    }
  }
  if (int shift = context.spec.format.getSumShift())
    for (Value &sum : sums)
      sum = Lanes(b, sum) * std::ldexp(1.0f, shift);
  return b.pack(sums);
}

/// Stores the sums of a part of a tile (PTX ISA, "Matrix Fragments for
/// mma.m16n8k16", "Accumulators"): two are of plain rows beside each other, and
/// the next two of the row with scales that is eight rows behind.
void MmaResults::emitStoreSums(ValueRange sums) {
  const MmaLayout &shared = context.shared;
  bool isScaledA = context.spec.format.isScaledA;
  constexpr int64_t distance = kScaledFragment / 2;
  Lanes scaled = Lanes(b, thread.warpRow) + Lanes(b, thread.row);
  Lanes plain = Lanes(b, thread.member) * 2;
  // Distances, in f32, of sums of neighbouring scaled and plain rows.
  int64_t scaledPitch = isScaledA ? shared.sumPitch : 1;
  int64_t plainPitch = isScaledA ? 1 : shared.sumPitch;
  Value base =
      b.offset(context.getShared(b, shared.sums, thread.team, shared.sumBytes),
               b.getF32Type(), scaled * scaledPitch + plain * plainPitch);
  auto store = [&](ValueRange values, int64_t plain, int64_t scaled) {
    int64_t place = plain * plainPitch + scaled * scaledPitch;
    b.store(values.size() > 1 ? b.pack(values) : values.front(),
            b.offset(base, b.getF32Type(), b.i32(place)),
            static_cast<unsigned>(values.size()) * kWordBytes);
  };
  for (size_t i = 0; i < sums.size(); i += 2) {
    auto fragment = static_cast<int64_t>(i) / kFragmentSums;
    int64_t plain = fragment / kWarpFragments * kPlainFragment;
    int64_t scaled = fragment % kWarpFragments * kScaledFragment +
                     static_cast<int64_t>(i) % kFragmentSums / 2 * distance;
    if (isScaledA) {
      store(sums.slice(i, 2), plain, scaled);
      continue;
    }
    store(sums.slice(i, 1), plain, scaled);
    store(sums.slice(i + 1, 1), plain + 1, scaled);
  }
}

void MmaResults::emitSums(const TileCoord &tile, ValueRange sums) {
  const MmaSpec &spec = context.spec;
  const MmaLayout &shared = context.shared;
  int64_t parts = getParts();
  size_t each = sums.size() / parts;
  emitCount(b, b.i32(parts), {}, [&](Value part, ValueRange) {
    // Registers have no numbers: each part has its code. What makes results of
    // them stands once.
    for (int64_t i = 0; i < parts; ++i)
      emit::emitIf(b, compare(Predicate::eq, Lanes(b, part), i),
                   [&] { emitStoreSums(sums.slice(i * each, each)); });
    gpu::BarrierOp::create(b);
    emitPart(tile, part, [&](const ResultRow &row, Value place, Value col) {
      SmallVector<Value> ofProducts;
      for (int64_t i = 0; i < spec.products; ++i)
        ofProducts.push_back(
            loadSums(Lanes(b, place) + i * (shared.sumCols / spec.products)));
      createRowWriter(b, spec, context.arguments, row, width)
          ->emitFragment(ofProducts, col);
    });
    gpu::BarrierOp::create(b);
    return SmallVector<Value>();
  });
  if (spec.hasPadding())
    emitTilePadding(b, spec, context.arguments, tile, thread.number,
                    spec.getThreads());
}

void MmaResults::emitTile(const TileCoord &tile) {
  emitCount(b, b.i32(getParts()), {}, [&](Value part, ValueRange) {
    emitPart(tile, part, [&](const ResultRow &row, Value, Value col) {
      createRowWriter(b, context.spec, context.arguments, row, width)
          ->emitZeros(col);
    });
    return SmallVector<Value>();
  });
}

void MmaResults::emitRest(const ProductRange &product, Value cluster,
                          Value clusters) {
  if (context.spec.hasRest())
    emitSinkRest(b, context.spec, context.arguments, product, thread.number,
                 cluster, clusters);
}

} // namespace blockscale::gemm
