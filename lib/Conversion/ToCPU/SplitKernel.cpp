//===- SplitKernel.cpp - Kernels of several ops ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOperands.h"

using namespace mlir;

namespace blockscale::cpu {

/// Whether `op` reads inputs of `kernel` only, and its results are outputs.
static bool standsAlone(KernelOp kernel, Operation &op) {
  unsigned inputs = kernel.getInputs().size();
  auto isInput = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && argument.getArgNumber() < inputs;
  };
  auto yielded = kernel.getBody().front().getTerminator()->getOperands();
  return llvm::all_of(op.getOperands(), isInput) &&
         llvm::all_of(op.getResults(), [&](Value result) {
           return llvm::count(yielded, result) == 1;
         });
}

SmallVector<KernelOp> splitKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto ops = body.without_terminator();
  bool canSplit =
      kernel.getResults().empty() && llvm::range_size(ops) > 1 &&
      llvm::all_of(ops, [&](Operation &op) { return standsAlone(kernel, op); });
  if (!canSplit)
    return {kernel};
  OpBuilder builder(kernel);
  KernelOperands operands(kernel, kernel.getOperands());
  SmallVector<KernelOp> parts;
  for (Operation &op : ops) {
    auto lookup = [&](Value logical) { return operands.lookup(logical); };
    auto part = KernelOp::create(builder, op.getLoc(), TypeRange(),
                                 llvm::map_to_vector(op.getOperands(), lookup),
                                 llvm::map_to_vector(op.getResults(), lookup));
    OpBuilder::InsertionGuard guard(builder);
    Block *inside = builder.createBlock(&part.getBody());
    auto addArgument = [&](Value logical) -> Value {
      return inside->addArgument(logical.getType(), op.getLoc());
    };
    auto arguments = llvm::map_to_vector(op.getOperands(), addArgument);
    llvm::for_each(op.getResults(), addArgument);
    Operation *clone = builder.clone(op);
    clone->setOperands(arguments);
    YieldOp::create(builder, op.getLoc(), clone->getResults());
    parts.push_back(part);
  }
  kernel.erase();
  return parts;
}

} // namespace blockscale::cpu
