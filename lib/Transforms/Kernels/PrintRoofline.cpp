//===- PrintRoofline.cpp - What a module would take on a GPU --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/CostModel.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_PRINTROOFLINE
#include "blockscale/Transforms/Passes.h.inc"

namespace {

struct PrintRooflinePass : public impl::PrintRooflineBase<PrintRooflinePass> {
  using PrintRooflineBase::PrintRooflineBase;

  LogicalResult initialize(MLIRContext *context) override {
    Location location = UnknownLoc::get(context);
    if (!target::findGpu(gpu.getValue()))
      return emitError(location)
             << "expected option 'gpu' to be one of " << target::listGpus()
             << ", but got '" << gpu << "'";
    if (!findModel(model))
      return emitError(location)
             << "expected option 'model' to be one of " << listModels()
             << ", but got '" << model << "'";
    return verifyDynamicSizesOption(context, dynamicSizes);
  }

  void runOnOperation() override {
    CostModel costModel(*target::findGpu(gpu.getValue()), *findModel(model),
                        llvm::to_vector(dynamicSizes));
    std::string table;
    llvm::raw_string_ostream os(table);
    if (failed(printCosts(getOperation(), costModel, os)))
      return signalPassFailure();
    llvm::errs() << table;
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace blockscale
