//===- BufferizeKernels.cpp - Bufferize around kernel bodies --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StorageRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "blockscale/Transforms/Passes.h.inc"

/// Upstream drops encodings and gives f4 elements a byte each, silently.
static LogicalResult verifyStorageTypes(Operation *op) {
  Type type = findType(op, isPackedOrSwizzled);
  if (!type)
    return success();
  return op->emitOpError() << "expected storage types before bufferization "
                              "(blockscale-materialize-storage), but got "
                           << type;
}

/// Upstream's analysis crashes on loops of branches that carry tensors.
static LogicalResult verifyStructured(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : llvm::drop_begin(region, region.empty() ? 0 : 1))
      for (Type type : block.getArgumentTypes())
        if (isa<TensorType>(type))
          return op->emitOpError()
                 << "expected tensors in structured control flow (scf), but "
                    "got a branch with "
                 << type;
  return success();
}

static LogicalResult verifyBufferizable(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (failed(verifyStorageTypes(op)) || failed(verifyStructured(op)))
      return WalkResult::interrupt();
    return isa<KernelOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct BufferizeKernelsPass
    : public impl::BufferizeKernelsBase<BufferizeKernelsPass> {
  void runOnOperation() override {
    if (failed(verifyBufferizable(getOperation())))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(rewriter, getOperation())))
      return signalPassFailure();
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.allowReturnAllocsFromLoops = true;
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
