//===- PlanExpression.cpp - Expressions as plans spell them ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanExpression.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

using Kind = PlanExpression::Kind;

PlanExpression PlanExpression::dim(StringRef name) {
  return PlanExpression(name.str(), Precedence::Atom);
}

std::string PlanExpression::getText(Precedence least) const {
  bool isNegative = constant.value_or(0) < 0;
  // The grammar has no signs.
  if (isNegative)
    return "(0 - " + text.substr(1) + ")";
  return precedence < least ? "(" + text + ")" : text;
}

static bool divides(Kind kind) {
  return kind == Kind::CeilDiv || kind == Kind::FloorDiv || kind == Kind::Mod;
}

/// None where it does not fit, or has no value.
static std::optional<int64_t> evaluate(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  if (divides(kind) && b < 1)
    return std::nullopt;
  switch (kind) {
  case Kind::Add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  case Kind::Sub:
    return llvm::SubOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  case Kind::Mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  case Kind::CeilDiv:
    return llvm::divideCeilSigned(a, b);
  case Kind::FloorDiv:
    return llvm::divideFloorSigned(a, b);
  case Kind::Mod:
    return llvm::mod(a, b);
  case Kind::Min:
    return std::min(a, b);
  case Kind::Max:
    return std::max(a, b);
  }
  return std::nullopt;
}

static StringRef getSpelling(Kind kind) {
  switch (kind) {
  case Kind::Add:
    return " + ";
  case Kind::Sub:
    return " - ";
  case Kind::Mul:
    return " * ";
  case Kind::CeilDiv:
    return "ceildiv";
  case Kind::FloorDiv:
    return "floordiv";
  case Kind::Mod:
    return "mod";
  case Kind::Min:
    return "min";
  case Kind::Max:
    return "max";
  }
  return "";
}

/// Whether `op` with `b` on the right does nothing.
static bool isNeutral(Kind kind, std::optional<int64_t> b) {
  if (kind == Kind::Add || kind == Kind::Sub)
    return b == 0;
  return b == 1 &&
         (kind == Kind::Mul || kind == Kind::CeilDiv || kind == Kind::FloorDiv);
}

PlanExpression PlanExpression::make(Kind kind, const PlanExpression &a,
                                    const PlanExpression &b) {
  if (a.constant && b.constant)
    if (auto value = evaluate(kind, *a.constant, *b.constant))
      return PlanExpression(*value);
  if (isNeutral(kind, b.constant))
    return a;
  bool commutes = kind == Kind::Add || kind == Kind::Mul;
  if (commutes && isNeutral(kind, a.constant))
    return b;
  std::string name = getSpelling(kind).str();
  switch (kind) {
  case Kind::Add:
  case Kind::Sub:
    return PlanExpression(a.getText(Precedence::Sum) + name +
                              b.getText(Precedence::Product),
                          Precedence::Sum);
  case Kind::Mul:
    return PlanExpression(a.getText(Precedence::Product) + name +
                              b.getText(Precedence::Atom),
                          Precedence::Product);
  default:
    return PlanExpression(name + "(" + a.getText(Precedence::Sum) + ", " +
                              b.getText(Precedence::Sum) + ")",
                          Precedence::Atom);
  }
}

PlanExpression PlanExpression::make(AffineExpr expr, unsigned numDims,
                                    ArrayRef<PlanExpression> operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return PlanExpression(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  PlanExpression a = make(binary.getLHS(), numDims, operands);
  PlanExpression b = make(binary.getRHS(), numDims, operands);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return make(Kind::Add, a, b);
  case AffineExprKind::Mul:
    return make(Kind::Mul, a, b);
  case AffineExprKind::Mod:
    return make(Kind::Mod, a, b);
  case AffineExprKind::FloorDiv:
    return make(Kind::FloorDiv, a, b);
  default:
    return make(Kind::CeilDiv, a, b);
  }
}

PlanExpression multiply(ArrayRef<PlanExpression> factors) {
  PlanExpression constants = 1, others = 1;
  for (const PlanExpression &factor : factors) {
    PlanExpression &product = factor.getConstant() ? constants : others;
    product = PlanExpression::make(Kind::Mul, product, factor);
  }
  return PlanExpression::make(Kind::Mul, others, constants);
}

} // namespace blockscale
