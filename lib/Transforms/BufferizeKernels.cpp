//===- BufferizeKernels.cpp - Bufferize around kernel bodies --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "blockscale/Transforms/Passes.h.inc"

namespace {

struct BufferizeKernelsPass
    : public impl::BufferizeKernelsBase<BufferizeKernelsPass> {
  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(
        bufferization::LayoutMapOption::IdentityLayoutMap);
    options.opFilter.denyOperation([](Operation *op) {
      return op->getParentOfType<KernelOp>() != nullptr;
    });
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotModuleBufferize(getOperation(), options,
                                                        state)))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
