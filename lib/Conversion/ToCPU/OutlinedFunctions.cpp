//===- OutlinedFunctions.cpp - Functions that code is moved to ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlinedFunctions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace blockscale::cpu {

void OutlinedFunctions::insert(func::FuncOp function, Operation *op) {
  auto parent = op->getParentOfType<FunctionOpInterface>();
  std::string prefix =
      (parent.getName() + "_" + op->getName().stripDialect() + "_").str();
  function.setName(prefix + std::to_string(counts[prefix]++));
  function.setPrivate();
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(op->getContext(), LLVM::Linkage::Internal));
  symbols.insert(function, Block::iterator(parent));
}

} // namespace blockscale::cpu
