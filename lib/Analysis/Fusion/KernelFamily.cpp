//===- KernelFamily.cpp - How ops become the code of a GPU ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/Analysis/PrepackedCodes.h"
#include "blockscale/IR/GlobalChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

static bool hasDynamicRows(QuantizeOp op) {
  return ShapedType::isDynamic(op.getX().getType().getShape().back());
}

bool takesBlocks(QuantizeOp op) {
  return op.hasRowBlocks() && hasDynamicRows(op) &&
         findOneReadObstacle(op).has_value();
}

/// Whether threads that have rows quantize `op`, which is alone. They divide
/// rows of a static length, or take blocks.
static bool hasRows(QuantizeOp op) {
  return hasDynamicRows(op) ? takesBlocks(op) : op.hasRowBlocks();
}

KernelBody::KernelBody(ArrayRef<Operation *> ops) {
  auto isMember = [&](Operation *op) { return llvm::is_contained(ops, op); };
  for (Operation *op : ops)
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      llvm::append_range(globals,
                         GlobalChain::find(quantize, isMember).getOps());
  auto isFirstDecoder = [&](DequantizeOp op) {
    QuantizeOp quantize = op.getQuantizer();
    return quantize && isMember(quantize) &&
           llvm::none_of(decoders, [&](DequantizeOp other) {
             return other.getQuantizer() == quantize;
           });
  };
  auto prepacksCodes = [&](PrepackOp op) {
    auto quantize = op.getSource().getDefiningOp<QuantizeOp>();
    return quantize && isMember(quantize) && findPrepack(quantize) == op;
  };
  for (Operation *op : ops)
    if (isa<linalg::LinalgOp>(op))
      producers.push_back(op);
    else if (isa<tensor::ConcatOp>(op))
      joins.push_back(op);
    else if (auto dequantize = dyn_cast<DequantizeOp>(op);
             dequantize && isFirstDecoder(dequantize))
      decoders.push_back(dequantize);
    else if (auto prepack = dyn_cast<PrepackOp>(op);
             prepack && prepacksCodes(prepack))
      prepacks.push_back(prepack);
    else if (!llvm::is_contained(globals, op) &&
             !isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(op))
      others.push_back(op);
}

KernelBody::KernelBody(KernelOp kernel)
    : KernelBody(
          llvm::map_to_vector(kernel.getBody().front().without_terminator(),
                              [](Operation &op) { return &op; })) {}

static KernelFamily chooseFamily(const KernelBody &body) {
  ArrayRef<Operation *> producers = body.producers, others = body.others;
  if (llvm::any_of(producers, [](Operation *op) {
        return cast<linalg::LinalgOp>(op).getNumReductionLoops() != 0;
      }))
    return KernelFamily::Program;
  if (llvm::any_of(others, isProduct))
    return KernelFamily::Product;
  if (others.empty())
    return producers.empty() ? KernelFamily::Op : KernelFamily::Elementwise;
  auto quantize = dyn_cast<QuantizeOp>(others.front());
  if (others.size() > 1 || (!producers.empty() && !quantize))
    return KernelFamily::Strips;
  if (quantize)
    return hasRows(quantize) ? KernelFamily::Rows : KernelFamily::Strips;
  return KernelFamily::Op;
}

KernelFamily chooseFamily(ArrayRef<Operation *> ops) {
  return chooseFamily(KernelBody(ops));
}

KernelFamily getFamily(KernelOp kernel) {
  std::optional<KernelFamily> family = kernel.getFamily();
  return family ? *family : chooseFamily(KernelBody(kernel));
}

} // namespace blockscale
