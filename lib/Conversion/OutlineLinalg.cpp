//===- OutlineLinalg.cpp - A function for each linalg op ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToCPU/OutlinedFunctions.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_OUTLINELINALG
#include "blockscale/Conversion/Passes.h.inc"

namespace {

/// Moves ops of a module to functions, one for all ops that are the same:
///
///   linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
/// becomes
///   func.call @f_exp_0(%x, %y)
class Outliner {
public:
  explicit Outliner(ModuleOp module) : inserter(module) {}

  void outline(linalg::LinalgOp op);

private:
  func::FuncOp create(linalg::LinalgOp op, ValueRange operands,
                      ArrayRef<Operation *> constants);
  func::FuncOp insert(func::FuncOp function, linalg::LinalgOp op);

  cpu::OutlinedFunctions inserter;
  /// The functions so far, by their types.
  DenseMap<Type, SmallVector<func::FuncOp>> functions;
};

} // namespace

/// Whether `op` is one to outline. One element is less than a call. An
/// assertion in a body ends the function around the op, which its callers would
/// not know.
static bool isOutlined(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumLoops() > 0 &&
         !op->walk([](cf::AssertOp) {
              return WalkResult::interrupt();
            }).wasInterrupted();
}

/// A function in no module that computes `op` from `operands`.
func::FuncOp Outliner::create(linalg::LinalgOp op, ValueRange operands,
                              ArrayRef<Operation *> constants) {
  OpBuilder b(op.getContext());
  auto function = func::FuncOp::create(
      op.getLoc(), "outlined", b.getFunctionType(operands.getTypes(), {}));
  // A function that all of these are inlined to takes LLVM far longer.
  function->setAttr(upstream::kPassthrough, b.getStrArrayAttr({"noinline"}));
  b.setInsertionPointToStart(function.addEntryBlock());
  IRMapping inside;
  inside.map(operands, function.getArguments());
  for (Operation *constant : constants)
    b.clone(*constant, inside);
  b.clone(*op, inside);
  func::ReturnOp::create(b, op.getLoc());
  return function;
}

/// Puts `function` into the module, or returns one that does the same.
func::FuncOp Outliner::insert(func::FuncOp function, linalg::LinalgOp op) {
  SmallVector<func::FuncOp> &known = functions[function.getFunctionType()];
  for (func::FuncOp other : known) {
    if (!OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &function.getBody(),
            OperationEquivalence::IgnoreLocations))
      continue;
    function.erase();
    return other;
  }
  inserter.insert(function, op);
  known.push_back(function);
  return function;
}

void Outliner::outline(linalg::LinalgOp op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  SmallVector<Value> operands;
  llvm::SetVector<Operation *> constants;
  for (Value value : used)
    if (matchPattern(value, m_Constant()))
      constants.insert(value.getDefiningOp());
    else
      operands.push_back(value);
  func::FuncOp function =
      insert(create(op, operands, constants.getArrayRef()), op);
  OpBuilder b(op);
  func::CallOp::create(b, op.getLoc(), function, operands);
  op->erase();
}

namespace {

struct OutlineLinalgPass : public impl::OutlineLinalgBase<OutlineLinalgPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // What a module in this one calls is in that.
      if (isa<ModuleOp>(op) && op != getOperation())
        return WalkResult::skip();
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (!linalgOp || !linalgOp->getParentOfType<func::FuncOp>())
        return WalkResult::advance();
      if (isOutlined(linalgOp))
        ops.push_back(linalgOp);
      return WalkResult::skip();
    });
    Outliner outliner(getOperation());
    for (linalg::LinalgOp op : ops)
      outliner.outline(op);
  }
};

} // namespace
} // namespace blockscale
