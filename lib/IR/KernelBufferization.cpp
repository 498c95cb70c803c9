//===- KernelBufferization.cpp - Bufferization of kernels -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bufferization.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/IR/Upstream.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace blockscale {

/// Whether `kernel` can work on a buffer. Kernels of the CPU step through rows
/// by elements, and those of a GPU, which have a family, take memory without
/// gaps. Slices and buffers whose layout depends on control flow may lie
/// otherwise.
static bool isWorkedOn(KernelOp kernel, Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type || type.getRank() == 0)
    return true;
  return kernel.getFamily() ? type.areTrailingDimsContiguous(type.getRank())
                            : type.isLastDimUnitStride();
}

FailureOr<Value> allocateLike(RewriterBase &rewriter, Value buffer,
                              const BufferizationOptions &options) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(
          memref::DimOp::create(rewriter, buffer.getLoc(), buffer, dim));
  return upstream::createAlloc(
      options, rewriter, buffer.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace()),
      sizes);
}

namespace {

/// A kernel writes its outputs in place where it can.
/// Encoded and 4-bit tensors have no memref form, so they must be in storage
/// form before.
struct KernelModel
    : public DstBufferizableOpInterfaceExternalModel<KernelModel, KernelOp> {
  /// Whether a kernel still has tensors, which its operands and results tell.
  /// The default looks at the arguments of the body, too, and takes a
  /// bufferized kernel for one that is not.
  bool hasTensorSemantics(Operation *op) const {
    auto isTensor = [](Type type) { return isa<TensorType>(type); };
    return llvm::any_of(op->getOperandTypes(), isTensor) ||
           llvm::any_of(op->getResultTypes(), isTensor);
  }

  bool bufferizesToMemoryRead(Operation *, OpOperand &operand,
                              const AnalysisState &) const {
    return isRead(operand);
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
    // Where the tensors are, and where the kernel works.
    SmallVector<Value> buffers, places;
    for (OpOperand &operand : kernel->getOpOperands()) {
      FailureOr<Value> buffer = operand.get();
      if (isa<RankedTensorType>(operand.get().getType()))
        buffer = getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      FailureOr<Value> place = getPlace(rewriter, operand, *buffer, options);
      if (failed(place))
        return failure();
      buffers.push_back(*buffer);
      places.push_back(*place);
    }
    size_t numInputs = kernel.getInputs().size();
    auto outputs = ArrayRef(buffers).drop_front(numInputs);
    auto outputPlaces = ArrayRef(places).drop_front(numInputs);
    auto buffered = KernelOp::create(rewriter, kernel.getLoc(), TypeRange(),
                                     ArrayRef(places).take_front(numInputs),
                                     outputPlaces, kernel.getFamilyAttr());
    buffered->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(kernel.getBody(), buffered.getBody(),
                                buffered.getBody().begin());
    for (auto [place, buffer] : llvm::zip_equal(outputPlaces, outputs))
      if (place != buffer &&
          failed(upstream::createMemCpy(options, rewriter, kernel.getLoc(),
                                        place, buffer)))
        return failure();
    replaceOpWithBufferizedValues(rewriter, kernel, outputs);
    return success();
  }

private:
  static bool isRead(OpOperand &operand) {
    auto kernel = cast<KernelOp>(operand.getOwner());
    if (kernel.isDpsInput(&operand))
      return true;
    // An output is read only where the body uses its old content.
    return !kernel.getBody()
                .getArgument(operand.getOperandNumber())
                .use_empty();
  }

  /// The buffer of an operand, or a copy without gaps.
  static FailureOr<Value> getPlace(RewriterBase &rewriter, OpOperand &operand,
                                   Value buffer,
                                   const BufferizationOptions &options) {
    if (isWorkedOn(cast<KernelOp>(operand.getOwner()), buffer))
      return buffer;
    FailureOr<Value> copy = allocateLike(rewriter, buffer, options);
    if (succeeded(copy) && isRead(operand) &&
        failed(upstream::createMemCpy(options, rewriter, buffer.getLoc(),
                                      buffer, *copy)))
      return failure();
    return copy;
  }
};

} // namespace

void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BlockScaleDialect *) {
    KernelOp::attachInterface<KernelModel>(*context);
    attachAmaxOverRanksModel(*context);
  });
}

} // namespace blockscale
