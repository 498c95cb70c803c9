//===- KernelOp.cpp - The unit of code generation -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "blockscale/IR/FusionAttr.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace blockscale;

Operation *KernelOp::getSingleOp() {
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2))
    return nullptr;
  return &block.front();
}

/// Whether memory of type `found` can hold a value of logical type `logical`.
static bool isStorageOf(Type found, Type logical) {
  if (found == logical)
    return true;
  auto storage = dyn_cast<RankedTensorType>(getStorageType(logical));
  if (auto tensor = dyn_cast<RankedTensorType>(found))
    return storage && !tensor.getEncoding() &&
           tensor.getElementType() == storage.getElementType() &&
           succeeded(verifyCompatibleShape(tensor, storage));
  auto memref = dyn_cast<MemRefType>(found);
  return memref && storage &&
         memref.getElementType() == storage.getElementType() &&
         succeeded(verifyCompatibleShape(memref, storage));
}

LogicalResult KernelOp::verify() {
  // kernel_c4: all tensors with a result each, or all memrefs.
  bool tensors =
      llvm::all_of(getOutputs().getTypes(), llvm::IsaPred<RankedTensorType>);
  bool memrefs =
      llvm::all_of(getOutputs().getTypes(), llvm::IsaPred<MemRefType>);
  if (!tensors && !memrefs)
    return emitOpError("expected outputs to be all ranked tensors or all "
                       "memrefs, but got a mixture");
  if (memrefs && !getOutputs().empty() && getNumResults() != 0)
    return emitOpError() << "expected no results with memref outputs, but got "
                         << getNumResults();
  if (tensors && getOutputs().getTypes() != getResultTypes())
    return emitOpError("expected one result of the type of each output");
  return verifyFusionAttr(*this);
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  // kernel_c1: one argument an operand.
  if (block.getNumArguments() != getNumOperands())
    return emitOpError() << "expected one block argument for each of the "
                         << getNumOperands() << " operands, but got "
                         << block.getNumArguments();
  // kernel_c2: operands hold what the arguments say.
  for (auto [operand, argument] :
       llvm::zip_equal(getOperands(), block.getArguments()))
    if (!isStorageOf(operand.getType(), argument.getType()))
      return emitOpError() << "expected operand " << argument.getArgNumber()
                           << " to be " << argument.getType()
                           << ", its storage form or a memref of that, but got "
                           << operand.getType();
  // kernel_c3: the yielded values are what the outputs hold.
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("expected the body to end with blockscale.yield");
  auto outputs = block.getArguments().drop_front(getInputs().size());
  if (yield.getNumOperands() != outputs.size())
    return yield.emitOpError()
           << "expected one value for each of the " << outputs.size()
           << " outputs, but got " << yield.getNumOperands();
  for (auto [value, output] : llvm::zip_equal(yield.getValues(), outputs))
    if (value.getType() != output.getType())
      return yield.emitOpError()
             << "expected a value of the output's type " << output.getType()
             << ", but got " << value.getType();
  // kernel_c6: the ops are those of the family.
  return verification::verifyFamily(*this);
}

void KernelOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &input : getInputsMutable())
    if (isa<MemRefType>(input.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &input);
  for (OpOperand &output : getOutputsMutable()) {
    if (!isa<MemRefType>(output.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &output);
    effects.emplace_back(MemoryEffects::Write::get(), &output);
  }
}
