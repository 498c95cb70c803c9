//===- ReportAsserts.cpp - Assertions as errors of the call ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/AssertReport.h"
#include "ErrorReporter.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_REPORTASSERTS
#include "blockscale/Conversion/Passes.h.inc"

namespace {

/// Makes assertions errors of the call. A function that another one calls
/// returns whether all has held, and who calls it leaves, too:
///
///   func.func private @g(%x: memref<4xf32>) {
///     cf.assert %holds, "message"
///     return
///   }
///   func.call @g(%x)
/// becomes
///   func.func private @g(%x: memref<4xf32>) -> i1 {
///     cf.cond_br %holds, ^next, ^fail
///   ^fail:
///     llvm.call @blockscale_report_error(%message, %number)
///     return %false
///   ^next:
///     return %true
///   }
///   %held = func.call @g(%x)
///   cf.cond_br %held, ^next, ^fail
class Reporter {
public:
  explicit Reporter(ModuleOp module) : module(module), reporter(module) {}

  void run();

private:
  void findFailing();
  void findMemory(func::FuncOp function);
  void rewrite(func::FuncOp function);
  void leave(Operation *op, Value holds, Block *next, Block *fail);
  void report(cf::AssertOp op);
  void follow(func::CallOp call);

  ModuleOp module;
  cpu::ErrorReporter reporter;
  /// The functions that may leave early, and those of them that say so.
  llvm::SetVector<func::FuncOp> failing, telling;
  /// The assertions and calls at which functions may leave, with the memory
  /// that they have to free then.
  llvm::MapVector<Operation *, SmallVector<Value>> places;
};

} // namespace

/// The function of the module that `call` calls and waits for; null where it is
/// external. Calls that are split over threads have no results.
static func::FuncOp getCallee(func::CallOp call, SymbolTable &symbols) {
  if (call->hasAttr("blockscale.parallel"))
    return {};
  auto function = symbols.lookup<func::FuncOp>(call.getCallee());
  return function && !function.isExternal() ? function : func::FuncOp();
}

/// Finds the functions that have assertions or call such ones.
void Reporter::findFailing() {
  SymbolTable symbols(module);
  llvm::MapVector<func::FuncOp, SmallVector<func::FuncOp>> callers;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.getBody().getOps<cf::AssertOp>().empty())
      failing.insert(function);
    for (auto call : function.getBody().getOps<func::CallOp>())
      if (func::FuncOp callee = getCallee(call, symbols))
        callers[callee].push_back(function);
  }
  for (size_t i = 0; i < failing.size(); ++i) {
    func::FuncOp function = failing[i];
    auto *found = callers.find(function);
    // The signature of a public function is for callers outside.
    if (found == callers.end() || function.isPublic())
      continue;
    telling.insert(function);
    failing.insert(found->second.begin(), found->second.end());
  }
  for (func::FuncOp function : failing) {
    for (auto op : function.getBody().getOps<cf::AssertOp>())
      places[op];
    for (auto call : function.getBody().getOps<func::CallOp>())
      if (func::FuncOp callee = getCallee(call, symbols);
          callee && telling.contains(callee))
        places[call];
  }
}

/// Finds what a function frees later on every path from a place on.
void Reporter::findMemory(func::FuncOp function) {
  auto deallocs =
      llvm::to_vector(function.getBody().getOps<memref::DeallocOp>());
  if (deallocs.empty())
    return;
  DominanceInfo before(function);
  PostDominanceInfo after(function);
  for (auto &[op, memory] : places) {
    if (op->getParentOp() != function)
      continue;
    for (memref::DeallocOp dealloc : deallocs)
      if (before.properlyDominates(dealloc.getMemref(), op) &&
          !before.dominates(dealloc, op) && after.postDominates(dealloc, op))
        memory.push_back(dealloc.getMemref());
  }
}

/// Goes on behind `op` if `holds`, and otherwise leaves the function from
/// `fail`.
void Reporter::leave(Operation *op, Value holds, Block *next, Block *fail) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto b = ImplicitLocOpBuilder::atBlockEnd(op->getLoc(), fail);
  for (Value memory : places.lookup(op))
    memref::DeallocOp::create(b, memory);
  SmallVector<Value> results;
  for (Type type : function.getResultTypes())
    results.push_back(
        type.isIntOrIndexOrFloat()
            ? arith::ConstantOp::create(b, b.getZeroAttr(type)).getResult()
            : ub::PoisonOp::create(b, type).getResult());
  func::ReturnOp::create(b, results);
  b.setInsertionPointToEnd(op->getBlock());
  cf::CondBranchOp::create(b, holds, next, fail);
}

/// Reports an assertion that does not hold.
void Reporter::report(cf::AssertOp op) {
  Block *next = op->getBlock()->splitBlock(op->getNextNode());
  ImplicitLocOpBuilder b(op.getLoc(), op->getContext());
  Block *fail = b.createBlock(next);
  emit::AssertReport broken(op);
  reporter.emitReport(b, broken.getText(), broken.emitFound(b));
  leave(op, op.getArg(), next, fail);
  op.erase();
}

/// Leaves where a call has left.
void Reporter::follow(func::CallOp call) {
  OpBuilder builder(call);
  SmallVector<Type> types(call.getResultTypes());
  types.push_back(builder.getI1Type());
  auto told = func::CallOp::create(builder, call.getLoc(), call.getCallee(),
                                   types, call.getOperands());
  call.replaceAllUsesWith(told.getResults().drop_back());
  places[told] = places.lookup(call);
  call.erase();
  Block *next = told->getBlock()->splitBlock(told->getNextNode());
  Block *fail = builder.createBlock(next);
  leave(told, told.getResults().back(), next, fail);
}

void Reporter::rewrite(func::FuncOp function) {
  if (!telling.contains(function))
    return;
  OpBuilder builder(function.getContext());
  function.walk([&](func::ReturnOp op) {
    builder.setInsertionPoint(op);
    op.getOperandsMutable().append(
        arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1).getResult());
  });
  SmallVector<Type> results(function.getResultTypes());
  results.push_back(builder.getI1Type());
  function.setType(
      builder.getFunctionType(function.getArgumentTypes(), results));
}

void Reporter::run() {
  findFailing();
  for (func::FuncOp function : failing) {
    findMemory(function);
    rewrite(function);
  }
  SmallVector<Operation *> ops;
  for (auto &[op, memory] : places)
    ops.push_back(op);
  for (Operation *op : ops) {
    if (auto call = dyn_cast<func::CallOp>(op))
      follow(call);
    else
      report(cast<cf::AssertOp>(op));
  }
}

namespace {

struct ReportAssertsPass : public impl::ReportAssertsBase<ReportAssertsPass> {
  void runOnOperation() override { Reporter(getOperation()).run(); }
};

} // namespace
} // namespace blockscale
