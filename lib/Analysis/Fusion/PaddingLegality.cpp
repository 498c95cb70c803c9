//===- PaddingLegality.cpp - Where a kernel may pad groups ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/PaddingLegality.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

/// Rows that a thread has at most.
static constexpr int64_t kThreadRows = 16;

/// The quantizations of the padded rows of `op` and of their transforms, or why
/// there are other uses.
static std::optional<FusionObstacle>
collectReaders(PadGroupsOp op, SmallVectorImpl<QuantizeOp> &readers,
               bool &hasTransforms) {
  SmallVector<Operation *> users(op.getPadded().getUsers());
  for (size_t i = 0; i < users.size(); ++i) {
    Operation *user = users[i];
    auto hadamard = dyn_cast<HadamardOp>(user);
    auto quantize = dyn_cast<QuantizeOp>(user);
    bool isPart = user->getBlock() == op->getBlock() &&
                  ((hadamard && !findTransformObstacle(hadamard)) ||
                   (quantize && !quantize->hasAttr(kGroupAttrName)));
    if (!isPart && !isa<tensor::DimOp>(user))
      return FusionObstacle{"pad_c2",
                            "all uses to be quantizations of its block that "
                            "can share a kernel",
                            "'" + llvm::to_string(user->getName()) + "'"};
    if (quantize)
      readers.push_back(quantize);
    if (!hadamard)
      continue;
    hasTransforms = true;
    llvm::append_range(users, hadamard.getResult().getUsers());
  }
  return std::nullopt;
}

PadGroupsOp getPadding(Value x) {
  if (auto hadamard = x.getDefiningOp<HadamardOp>())
    x = hadamard.getX();
  return x.getDefiningOp<PadGroupsOp>();
}

std::optional<FusionObstacle> findPaddingObstacle(PadGroupsOp op) {
  RankedTensorType x = op.getX().getType();
  if (x.isDynamicDim(1) || x.getDimSize(1) == 0)
    return FusionObstacle{"pad_c1", "a static number of columns, not 0",
                          llvm::to_string(x)};
  SmallVector<QuantizeOp> readers;
  bool hasTransforms = false;
  if (std::optional<FusionObstacle> obstacle =
          collectReaders(op, readers, hasTransforms))
    return obstacle;
  if (readers.empty())
    return FusionObstacle{"pad_c2", "a quantization of the padded rows",
                          "none"};
  bool isAlone = readers.size() == 1 && !hasTransforms;
  if (isAlone && readers.front().hasRowBlocks())
    return FusionObstacle{"pad_c2", "blocks of several rows", "of one"};
  for (QuantizeOp reader : readers) {
    if (!isAlone)
      if (std::optional<FusionObstacle> obstacle = findOneReadObstacle(reader))
        return FusionObstacle{"pad_c2", obstacle->expected, obstacle->found};
    auto unit = static_cast<int64_t>(op.getUnit());
    int64_t rows = std::max(kThreadRows, reader.getBlock().front());
    if (unit % rows != 0)
      return FusionObstacle{
          "pad_c3", "a unit that is a multiple of " + std::to_string(rows),
          std::to_string(unit)};
  }
  return std::nullopt;
}

} // namespace blockscale
