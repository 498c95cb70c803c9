//===- ReportAsserts.cpp - Assertions as errors of the call ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorReporter.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_REPORTASSERTS
#include "blockscale/Conversion/Passes.h.inc"

/// The number that an assertion is about: what is compared with another one, or
/// null. `isSigned` says how it is compared.
static Value getNumber(cf::AssertOp op, bool &isSigned) {
  auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isIntOrIndex())
    return {};
  // A number of one bit has no sign.
  isSigned = compare.getPredicate() < arith::CmpIPredicate::ult &&
             !compare.getLhs().getType().isInteger(1);
  bool isConstant = matchPattern(compare.getLhs(), m_Constant());
  Value number = isConstant ? compare.getRhs() : compare.getLhs();
  return number.getType().isIndex() ||
                 number.getType().getIntOrFloatBitWidth() <= 64
             ? number
             : Value();
}

/// Whether who leaves `function` leaves the call of the module: nothing calls
/// it in there. Its results are numbers, which zeros stand for.
static bool leavesCall(func::FuncOp function) {
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return llvm::all_of(function.getResultTypes(), isNumber) &&
         SymbolTable::symbolKnownUseEmpty(function, function->getParentOp());
}

/// Reports an assertion that does not hold, and leaves its function:
///
///   cf.assert %holds, "message"
/// becomes
///     cf.cond_br %holds, ^next, ^fail
///   ^fail:
///     llvm.call @blockscale_report_error(%message, %number)
///     return
///   ^next:
static void report(cf::AssertOp op, cpu::ErrorReporter &reporter) {
  Block *block = op->getBlock();
  Block *next = block->splitBlock(op);
  ImplicitLocOpBuilder b(op.getLoc(), op->getContext());
  Block *fail = b.createBlock(next);
  bool isSigned = true;
  if (Value number = getNumber(op, isSigned)) {
    reporter.emitReport(b, op.getMsg(), number, isSigned);
  } else {
    Value zero = arith::ConstantIntOp::create(b, 0, 64);
    reporter.emitReport(
        b, ("expected the assertion \"" + op.getMsg() + "\" to hold").str(),
        zero);
  }
  SmallVector<Value> results;
  for (Type type : op->getParentOfType<func::FuncOp>().getResultTypes())
    results.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  func::ReturnOp::create(b, results);
  b.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(b, op.getArg(), next, fail);
  op.erase();
}

namespace {

struct ReportAssertsPass : public impl::ReportAssertsBase<ReportAssertsPass> {
  void runOnOperation() override {
    SmallVector<cf::AssertOp> ops;
    getOperation()->walk([&](cf::AssertOp op) {
      auto function = dyn_cast<func::FuncOp>(op->getParentOp());
      if (function && leavesCall(function))
        ops.push_back(op);
    });
    cpu::ErrorReporter reporter(getOperation());
    for (cf::AssertOp op : ops)
      report(op, reporter);
  }
};

} // namespace
} // namespace blockscale
