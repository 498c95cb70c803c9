//===- SplitKernel.cpp - Kernels of several ops ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitKernel.h"
#include "Emission/KernelOperands.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

LogicalResult verifyKernel(KernelOp kernel) {
  Operation *op = kernel.getSingleOp();
  if (!op || !isa_and_present<BlockScaleDialect>(op->getDialect())) {
    InFlightDiagnostic diag =
        kernel.emitOpError() << "expected one op of the dialect in the body on "
                                "the CPU, but got ";
    if (op)
      return diag << "'" << op->getName() << "'";
    return diag << llvm::range_size(
                       kernel.getBody().front().without_terminator())
                << " ops";
  }
  ValueRange yielded = kernel.getBody().front().getTerminator()->getOperands();
  if (yielded.size() != op->getNumResults() ||
      !llvm::all_of(op->getResults(), [&](OpResult result) {
        return llvm::is_contained(yielded, result);
      }))
    return kernel.emitOpError("expected the body to yield each result of its "
                              "op once");
  for (auto [i, type] : llvm::enumerate(kernel.getOperandTypes())) {
    if (isa<RankedTensorType>(type))
      return kernel.emitOpError()
             << "expected operand " << i
             << " to be bufferized to a memref, but got " << type;
    auto memref = dyn_cast<MemRefType>(type);
    if (memref && !memref.isLastDimUnitStride())
      return kernel.emitOpError()
             << "expected operand " << i
             << " to have unit stride in the last dimension, but got " << type;
  }
  return success();
}

/// Whether no output takes a value of the body.
static bool isUnstored(Value value) {
  Operation *yield = value.getParentBlock()->getTerminator();
  return !llvm::is_contained(yield->getOperands(), value);
}

/// Whether `op` makes a transform, padded rows or a number for others of its
/// kernel, which no output takes.
static bool isInside(Operation *op) {
  if (isa<AmaxOp, GlobalScaleOp>(op) &&
      !cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return false;
  return isa<HadamardOp, PadGroupsOp, AmaxOp, GlobalScaleOp>(op) &&
         isUnstored(op->getResult(0));
}

/// Whether `op` reads inputs of `kernel` and results of its ops only, and its
/// results are outputs, or for these others.
static bool standsAlone(KernelOp kernel, Operation &op) {
  unsigned inputs = kernel.getInputs().size();
  auto isInput = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return !argument || argument.getArgNumber() < inputs;
  };
  auto yielded = kernel.getBody().front().getTerminator()->getOperands();
  return llvm::all_of(op.getOperands(), isInput) &&
         (isInside(&op) || llvm::all_of(op.getResults(), [&](Value result) {
            return llvm::count(yielded, result) == 1;
          }));
}

/// Memory for what is as large as `source`.
static Value allocateLike(OpBuilder &builder, Location loc, Value source) {
  auto type = cast<MemRefType>(source.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, source, dim));
  return memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
      sizes);
}

/// Memory for the padded rows of groups that `offsets` are the ends of.
static Value allocatePadded(OpBuilder &builder, PadGroupsOp op, Value x,
                            Value offsets) {
  Location loc = op.getLoc();
  auto getSize = [&](Value memref, int64_t dim) -> OpFoldResult {
    auto type = cast<MemRefType>(memref.getType());
    if (type.isDynamicDim(dim))
      return memref::DimOp::create(builder, loc, memref, dim).getResult();
    return builder.getIndexAttr(type.getDimSize(dim));
  };
  OpFoldResult sizes[] = {getPaddedRows(builder, loc, getSize(x, 0),
                                        getSize(offsets, 0),
                                        static_cast<int64_t>(op.getUnit())),
                          getSize(x, 1)};
  return memref::AllocOp::create(
      builder, loc, sizes, cast<MemRefType>(x.getType()).getElementType());
}

SmallVector<KernelOp> splitKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto ops = body.without_terminator();
  bool canSplit =
      kernel.getResults().empty() && llvm::range_size(ops) > 1 &&
      llvm::all_of(ops, [&](Operation &op) { return standsAlone(kernel, op); });
  if (!canSplit)
    return {kernel};
  OpBuilder builder(kernel);
  emit::KernelOperands operands(kernel, kernel.getOperands());
  SmallVector<KernelOp> parts;
  llvm::MapVector<Value, Value> inside;
  auto lookup = [&](Value logical) {
    Value memory = inside.lookup(logical);
    return memory ? memory : operands.lookup(logical);
  };
  for (Operation &op : ops) {
    if (auto padding = dyn_cast<PadGroupsOp>(op); padding && isInside(&op)) {
      Value x = lookup(padding.getX()), offsets = lookup(padding.getOffsets());
      inside[padding.getPadded()] =
          allocatePadded(builder, padding, x, offsets);
      if (isUnstored(padding.getEnds()))
        inside[padding.getEnds()] = allocateLike(builder, op.getLoc(), offsets);
    } else if (isInside(&op) && !isa<HadamardOp>(op)) {
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      inside[op.getResult(0)] = memref::AllocOp::create(
          builder, op.getLoc(),
          MemRefType::get(type.getShape(), type.getElementType()));
    } else if (isInside(&op)) {
      inside[op.getResult(0)] =
          allocateLike(builder, op.getLoc(), lookup(op.getOperand(0)));
    }
    auto part = KernelOp::create(builder, op.getLoc(), TypeRange(),
                                 llvm::map_to_vector(op.getOperands(), lookup),
                                 llvm::map_to_vector(op.getResults(), lookup),
                                 KernelFamilyAttr());
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&part.getBody());
    auto addArgument = [&](Value logical) -> Value {
      return block->addArgument(logical.getType(), op.getLoc());
    };
    auto arguments = llvm::map_to_vector(op.getOperands(), addArgument);
    llvm::for_each(op.getResults(), addArgument);
    Operation *clone = builder.clone(op);
    clone->setOperands(arguments);
    YieldOp::create(builder, op.getLoc(), clone->getResults());
    parts.push_back(part);
  }
  for (auto [logical, memory] : inside)
    memref::DeallocOp::create(builder, kernel.getLoc(), memory);
  kernel.erase();
  return parts;
}

} // namespace blockscale::cpu
