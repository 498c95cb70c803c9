//===- Instructions.cpp - Instructions of kernels -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Instructions.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

double estimateQuantizeInstructions(const target::Chip &chip,
                                    numerics::Recipe recipe,
                                    numerics::ElementFormat format) {
  bool isFp8 = numerics::getFormatInfo(format).bits == 8;
  bool hasCvt = !numerics::isFixedPoint(format) &&
                (chip.hasFp4Cvt() || (isFp8 && chip.hasFp8Cvt()));
  if (numerics::isFourOverSix(recipe))
    return hasCvt ? 68 : 88;
  if (numerics::isNvfp4(recipe))
    return hasCvt ? 8 : 21;
  return hasCvt ? 5 : 14;
}

/// A maximum of absolute values.
static constexpr double kAmaxInstructions = 1;
/// Four rounds of sums, and the multiplication by 1/4.
static constexpr double kHadamardInstructions = 5;

int64_t countInstructions(Block &body) {
  return llvm::count_if(body.without_terminator(), [](Operation &op) {
    return !isa<arith::ConstantOp, arith::BitcastOp>(op);
  });
}

double estimateInstructions(Operation *op, const target::Chip &chip) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<AmaxOp, AmaxPartsOp>([](auto) { return kAmaxInstructions; })
      .Case([](HadamardOp) { return kHadamardInstructions; })
      .Case([&](QuantizeOp op) {
        return estimateQuantizeInstructions(
            chip, op.getArithmetic(),
            getElementFormat(op.getData().getType().getElementType()));
      })
      .Case(
          [](linalg::LinalgOp op) { return countInstructions(*op.getBlock()); })
      .Default([](Operation *) { return 0; });
}

} // namespace blockscale
