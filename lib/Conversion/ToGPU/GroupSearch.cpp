//===- GroupSearch.cpp - Which group something is in ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupSearch.h"
#include "DeviceCode.h"

using namespace mlir;

namespace blockscale {

/// The first group that ends behind a position has it, whatever the order of
/// the ends. All threads read the same ones, and none waits for a comparison.
SmallVector<Value> emitFindGroups(KernelBuilder &b, Value offsets, Value count,
                                  ValueRange positions) {
  SmallVector<Value> none(positions.size(), count);
  return cpu::emitReduction(
      b, cpu::getIndex(b, 0), toIndex(b, count), none,
      [&](Value i, ValueRange found) -> SmallVector<Value> {
        Value index = arith::IndexCastOp::create(b, b.getI64Type(), i);
        Value end = emitLoadBits(b, offsets, b.getI32Type(), i);
        end = arith::ExtSIOp::create(b, b.getI64Type(), end);
        SmallVector<Value> next;
        for (auto [position, first] : llvm::zip_equal(positions, found)) {
          Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                                                 end, position);
          Value here = arith::SelectOp::create(b, isBehind, index, count);
          next.push_back(arith::MinUIOp::create(b, first, here));
        }
        return next;
      });
}

} // namespace blockscale
