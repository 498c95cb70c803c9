//===- VerifyLayout.cpp - Refuse uses that upstream ops would accept ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BelongingRules.h"
#include "ConstantRules.h"
#include "GlobalRules.h"
#include "OriginRules.h"
#include "Storage/StorageRules.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_VERIFYLAYOUT
#include "blockscale/Transforms/Passes.h.inc"

/// Lowering visits the functions of `module`; an op elsewhere, as in a nested
/// module, would be left out of the program.
static LogicalResult verifyPlace(Operation *op, ModuleOp module) {
  if (!isa_and_present<BlockScaleDialect>(op->getDialect()) ||
      op->getParentOfType<KernelOp>())
    return success();
  auto function = op->getParentOfType<func::FuncOp>();
  if (function && function->getParentOp() == module)
    return success();
  Operation *found = function ? function->getParentOp() : op->getParentOp();
  return op->emitOpError() << "expected to be in a func.func of the outermost "
                              "module, but got an op in a "
                           << (function ? "function of a nested '" : "'")
                           << found->getName() << "'";
}

namespace {

struct VerifyLayoutPass : public impl::VerifyLayoutBase<VerifyLayoutPass> {
  void runOnOperation() override {
    bool isLegal = true;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // What follows multiplies sizes.
      if (failed(verifyAddressable(op))) {
        isLegal = false;
        return;
      }
      // A size that memory does not hold may still fold away.
      if (!isa<tensor::DimOp>(op))
        isLegal &= succeeded(verifyStorageRules(op));
      isLegal &= succeeded(verifyConstantOperands(op));
      isLegal &= succeeded(verifyOrigins(op)) && succeeded(verifyBelonging(op));
      isLegal &= succeeded(verifyGlobalOrigins(op));
      isLegal &= succeeded(verifyPlace(op, getOperation()));
    });
    if (!isLegal)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace blockscale
