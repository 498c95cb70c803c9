//===- UnitGlobalScale.h - Global scales of 1.0 are dropped -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_UNITGLOBALSCALE_H
#define BLOCKSCALE_LIB_IR_UNITGLOBALSCALE_H

#include "ConstantNumber.h"

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// An absent global scale means 1.0, and absence is the normal form.
///
///   %one = arith.constant dense<1.0> : tensor<f32>
///   blockscale.quantize %x block [1, 16] global_scale(%one : tensor<f32>)
/// becomes
///   blockscale.quantize %x block [1, 16]
///
/// A global_amax of 1.0 is a different number and stays. Where `whyItStays` is
/// given and answers with a reason, the operand stays too.
template <typename OpTy>
struct DropUnitGlobalScale : public mlir::OpRewritePattern<OpTy> {
  using Operand = mlir::MutableOperandRange (OpTy::*)();
  using Reason = std::optional<llvm::StringRef> (*)(OpTy op);

  DropUnitGlobalScale(mlir::MLIRContext *context, Operand operand,
                      Reason whyItStays = nullptr)
      : mlir::OpRewritePattern<OpTy>(context), operand(operand),
        whyItStays(whyItStays) {}

  llvm::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const override {
    mlir::MutableOperandRange range = (op.*operand)();
    if (range.empty())
      return rewriter.notifyMatchFailure(op, "the global scale is absent");
    if (!isConstantOne(range[0].get()))
      return rewriter.notifyMatchFailure(op, "not the constant 1.0");
    if (whyItStays)
      if (std::optional<llvm::StringRef> reason = whyItStays(op))
        return rewriter.notifyMatchFailure(op, *reason);
    rewriter.modifyOpInPlace(op, [&] { range.clear(); });
    return mlir::success();
  }

private:
  Operand operand;
  Reason whyItStays;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_UNITGLOBALSCALE_H
