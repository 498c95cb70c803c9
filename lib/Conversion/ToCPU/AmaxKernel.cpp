//===- AmaxKernel.cpp - Largest absolute values ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Elements of a step: a cache line of bf16 twice over.
static constexpr int64_t kElementsPerStep = 64;

Value prepareCall(AmaxOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  ArrayRef<OpFoldResult> batch = ArrayRef<OpFoldResult>(sizes).drop_back(2);
  site.requireGlobalSizes("the result", op.getAmax(), batch, "x");
  Value items = toIndex(b, sizes[sizes.size() - 2]);
  for (OpFoldResult size : batch)
    items = mul(b, items, toIndex(b, size));
  return items;
}

/// Ranges of rows raise the result from 0.
void emitPrologue(AmaxOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  Value amax = site.lookup(op.getAmax());
  Indices sizes =
      getLeadingSizes(b, amax, cast<MemRefType>(amax.getType()).getRank());
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
  emitLoop(b, getIndex(b, 0), getProduct(b, sizes), [&](Value item) {
    memref::StoreOp::create(b, zero, amax, delinearize(b, item, sizes));
  });
}

/// Magnitude bits of floats; as unsigned numbers they are ordered as the
/// magnitudes, NaN above infinity.
static Lanes emitMagnitude(Lanes bits) {
  unsigned width = bits.getElementType().getIntOrFloatBitWidth();
  return bits & ((uint64_t(1) << (width - 1)) - 1);
}

/// Magnitude bits of the amax of one row.
static Lanes emitRowAmax(ImplicitLocOpBuilder &b, Value x, ValueRange row,
                         Value cols) {
  Value zero = getIndex(b, 0);
  Value whole = mul(b, div(b, cols, kElementsPerStep), kElementsPerStep);
  auto integer =
      b.getIntegerType(cast<MemRefType>(x.getType()).getElementTypeBitWidth());
  auto lanesType = VectorType::get(kElementsPerStep, integer);
  Value init = arith::ConstantOp::create(b, b.getZeroAttr(lanesType));
  Value lanes = emitReduction(
      b, zero, whole, init,
      [&](Value col, Value carried) -> Value {
        Lanes step = loadLanes(b, x, append(row, col), kElementsPerStep);
        return maxUnsigned(Lanes(b, carried), emitMagnitude(step));
      },
      kElementsPerStep);
  Value amax =
      vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, lanes);
  amax = emitReduction(
      b, whole, cols, amax, [&](Value col, Value carried) -> Value {
        Lanes bits = loadBits(b, x, append(row, col));
        return maxUnsigned(Lanes(b, carried), emitMagnitude(bits));
      });
  return Lanes(b, amax);
}

void emitItems(AmaxOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), amax = range.lookup(op.getAmax());
  int64_t rank = getTensorType(op.getX()).getRank();
  Indices rowSizes = getLeadingSizes(b, x, rank - 1);
  Value cols = getDim(b, x, rank - 1);
  bool perElement = isPerElement(amax);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    Lanes bits = emitRowAmax(b, x, row, cols);
    if (bits.getElementType().isInteger(16))
      bits = extend(bits, 32) << 16;
    ValueRange element =
        perElement ? ValueRange(row).drop_back() : ValueRange();
    // Several threads may hold rows of one matrix.
    memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::maximumf, toF32(bits),
                                amax, element);
  });
}

} // namespace blockscale::cpu
