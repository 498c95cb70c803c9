//===- PackedCalls.cpp - Functions that take lists of pointers ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedCalls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace blockscale {

static constexpr llvm::StringRef kInterface = "_mlir_ciface_";

std::string getPackedName(llvm::StringRef function) {
  return ("blockscale_packed_" + function).str();
}

/// Adds what loads the arguments of `function` and calls it.
static void addPackedFunction(llvm::Function &function) {
  llvm::Module &module = *function.getParent();
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer}, /*isVarArg=*/false);
  auto *packed = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalLinkage,
      getPackedName(function.getName().drop_front(kInterface.size())), module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", packed));
  llvm::SmallVector<llvm::Value *> arguments;
  for (auto [number, argument] : llvm::enumerate(function.args())) {
    llvm::Value *place =
        builder.CreateConstInBoundsGEP1_64(pointer, packed->getArg(0), number);
    arguments.push_back(builder.CreateLoad(argument.getType(),
                                           builder.CreateLoad(pointer, place)));
  }
  builder.CreateCall(&function, arguments);
  builder.CreateRetVoid();
}

void addPackedFunctions(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : module)
    // What such a function returns is in its arguments.
    if (!function.isDeclaration() &&
        function.getName().starts_with(kInterface) &&
        function.getReturnType()->isVoidTy())
      functions.push_back(&function);
  for (llvm::Function *function : functions)
    addPackedFunction(*function);
}

} // namespace blockscale
