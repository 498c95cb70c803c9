//===- PrepackedCodes.cpp - Codes that are stored prepacked ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/PrepackedCodes.h"
#include "blockscale/IR/GlobalChain.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

PrepackOp findPrepack(QuantizeOp op) {
  PrepackOp found;
  for (Operation *user : op.getData().getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    auto prepack = dyn_cast<PrepackOp>(user);
    if (!prepack || found || prepack->getBlock() != op->getBlock() ||
        !isPrepacked(prepack.getResult().getType()))
      return {};
    found = prepack;
  }
  return found;
}

/// What of `op` rows of several threads do not have in one kernel.
static StringRef findOtherOperand(QuantizeOp op) {
  if (op.getGlobalOperand().extent == GlobalExtent::Row)
    return "a global value for each row";
  if (op.getBlockAmax())
    return "block_amax";
  if (op.getRng())
    return "rng";
  return op.getOffsets() ? "offsets" : "";
}

std::optional<FusionObstacle> findPrepackObstacle(QuantizeOp quantize,
                                                  PrepackOp op,
                                                  ArrayRef<Operation *> ops) {
  if (findPrepack(quantize) != op)
    return FusionObstacle{"prepacked_codes_c1", "codes that nothing else reads",
                          "others that do"};
  RankedTensorType x = quantize.getX().getType();
  int64_t k = x.getShape().back();
  int64_t multiple = numerics::kTileCols * quantize.getBlockSize();
  if (!quantize.hasRowBlocks() || quantize.getTransposed() ||
      ShapedType::isDynamic(k) || k % multiple != 0)
    return FusionObstacle{
        "prepacked_codes_c2",
        "blocks of one row, in rows whose static length is a multiple of " +
            std::to_string(multiple),
        quantize.hasRowBlocks() && !quantize.getTransposed()
            ? llvm::to_string(x)
            : "blocks of several rows, or transposed data"};
  GlobalChain chain = GlobalChain::find(quantize);
  for (Operation *other : ops)
    if (other != quantize && other != op &&
        !llvm::is_contained(chain.getOps(), other) &&
        !isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(other))
      return FusionObstacle{
          "prepacked_codes_c3", "a kernel that only quantizes",
          "one with '" + llvm::to_string(other->getName()) + "'"};
  if (StringRef found = findOtherOperand(quantize); !found.empty())
    return FusionObstacle{"prepacked_codes_c4",
                          "a global value for the tensor or each matrix, and "
                          "nothing else for blocks",
                          found.str()};
  return std::nullopt;
}

} // namespace blockscale
