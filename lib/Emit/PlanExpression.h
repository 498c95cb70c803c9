//===- PlanExpression.h - Expressions as plans spell them -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMIT_PLANEXPRESSION_H
#define BLOCKSCALE_LIB_EMIT_PLANEXPRESSION_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace blockscale {

/// An integer, or the text of an expression of dims.
class PlanExpression {
public:
  PlanExpression(int64_t constant = 0)
      : constant(constant), text(std::to_string(constant)) {}
  static PlanExpression dim(llvm::StringRef name);

  enum class Kind { Add, Sub, Mul, CeilDiv, FloorDiv, Mod, Min, Max };
  /// Folds constants and neutral elements.
  static PlanExpression make(Kind kind, const PlanExpression &a,
                             const PlanExpression &b);
  /// `expr`, whose dims, then symbols, are `operands`.
  static PlanExpression make(mlir::AffineExpr expr, unsigned numDims,
                             llvm::ArrayRef<PlanExpression> operands);

  std::optional<int64_t> getConstant() const { return constant; }
  const std::string &getText() const { return text; }

private:
  enum class Precedence { Sum, Product, Atom };

  PlanExpression(std::string text, Precedence precedence)
      : text(std::move(text)), precedence(precedence) {}
  /// In parentheses where it binds less than `least`.
  std::string getText(Precedence least) const;

  std::optional<int64_t> constant;
  std::string text;
  Precedence precedence = Precedence::Atom;
};

/// The constant ones are multiplied first.
PlanExpression multiply(llvm::ArrayRef<PlanExpression> factors);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_PLANEXPRESSION_H
