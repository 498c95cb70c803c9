//===- EpilogueKernels.cpp - Kernels of products and what follows ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueKernels.h"
#include "KernelPlace.h"
#include "KernelWrapping.h"
#include "blockscale/Analysis/Epilogue.h"

using namespace mlir;

namespace blockscale {

LogicalResult formEpilogues(FunctionOpInterface function) {
  SmallVector<Operation *> products;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isProduct(op))
      products.push_back(op);
    return isa<KernelOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  OpBuilder builder(function->getContext());
  llvm::SmallPtrSet<Operation *, 8> wrapped;
  for (Operation *product : products) {
    if (wrapped.contains(product))
      continue;
    std::optional<FusionObstacle> obstacle;
    Epilogue epilogue = findEpilogue(product, obstacle);
    if (obstacle)
      product->emitRemark("is not computed with what follows ") << *obstacle;
    if (epilogue.isEmpty())
      continue;
    // What follows a product does not need it for its sizes.
    for (Operation *each : epilogue.products)
      if (failed(replaceSizes(builder, each->getResult(0))))
        return failure();
    SmallVector<Operation *> ops = epilogue.getOps();
    Operation *place = findPlaceOf(ops);
    if (!place) {
      product->emitRemark("is not computed with what follows: expected its "
                          "operands to come before the first product, or the "
                          "results to be used after the last op");
      continue;
    }
    wrapped.insert(epilogue.products.begin(), epilogue.products.end());
    builder.setInsertionPoint(place);
    if (failed(wrapInKernel(builder, ops)))
      return failure();
  }
  return success();
}

} // namespace blockscale
