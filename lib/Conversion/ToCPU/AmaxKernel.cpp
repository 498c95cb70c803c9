//===- AmaxKernel.cpp - Largest absolute values ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/FloatCodec.h"
#include "Emission/GroupLoop.h"
#include "Kernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Elements of a step: a cache line of bf16 twice over.
static constexpr int64_t kReducedPerStep = 64;

Value countItems(AmaxOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  if (!op.isPerRow())
    return site.countItems(sizes, toIndex(b, sizes.end()[-2]));
  // Rows without elements have a result too.
  Value items = getIndex(b, 1);
  for (OpFoldResult size : ArrayRef<OpFoldResult>(sizes).drop_back())
    items = mul(b, items, toIndex(b, size));
  return items;
}

Value countItems(AmaxPartsOp op, CallSite &site) {
  CallSite::Sizes sizes = site.getSizes(op.getX());
  return site.countItems(sizes, toIndex(site.b, sizes.end()[-2]));
}

/// Clears a result, which ranges of rows raise from 0.
static void emitClear(ImplicitLocOpBuilder &b, Value amax) {
  Indices sizes =
      getLeadingSizes(b, amax, cast<MemRefType>(amax.getType()).getRank());
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
  emitLoop(b, getIndex(b, 0), getProduct(b, sizes), [&](Value item) {
    memref::StoreOp::create(b, zero, amax, delinearize(b, item, sizes));
  });
}

void emitPrologue(AmaxOp op, CallSite &site) {
  // A row that has an amax of its own stores it.
  if (!op.isPerRow())
    emitClear(site.b, site.lookup(op.getAmax()));
}

void emitPrologue(AmaxPartsOp op, CallSite &site) {
  emitClear(site.b, site.lookup(op.getParts()));
}

/// The larger one of `amax` and the magnitude bits of the elements [begin, end)
/// of a row.
static Lanes emitRaise(Lanes amax, Value x, ValueRange row, Value begin,
                       Value end) {
  ImplicitLocOpBuilder &b = amax.getBuilder();
  Value whole =
      mul(b, div(b, sub(b, end, begin), kReducedPerStep), kReducedPerStep);
  Value wholeEnd = add(b, begin, whole);
  auto lanesType = VectorType::get(kReducedPerStep, amax.getElementType());
  Value init = arith::ConstantOp::create(b, b.getZeroAttr(lanesType));
  Value lanes = emitReduction(
      b, begin, wholeEnd, init,
      [&](Value col, Value carried) -> Value {
        Lanes step = loadLanes(b, x, append(row, col), kReducedPerStep);
        return maxUnsigned(Lanes(b, carried), emitMagnitudeBits(step));
      },
      kReducedPerStep);
  Lanes largest(
      b, vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, lanes));
  Value result = emitReduction(b, wholeEnd, end, maxUnsigned(amax, largest),
                               [&](Value col, Value carried) -> Value {
                                 Lanes bits = loadBits(b, x, append(row, col));
                                 return maxUnsigned(Lanes(b, carried),
                                                    emitMagnitudeBits(bits));
                               });
  return Lanes(b, result);
}

namespace {

/// Emits the amaxes of parts of one kernel's rows.
class AmaxEmitter {
public:
  AmaxEmitter(const ItemRange &range, Value x, Value amax)
      : b(range.b), x(range.lookup(x)), amax(range.lookup(amax)) {
    auto type = cast<MemRefType>(this->x.getType());
    cols = getDim(b, this->x, type.getRank() - 1);
    element = type.getElementType();
  }

  Value getX() const { return x; }
  Value getCols() const { return cols; }

  Lanes getZero() const {
    return Lanes(
        b, arith::ConstantOp::create(
               b, b.getIntegerAttr(
                      b.getIntegerType(element.getIntOrFloatBitWidth()), 0)));
  }

  /// Magnitude bits of a row.
  Lanes emitRow(ValueRange row) {
    return emitRaise(getZero(), x, row, getIndex(b, 0), cols);
  }

  /// Magnitude bits of rows and columns of a matrix.
  Lanes emitRectangle(Value firstRow, Value lastRow, Value firstCol,
                      Value lastCol) {
    Value bits = emitReduction(b, firstRow, lastRow, getZero(),
                               [&](Value row, Value carried) -> Value {
                                 return emitRaise(Lanes(b, carried), x, row,
                                                  firstCol, lastCol);
                               });
    return Lanes(b, bits);
  }

  void emitStore(Lanes bits, ValueRange position) {
    storeBits(toBits(emitDecodeFloat(element, bits)), amax, position);
  }

  /// Raises a result that several threads have rows of.
  void emitRaiseResult(Lanes bits, ValueRange position) {
    memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::maximumf,
                                emitDecodeFloat(element, bits), amax, position);
  }

private:
  ImplicitLocOpBuilder &b;
  Value x, amax, cols;
  Type element;
};

} // namespace

/// The part of each group that lies in the rows of the range.
static void emitGroups(AmaxOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  AmaxEmitter emitter(range, op.getX(), op.getAmax());
  bool alongRows = op.getGroupDim() == 0;
  Value extent = alongRows ? getDim(b, emitter.getX(), 0) : emitter.getCols();
  emitGroupLoop(b, GroupedDim::get(b, range.lookup(op.getOffsets()), extent),
                [&](const Group &group) {
                  Lanes bits =
                      alongRows ? emitter.emitRectangle(
                                      max(b, group.begin, range.begin),
                                      min(b, group.end, range.end),
                                      getIndex(b, 0), emitter.getCols())
                                : emitter.emitRectangle(range.begin, range.end,
                                                        group.begin, group.end);
                  emitter.emitRaiseResult(bits, {group.index});
                });
}

void emitItems(AmaxOp op, const ItemRange &range) {
  if (op.getOffsets())
    return emitGroups(op, range);
  ImplicitLocOpBuilder &b = range.b;
  AmaxEmitter emitter(range, op.getX(), op.getAmax());
  Indices rowSizes = getLeadingSizes(b, emitter.getX(),
                                     getTensorType(op.getX()).getRank() - 1);
  bool perElement = isPerElement(range.lookup(op.getAmax()));
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    Lanes bits = emitter.emitRow(row);
    if (op.isPerRow())
      return emitter.emitStore(bits, row);
    emitter.emitRaiseResult(bits, perElement ? ValueRange(row).drop_back()
                                             : ValueRange());
  });
}

/// Rows take turns with the parts.
void emitItems(AmaxPartsOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  AmaxEmitter emitter(range, op.getX(), op.getParts());
  Indices rowSizes = getLeadingSizes(b, emitter.getX(),
                                     getTensorType(op.getX()).getRank() - 1);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Lanes bits = emitter.emitRow(delinearize(b, item, rowSizes));
    Value part = rem(b, item, op.getParts().getType().getDimSize(1));
    emitter.emitRaiseResult(bits, {getIndex(b, 0), part});
  });
}

} // namespace blockscale::cpu
