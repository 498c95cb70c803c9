//===- KernelBufferization.cpp - Bufferization of kernels -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace blockscale {
namespace {

/// A kernel writes its outputs in place. Encoded and 4-bit tensors have no
/// memref form, so they must be in storage form before.
struct KernelModel
    : public DstBufferizableOpInterfaceExternalModel<KernelModel, KernelOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto kernel = cast<KernelOp>(op);
    if (kernel.isDpsInput(&operand))
      return true;
    // An output is read only where the body uses its old content.
    return !kernel.getBody()
                .getArgument(operand.getOperandNumber())
                .use_empty();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto kernel = cast<KernelOp>(op);
    for (Value operand : kernel.getOperands())
      if (needsStorageForm(operand.getType()))
        return kernel.emitOpError()
               << "expected operands in storage form before bufferization (run "
                  "blockscale-materialize-storage), but got "
               << operand.getType();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(kernel);
    SmallVector<Value> inputs, outputs;
    auto toBuffer = [&](Value value, SmallVector<Value> &buffers) {
      if (!isa<RankedTensorType>(value.getType())) {
        buffers.push_back(value);
        return success();
      }
      FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
      return success();
    };
    for (Value input : kernel.getInputs())
      if (failed(toBuffer(input, inputs)))
        return failure();
    for (Value output : kernel.getOutputs())
      if (failed(toBuffer(output, outputs)))
        return failure();
    auto buffered = KernelOp::create(rewriter, kernel.getLoc(), TypeRange(),
                                     inputs, outputs);
    buffered->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(kernel.getBody(), buffered.getBody(),
                                buffered.getBody().begin());
    replaceOpWithBufferizedValues(rewriter, kernel, outputs);
    return success();
  }
};

} // namespace

void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BlockScaleDialect *) {
    KernelOp::attachInterface<KernelModel>(*context);
  });
}

} // namespace blockscale
