//===- RaiseQuantizers.cpp - Quantizers that others write -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/RaiseQuantizers.h"
#include "QuantizerPatterns.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_RAISEQUANTIZERS
#include "blockscale/Transforms/Passes.h.inc"

/// Erases ops without uses below `root`, from the last on, so that no op is
/// left that takes elements of a narrow format for what is not computed any
/// more.
static void eraseDeadOps(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != root && isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  });
}

namespace {

struct RaiseQuantizersPass
    : public impl::RaiseQuantizersBase<RaiseQuantizersPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateRaiseQuantizerPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    eraseDeadOps(getOperation());
  }
};

} // namespace

void populateRaiseQuantizerPatterns(RewritePatternSet &patterns) {
  populateRaiseCastPatterns(patterns);
  populateRaiseDecoderPatterns(patterns);
  populateRaiseContractionPatterns(patterns);
}

} // namespace blockscale
