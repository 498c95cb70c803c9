//===- ReuseArguments.cpp - Results in the memory of arguments ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_REUSEARGUMENTS
#include "blockscale/Transforms/Passes.h.inc"

/// The copy of a whole argument of the function to `out`, if that is all that
/// the function does with the content of `out`.
static memref::CopyOp findOnlyCopy(BlockArgument out) {
  auto users = llvm::make_filter_range(out.getUsers(), [](Operation *user) {
    return !isa<memref::DimOp>(user);
  });
  if (!llvm::hasSingleElement(users))
    return {};
  auto copy = dyn_cast<memref::CopyOp>(*users.begin());
  if (!copy || copy->getBlock() != out.getOwner() || copy.getTarget() != out)
    return {};
  auto argument = dyn_cast<BlockArgument>(copy.getSource());
  bool isWhole = argument && argument.getOwner() == out.getOwner() &&
                 argument.getType() == out.getType();
  return isWhole ? copy : memref::CopyOp();
}

/// Whether what follows `copy` only fills other buffers of results, of which
/// the last `numResults` arguments of the function are, and frees memory.
static bool isBeforeCopiesOnly(memref::CopyOp copy, size_t numResults) {
  auto results = copy->getBlock()->getArguments().take_back(numResults);
  for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
    if (isMemoryEffectFree(op) || isa<memref::DeallocOp, func::ReturnOp>(op))
      continue;
    auto other = dyn_cast<memref::CopyOp>(op);
    if (!other || !llvm::is_contained(results, other.getTarget()))
      return false;
  }
  return true;
}

/// Makes a copy run only where the addresses differ.
static void guard(memref::CopyOp copy) {
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  auto getAddress = [&](Value memref) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  };
  Value from = getAddress(copy.getSource());
  Value to = getAddress(copy.getTarget());
  Value differ =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, from, to);
  auto branch = scf::IfOp::create(builder, loc, differ);
  copy->moveBefore(branch.thenBlock()->getTerminator());
}

/// How many results a public function had before they became its last
/// arguments; 0 for other functions.
static size_t countResults(func::FuncOp function) {
  auto signature = function->getAttrOfType<TypeAttr>(kSignatureAttrName);
  auto type =
      signature ? dyn_cast<FunctionType>(signature.getValue()) : FunctionType();
  return type && type.getNumInputs() + type.getNumResults() ==
                     function.getNumArguments()
             ? type.getNumResults()
             : 0;
}

namespace {

struct ReuseArgumentsPass
    : public impl::ReuseArgumentsBase<ReuseArgumentsPass> {
  using ReuseArgumentsBase::ReuseArgumentsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto given =
        function->getAttrOfType<DenseI64ArrayAttr>(kWritableArgumentsAttrName);
    size_t numResults = countResults(function);
    if (!given || !function.getBody().hasOneBlock())
      return;
    SmallVector<memref::CopyOp> copies;
    SmallVector<int64_t> taken;
    for (BlockArgument out : function.getArguments().take_back(numResults)) {
      taken.push_back(-1);
      memref::CopyOp copy = findOnlyCopy(out);
      if (!copy)
        continue;
      auto argument = cast<BlockArgument>(copy.getSource());
      int64_t number = argument.getArgNumber();
      if (!llvm::is_contained(given.asArrayRef(), number) ||
          llvm::is_contained(taken, number) ||
          !isBeforeCopiesOnly(copy, numResults))
        continue;
      taken.back() = number;
      copies.push_back(copy);
    }
    if (copies.empty())
      return;
    function->setAttr(kResultArgumentsAttrName,
                      Builder(&getContext()).getDenseI64ArrayAttr(taken));
    if (guardCopies)
      llvm::for_each(copies, guard);
  }
};

} // namespace
} // namespace blockscale
