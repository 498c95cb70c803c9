//===- HadamardKernel.cpp - Random Hadamard transform ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/FloatCodec.h"
#include "Kernels.h"
#include "blockscale/Numerics/Hadamard.h"

using namespace mlir;
using blockscale::numerics::kHadamardSize;

namespace blockscale::cpu {

/// Groups that are transformed side by side, one a lane.
static constexpr int64_t kTransformedPerStep = 16;

Value countItems(HadamardOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  Value rows = toIndex(b, sizes.end()[-2]);
  return site.countItems(sizes,
                         op.getDim() == 1 ? rows : div(b, rows, kHadamardSize));
}

/// The transform of bf16 bits, rounded once.
static void emitTransformBits(MutableArrayRef<Lanes> bits, uint64_t signMask) {
  Type bf16 = bits.front().getBuilder().getBF16Type();
  SmallVector<Lanes> x;
  for (Lanes &element : bits)
    x.push_back(emitDecodeFloat(bf16, element));
  numerics::transformHadamardValues([&](int i) -> Lanes & { return x[i]; },
                                    signMask);
  for (auto [element, value] : llvm::zip_equal(bits, x))
    element = emitEncodeFloat(bf16, value);
}

/// Joins vectors: the inverse of splitByResidue.
static Lanes joinByResidue(ArrayRef<Lanes> parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<Lanes> evens, odds;
  for (auto [i, part] : llvm::enumerate(parts))
    (i % 2 == 0 ? evens : odds).push_back(part);
  return interleave(joinByResidue(evens), joinByResidue(odds));
}

/// Transforms groups along a row: lanes are groups, so that elements change
/// places.
static void emitRow(HadamardOp op, const ItemRange &range, ValueRange row) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), result = range.lookup(op.getResult());
  Value groups = div(b, getDim(b, x, row.size()), kHadamardSize);
  emitUnitSteps(
      b, groups, kTransformedPerStep, [&](Value group, int64_t count) {
        Indices first = append(row, mul(b, group, kHadamardSize));
        Lanes step = loadLanes(b, x, first, count * kHadamardSize);
        SmallVector<Lanes> elements = splitByResidue(step, kHadamardSize);
        emitTransformBits(elements, op.getSignMask());
        storeLanes(joinByResidue(elements), result, first);
      });
}

/// Transforms groups down the columns of 16 rows: lanes are columns.
static void emitBand(HadamardOp op, const ItemRange &range, ValueRange batch,
                     Value firstRow) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), result = range.lookup(op.getResult());
  Value cols = getDim(b, x, batch.size() + 1);
  SmallVector<Indices> rows;
  for (int64_t i = 0; i < kHadamardSize; ++i)
    rows.push_back(append(batch, add(b, firstRow, getIndex(b, i))));
  emitUnitSteps(b, cols, kTransformedPerStep, [&](Value col, int64_t count) {
    SmallVector<Lanes> elements;
    for (const Indices &row : rows)
      elements.push_back(loadLanes(b, x, append(row, col), count));
    emitTransformBits(elements, op.getSignMask());
    for (auto [element, row] : llvm::zip_equal(elements, rows))
      storeLanes(element, result, append(row, col));
  });
}

void emitItems(HadamardOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX());
  int64_t rank = getTensorType(op.getX()).getRank();
  bool alongRows = op.getDim() == 1;
  Indices sizes = getLeadingSizes(b, x, rank - 1);
  if (!alongRows)
    sizes.back() = div(b, sizes.back(), kHadamardSize);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices index = delinearize(b, item, sizes);
    if (alongRows)
      return emitRow(op, range, index);
    Value firstRow = mul(b, index.back(), kHadamardSize);
    emitBand(op, range, ValueRange(index).drop_back(), firstRow);
  });
}

} // namespace blockscale::cpu
