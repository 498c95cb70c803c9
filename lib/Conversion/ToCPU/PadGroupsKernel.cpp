//===- PadGroupsKernel.cpp - Groups padded to whole blocks ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/GroupLoop.h"
#include "Kernels.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

/// Rows of the result that an item has.
static constexpr int64_t kPaddedRowsPerItem = 64;

/// Elements that are copied at a time.
static constexpr int64_t kCopiedPerStep = 32;

Value countItems(PadGroupsOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getPadded());
  return site.countItems(
      sizes, ceilDiv(b, toIndex(b, sizes.front()), kPaddedRowsPerItem));
}

/// The groups of the result.
static GroupedDim getGroups(ImplicitLocOpBuilder &b, PadGroupsOp op,
                            const KernelOperands &operands) {
  GroupedDim groups =
      GroupedDim::get(b, operands.lookup(op.getOffsets()),
                      getDim(b, operands.lookup(op.getPadded()), 0));
  groups.padUnit = static_cast<int64_t>(op.getUnit());
  groups.sourceExtent = getDim(b, operands.lookup(op.getX()), 0);
  return groups;
}

/// Stores the ends of the padded groups.
void emitPrologue(PadGroupsOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  Value ends = site.lookup(op.getEnds());
  emitGroupLoop(
      b, getGroups(b, op, site.getOperands()), [&](const Group &group) {
        Value end = arith::IndexCastOp::create(b, b.getI32Type(), group.end);
        memref::StoreOp::create(b, end, ends, ValueRange(group.index));
      });
}

namespace {

/// Emits rows of the result.
class PaddedRows {
public:
  PaddedRows(PadGroupsOp op, const ItemRange &range)
      : b(range.b), x(range.lookup(op.getX())),
        padded(range.lookup(op.getPadded())), cols(getDim(b, padded, 1)) {}

  /// Rows [begin, end) are those of x that lie `offset` behind them.
  void emitCopy(Value begin, Value end, Lanes offset) {
    emitLoop(b, begin, end, [&](Lanes row) {
      emitUnitSteps(b, cols, kCopiedPerStep, [&](Value col, int64_t count) {
        storeLanes(loadLanes(b, x, {row + offset, col}, count), padded,
                   {row, col});
      });
    });
  }

  void emitZeros(Value begin, Value end) {
    Type element = cast<MemRefType>(padded.getType()).getElementType();
    Type bits = b.getIntegerType(element.getIntOrFloatBitWidth());
    emitLoop(b, begin, end, [&](Lanes row) {
      emitUnitSteps(b, cols, kCopiedPerStep, [&](Value col, int64_t count) {
        auto type = VectorType::get({count}, bits);
        Lanes zero(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
        storeLanes(zero, padded, {row, col});
      });
    });
  }

private:
  ImplicitLocOpBuilder &b;
  Value x, padded, cols;
};

} // namespace

void emitItems(PadGroupsOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value rows = getDim(b, range.lookup(op.getPadded()), 0);
  GroupedDim groups = getGroups(b, op, range.operands);
  PaddedRows result(op, range);
  emitLoop(b, range.begin, range.end, [&](Lanes item) {
    Value first = item * kPaddedRowsPerItem;
    Value last = min(b, add(b, first, getIndex(b, kPaddedRowsPerItem)), rows);
    Lanes behind = emitGroupLoop(b, groups, [&](const Group &group) {
      Lanes padding = group.begin + (group.sourceEnd - group.source);
      result.emitCopy(max(b, first, group.begin), min(b, last, padding),
                      group.source - group.begin);
      result.emitZeros(max(b, first, padding), min(b, last, group.end));
    });
    result.emitZeros(max(b, first, behind), last);
  });
}

} // namespace blockscale::cpu
