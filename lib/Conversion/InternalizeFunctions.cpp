//===- InternalizeFunctions.cpp - Export only the C interfaces ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_INTERNALIZEFUNCTIONS
#include "blockscale/Conversion/Passes.h.inc"

namespace {

struct InternalizeFunctionsPass
    : public impl::InternalizeFunctionsBase<InternalizeFunctionsPass> {
  void runOnOperation() override {
    auto internal =
        LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        function->setAttr("llvm.linkage", internal);
  }
};

} // namespace
} // namespace blockscale
