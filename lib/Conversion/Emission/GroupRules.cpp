//===- GroupRules.cpp - What the ends of groups have to keep --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupRules.h"
#include "LoopEmitter.h"
#include "OperandChecks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using blockscale::runtime::ErrorOp;
using blockscale::runtime::ErrorRule;

namespace blockscale::emit {

GroupRules getGroupRules(AmaxOp) { return {ErrorOp::Amax}; }

GroupRules getGroupRules(PadGroupsOp) { return {ErrorOp::PadGroups}; }

GroupRules getGroupRules(QuantizeOp op) {
  return {ErrorOp::Quantize, op.getBlock()[op.getGroupDim()]};
}

GroupRules getGroupRules(SwizzleOp op) {
  return {ErrorOp::Swizzle, static_cast<int64_t>(op.getBlock())};
}

GroupRules getGroupRules(ScaledGroupedMMOp op) {
  return {ErrorOp::ScaledGroupedMM, op.isKGrouped() ? op.getBlockSize() : 1};
}

GroupFault findFault(const GroupRules &rules, Lanes end, Lanes begin,
                     Lanes extent) {
  GroupFault fault{end.like(0), end.like(0), end};
  // What is added last is what a group with several faults reports.
  auto add = [&](Lanes isBroken, ErrorRule rule, Lanes expected, Lanes found) {
    fault = {select(isBroken, end.like(static_cast<int64_t>(rule)), fault.rule),
             select(isBroken, expected, fault.expected),
             select(isBroken, found, fault.found)};
  };
  auto isMultiple = [](Lanes of, int64_t unit) {
    return isEqual(of % unit, 0);
  };
  auto isNot = [](Lanes holds) { return holds ^ holds.like(1); };
  if (rules.beginUnit > 1)
    add(isLess(begin, end) & isNot(isMultiple(begin, rules.beginUnit)),
        ErrorRule::BeginBetweenCopies, end.like(rules.beginUnit), begin);
  if (rules.unit > 1)
    add(isNot(isMultiple(end, rules.unit)), ErrorRule::EndWithinBlock,
        end.like(rules.unit), end);
  add(isLess(extent, end), ErrorRule::EndBeyondExtent, extent, end);
  add(isLess(end, begin), ErrorRule::EndBeforeBegin, begin, end);
  return fault;
}

static SmallVector<Value> toIndices(CallSite &site, ArrayRef<OpFoldResult> of) {
  return llvm::map_to_vector(
      of, [&](OpFoldResult size) { return toIndex(site.b, size); });
}

GroupEndsInMemory getGroupEnds(AmaxOp op, CallSite &site) {
  if (!op.getOffsets())
    return {};
  SmallVector<Value> sizes = toIndices(site, site.getSizes(op.getX()));
  return {site.lookup(op.getOffsets()), sizes[op.getGroupDim()],
          getGroupRules(op), sizes};
}

/// Whatever the sizes are, there are ends of padded groups to write.
GroupEndsInMemory getGroupEnds(PadGroupsOp op, CallSite &site) {
  return {site.lookup(op.getOffsets()),
          toIndex(site.b, site.getSizes(op.getX()).front()),
          getGroupRules(op),
          {}};
}

GroupEndsInMemory getGroupEnds(QuantizeOp op, CallSite &site) {
  if (!op.getOffsets())
    return {};
  SmallVector<Value> sizes = toIndices(site, site.getSizes(op.getX()));
  Value extent = sizes[op.getGroupDim()];
  if (getGroupedLayout(op.getScale().getType()))
    sizes.erase(sizes.begin() + op.getGroupDim());
  return {site.lookup(op.getOffsets()), extent, getGroupRules(op), sizes};
}

GroupEndsInMemory getGroupEnds(SwizzleOp op, CallSite &site) {
  if (!op.getOffsets())
    return {};
  LayoutAttr grouped = op.getGroupedLayout();
  bool isFrom = getGroupedLayout(op.getSource().getType()) != nullptr;
  Value linear = isFrom ? op.getResult() : op.getSource();
  GroupRules rules = getGroupRules(op);
  SmallVector<Value> sizes = toIndices(site, site.getSizes(linear));
  Value extent = mul(site.b, sizes[grouped.getDim()], rules.unit);
  if (!isFrom)
    sizes.erase(sizes.begin() + grouped.getDim());
  return {site.lookup(op.getOffsets()), extent, rules, sizes};
}

GroupEndsInMemory getGroupEnds(ScaledGroupedMMOp op, CallSite &site) {
  CallSite::Sizes sizes = getSizesOfA(site, op);
  return {site.lookup(op.getOffsets()),
          toIndex(site.b, op.isKGrouped() ? sizes.back() : sizes.front()),
          getGroupRules(op), toIndices(site, site.getSizes(op.getResult()))};
}

FirstFault findFirstFault(ImplicitLocOpBuilder &b,
                          const GroupEndsInMemory &ends) {
  Type i64 = b.getI64Type();
  auto toI64 = [&](Value index) {
    return Lanes(b, b.createOrFold<arith::IndexCastOp>(i64, index));
  };
  Lanes extent = toI64(ends.extent);
  Value zero = arith::ConstantIntOp::create(b, 0, 64);
  // The fault, and where the next group begins.
  SmallVector<Value> found = emitReduction(
      b, getIndex(b, 0), getDim(b, ends.offsets, 0),
      {zero, zero, zero, zero, zero},
      [&](Value index, ValueRange carried) -> SmallVector<Value> {
        Value stored = memref::LoadOp::create(b, ends.offsets, index);
        Lanes end(b, arith::ExtSIOp::create(b, i64, stored));
        GroupFault fault =
            findFault(ends.rules, end, Lanes(b, carried[4]), extent);
        Lanes rule(b, carried[0]);
        Lanes isFirst = isEqual(rule, 0);
        auto take = [&](Lanes own, Value before) -> Value {
          return select(isFirst, own, Lanes(b, before));
        };
        return {take(fault.rule, rule), take(toI64(index), carried[1]),
                take(fault.expected, carried[2]), take(fault.found, carried[3]),
                end};
      });
  return {found[0], found[1], found[2], found[3]};
}

} // namespace blockscale::emit
