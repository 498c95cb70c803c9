//===- RoundTrip.cpp - Values of codes that were just made ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/RoundTrip.h"

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

std::optional<FusionObstacle> findRoundTripObstacle(QuantizeOp quantize,
                                                    DequantizeOp op,
                                                    KernelFamily family) {
  if (findDecoder(quantize) != op)
    return FusionObstacle{"round_trip_c1",
                          "one dequantization of codes, in their block",
                          "another one"};
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
  if (Value global = op.getGlobal())
    return FusionObstacle{"round_trip_c3", "no global operand",
                          llvm::to_string(global.getType())};
  if (family != KernelFamily::Rows && family != KernelFamily::Program &&
      family != KernelFamily::Product)
    return FusionObstacle{
        "round_trip_c4", "a kernel that quantizes x once, in its rows",
        "one of family '" + stringifyKernelFamily(family).str() + "'"};
  return std::nullopt;
}

} // namespace blockscale
