//===- GroupCheck.cpp - The check of ends of groups in kernels ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupCheck.h"
#include "DeviceCode.h"
#include "ErrorWriter.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::GroupFault;
using emit::GroupRules;
using emit::Lanes;

namespace {

class GroupChecker {
public:
  GroupChecker(KernelBuilder &b, const GroupRules &rules, Value offsets,
               Value count, Value extent)
      : b(b), rules(rules), offsets(offsets), count(toI64(count)),
        extent(toI64(extent)) {}

  /// Emits the check for the lane `lane` (index).
  void emit(Lanes lane);

private:
  Lanes toI64(Value value) {
    Type i64 = b.getI64Type();
    if (value.getType().isIndex())
      return Lanes(b, b.createOrFold<arith::IndexCastOp>(i64, value));
    if (value.getType() != i64)
      value = arith::ExtSIOp::create(b, i64, value);
    return Lanes(b, value);
  }
  Lanes loadEnd(Lanes group) {
    return toI64(emitLoadBits(b, offsets, b.getI32Type(), group));
  }
  GroupFault findFault(Lanes group) {
    Lanes isFirst = emit::isEqual(group, 0);
    Lanes before = loadEnd(select(isFirst, group, group - 1));
    return emit::findFault(rules, loadEnd(group),
                           select(isFirst, group.like(0), before), extent);
  }

  KernelBuilder &b;
  const GroupRules &rules;
  Value offsets;
  Lanes count, extent;
};

} // namespace

/// Lanes have every 32nd group, and the one whose faulty group is the first
/// writes.
void GroupChecker::emit(Lanes lane) {
  Lanes none = b.i32(kAllLanes);
  Lanes own = emit::emitReduction(
      b, lane, toIndex(b, count), none,
      [&](Lanes i, Lanes least) -> Value {
        Lanes group = toI64(i);
        Lanes isRight = emit::isEqual(findFault(group).rule, 0);
        Lanes number = select(isRight, none, truncate(group, 32));
        return minUnsigned(least, number);
      },
      kWarpThreads);
  Lanes least(b, NVVM::ReduxOp::create(b, b.getI32Type(), own,
                                       upstream::KindOf<NVVM::ReduxOp>::UMIN,
                                       b.i32(kAllLanes)));
  Lanes isFound = compare(arith::CmpIPredicate::ne, least, none);
  emit::emitIf(b, isFound & emit::isEqual(least, own), [&] {
    Lanes group = extend(least, 64);
    GroupFault fault = findFault(group);
    emitErrorRecord(b, rules.op, fault.rule, group, fault.expected,
                    fault.found);
  });
}

void emitCheckGroups(KernelBuilder &b, const GroupRules &rules, Value offsets,
                     Value count, Value extent, Value isChecker, Value thread) {
  emit::emitIf(b, isChecker, [&] {
    Lanes number =
        thread.getType().isIndex() ? Lanes(b, thread) : toIndex(b, thread);
    GroupChecker(b, rules, offsets, count, extent)
        .emit(numerics::getLane(number));
  });
}

void emitCheckGroups(KernelBuilder &b, const GroupRules &rules, Value offsets,
                     Value count, Value extent, Value block) {
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Lanes isFirst = emit::isEqual(Lanes(b, block), 0);
  Lanes isInWarp = isBelow(Lanes(b, thread), kWarpThreads);
  emitCheckGroups(b, rules, offsets, count, extent, isFirst & isInWarp, thread);
}

} // namespace blockscale
