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
/// whose remainder is; null where there is none. `isSigned` says how it is
/// compared.
static Value getNumber(cf::AssertOp op, bool &isSigned) {
  auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isIntOrIndex())
    return {};
  // A number of one bit has no sign.
  isSigned = compare.getPredicate() < arith::CmpIPredicate::ult &&
             !compare.getLhs().getType().isInteger(1);
  bool isConstant = matchPattern(compare.getLhs(), m_Constant());
  Value number = isConstant ? compare.getRhs() : compare.getLhs();
  if (auto rest = number.getDefiningOp<arith::RemUIOp>())
    number = rest.getLhs();
  else if (auto rest = number.getDefiningOp<arith::RemSIOp>())
    number = rest.getLhs();
  return number.getType().isIndex() ||
                 number.getType().getIntOrFloatBitWidth() <= 64
             ? number
             : Value();
}

/// Whether a return from `function` ends the call of the module: nothing in the
/// module calls it. Its results are numbers, in whose place it may return
/// zeros.
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
    cpu::ErrorReporter reporter(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto ops = llvm::to_vector(function.getBody().getOps<cf::AssertOp>());
      if (!ops.empty() && leavesCall(function))
        for (cf::AssertOp op : ops)
          report(op, reporter);
    }
  }
};

} // namespace
} // namespace blockscale
