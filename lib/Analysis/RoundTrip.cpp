//===- RoundTrip.cpp - Values of codes that were just made ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/GlobalChain.h"

#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

DequantizeOp findDecoder(QuantizeOp op) {
  DequantizeOp first;
  for (Operation *user : op.getData().getUsers()) {
    auto dequantize = dyn_cast<DequantizeOp>(user);
    if (dequantize && dequantize.getQuantizer() == op &&
        dequantize->getBlock() == op->getBlock() &&
        (!first || dequantize->isBeforeInBlock(first)))
      first = dequantize;
  }
  return first;
}

bool isStored(Value value) {
  return llvm::any_of(value.getUsers(), llvm::IsaPred<YieldOp>);
}

/// What `op` quantizes, or takes the amax of: where kernels transform it or pad
/// its groups first, what they read; null for other ops.
static Value getRead(Operation *op) {
  if (!isa<AmaxOp, QuantizeOp>(op))
    return {};
  Value x = op->getOperand(0);
  if (auto hadamard = x.getDefiningOp<HadamardOp>())
    x = hadamard.getX();
  auto padding = x.getDefiningOp<PadGroupsOp>();
  return padding ? padding.getX() : x;
}

static std::optional<FusionObstacle>
findStripsObstacle(QuantizeOp quantize, ArrayRef<Operation *> ops) {
  Value x = getRead(quantize);
  for (Operation *op : ops)
    if (Value other = getRead(op); other && other != x)
      return FusionObstacle{"round_trip_c4", "a kernel of one x",
                            "one of several"};
  return std::nullopt;
}

static std::optional<FusionObstacle> findRowsObstacle(QuantizeOp quantize,
                                                      KernelFamily family) {
  int64_t k = quantize.getX().getType().getShape().back();
  bool isInRows = quantize.hasRowBlocks() && !quantize.getTransposed();
  if (!isInRows || ShapedType::isDynamic(k))
    return FusionObstacle{
        "round_trip_c2", "blocks of one row, in rows of a static length",
        isInRows ? llvm::to_string(quantize.getX().getType())
                 : "blocks of several rows, or transposed data"};
  int64_t count =
      llvm::count_if(quantize.getX().getUsers(), llvm::IsaPred<QuantizeOp>);
  if (family == KernelFamily::Program && count > 1)
    return FusionObstacle{"round_trip_c4",
                          "a kernel that quantizes x once, in its rows",
                          std::to_string(count) + " quantizations"};
  if (family != KernelFamily::Rows && family != KernelFamily::Program &&
      family != KernelFamily::Product)
    return FusionObstacle{
        "round_trip_c4", "a kernel that quantizes x once, in its rows",
        "one of family '" + stringifyKernelFamily(family).str() + "'"};
  return std::nullopt;
}

/// Whether a kernel of strips that computes `quantize`, of `ops`, has the
/// global operand of `op`.
static bool hasGlobal(QuantizeOp quantize, DequantizeOp op,
                      ArrayRef<Operation *> ops) {
  GlobalOperand own = quantize.getGlobalOperand();
  GlobalOperand wanted = op.getGlobalOperand();
  if (own.extent != wanted.extent || own.extent == GlobalExtent::Row ||
      own.extent == GlobalExtent::Group)
    return false;
  if (own.value == wanted.value)
    return true;
  GlobalScaleOp scale = GlobalChain::find(quantize).scale;
  return scale && scale.getScale() == wanted.value &&
         (isa<KernelOp>(op->getParentOp()) || llvm::is_contained(ops, scale));
}

std::optional<FusionObstacle> findRoundTripObstacle(QuantizeOp quantize,
                                                    DequantizeOp op,
                                                    KernelFamily family,
                                                    ArrayRef<Operation *> ops) {
  if (findDecoder(quantize) != op)
    return FusionObstacle{"round_trip_c1",
                          "one dequantization of codes, in their block",
                          "another one"};
  bool isOfStrips = family == KernelFamily::Strips;
  if (Value global = op.getGlobal();
      global && !(isOfStrips && hasGlobal(quantize, op, ops)))
    return FusionObstacle{
        "round_trip_c3",
        isOfStrips ? "the global operand of the quantization, or its scale"
                   : "no global operand",
        llvm::to_string(global.getType())};
  return isOfStrips ? findStripsObstacle(quantize, ops)
                    : findRowsObstacle(quantize, family);
}

} // namespace blockscale
