//===- RuntimeFunction.cpp - Functions of the host's runtime --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunction.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace blockscale::emit {

LLVM::LLVMFuncOp declareRuntimeFunction(ModuleOp module, StringRef name,
                                        ArrayRef<Type> arguments) {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()), arguments);
  Operation *found = module.lookupSymbol(name);
  if (!found) {
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
  }
  auto function = dyn_cast<LLVM::LLVMFuncOp>(found);
  if (function && function.getFunctionType() == type)
    return function;
  found->emitOpError("expected the name ")
      << name << " to be the runtime's, of type " << type;
  return nullptr;
}

} // namespace blockscale::emit
