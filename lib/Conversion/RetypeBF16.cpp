//===- RetypeBF16.cpp - bf16 that is moved only, as i16 -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_RETYPEBF16
#include "blockscale/Conversion/Passes.h.inc"

static bool isBF16(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return (vector ? vector.getElementType() : type).isBF16();
}

static Type getRetyped(Type type) {
  if (!isBF16(type))
    return type;
  Type i16 = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(i16) : i16;
}

/// Whether `op` does the same for every element type of 16 bits, or is a
/// constant whose bits are known.
static bool movesOnly(Operation *op) {
  if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
    return isa<VectorType>(constant.getType())
               ? isa<DenseElementsAttr>(constant.getValue())
               : isa<FloatAttr>(constant.getValue());
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::SelectOp, LLVM::BitcastOp,
             LLVM::UndefOp, LLVM::PoisonOp, LLVM::ZeroOp,
             LLVM::ExtractElementOp, LLVM::InsertElementOp,
             LLVM::ShuffleVectorOp, LLVM::MaskedLoadOp, LLVM::MaskedStoreOp,
             LLVM::BrOp, LLVM::CondBrOp, LLVM::SwitchOp>(op);
}

static bool canRetype(LLVM::LLVMFuncOp function) {
  if (function.isExternal() ||
      llvm::any_of(function.getArgumentTypes(), isBF16))
    return false;
  WalkResult result = function.walk([](Operation *op) {
    bool hasBF16 = llvm::any_of(op->getOperandTypes(), isBF16) ||
                   llvm::any_of(op->getResultTypes(), isBF16);
    return hasBF16 && !movesOnly(op) ? WalkResult::interrupt()
                                     : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

static TypedAttr getRetyped(Attribute value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(type, number.getValue().bitcastToAPInt());
  return cast<DenseElementsAttr>(value).bitcast(
      IntegerType::get(type.getContext(), 16));
}

static void retype(LLVM::LLVMFuncOp function) {
  function.walk([](Block *block) {
    for (BlockArgument argument : block->getArguments())
      argument.setType(getRetyped(argument.getType()));
  });
  function.walk([](Operation *op) {
    for (OpResult result : op->getResults()) {
      if (!isBF16(result.getType()))
        continue;
      result.setType(getRetyped(result.getType()));
      if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
        constant.setValueAttr(
            getRetyped(constant.getValue(), result.getType()));
    }
  });
  function.walk([](LLVM::BitcastOp cast) {
    if (cast.getArg().getType() != cast.getType())
      return;
    cast.replaceAllUsesWith(cast.getArg());
    cast.erase();
  });
}

namespace {

struct RetypeBF16Pass : public impl::RetypeBF16Base<RetypeBF16Pass> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::LLVMFuncOp function) {
      if (canRetype(function))
        retype(function);
    });
  }
};

} // namespace
} // namespace blockscale
