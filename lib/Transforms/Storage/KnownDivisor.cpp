//===- KnownDivisor.cpp - What surely divides an index --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownDivisor.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace blockscale;

/// Definitions looked through before giving up.
static constexpr unsigned kMaxDepth = 8;

static int64_t getDivisor(OpFoldResult index, unsigned depth);

/// |value|, or 1 where that is not representable.
static int64_t getMagnitude(int64_t value) {
  return value == std::numeric_limits<int64_t>::min() ? 1 : std::abs(value);
}

/// A divisor of products of multiples of `a` and of `b`.
static int64_t multiplyDivisors(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? std::max(a, b) : product;
}

/// A divisor of a quotient: (8 * x) floordiv 4 is 2 * x.
static int64_t divideDivisor(int64_t divisor, AffineExpr by) {
  auto constant = dyn_cast<AffineConstantExpr>(by);
  if (!constant || constant.getValue() <= 0 ||
      divisor % constant.getValue() != 0)
    return 1;
  return divisor / constant.getValue();
}

static int64_t getExprDivisor(AffineExpr expr, ArrayRef<int64_t> dims,
                              ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return getMagnitude(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = getExprDivisor(binary.getLHS(), dims, symbols);
  int64_t rhs = getExprDivisor(binary.getRHS(), dims, symbols);
  switch (binary.getKind()) {
  case AffineExprKind::Mul:
    return multiplyDivisors(lhs, rhs);
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    return divideDivisor(lhs, binary.getRHS());
  default:
    // What divides both operands divides their sum and remainder.
    return std::gcd(lhs, rhs);
  }
}

static int64_t getMapDivisor(AffineMap map, ValueRange operands,
                             unsigned depth) {
  SmallVector<int64_t> divisors;
  for (Value operand : operands)
    divisors.push_back(getDivisor(operand, depth));
  ArrayRef<int64_t> all(divisors);
  int64_t divisor = 0;
  for (AffineExpr expr : map.getResults())
    divisor =
        std::gcd(divisor, getExprDivisor(expr, all.take_front(map.getNumDims()),
                                         all.drop_front(map.getNumDims())));
  return divisor;
}

static int64_t getInductionDivisor(BlockArgument argument, unsigned depth) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast_if_present<scf::ForOp>(parent))
    if (argument == loop.getInductionVar())
      return std::gcd(getDivisor(loop.getLowerBound(), depth),
                      getDivisor(loop.getStep(), depth));
  if (auto loop = dyn_cast_if_present<scf::ForallOp>(parent)) {
    unsigned number = argument.getArgNumber();
    if (number < loop.getRank())
      return std::gcd(getDivisor(loop.getMixedLowerBound()[number], depth),
                      getDivisor(loop.getMixedStep()[number], depth));
  }
  return 1;
}

static int64_t getDivisor(OpFoldResult index, unsigned depth) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return getMagnitude(*constant);
  auto value = dyn_cast<Value>(index);
  if (!value || depth == kMaxDepth)
    return 1;
  ++depth;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getInductionDivisor(argument, depth);
  return TypeSwitch<Operation *, int64_t>(value.getDefiningOp())
      .Case<arith::MulIOp>([&](auto op) {
        return multiplyDivisors(getDivisor(op.getLhs(), depth),
                                getDivisor(op.getRhs(), depth));
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MinUIOp,
            arith::MaxSIOp, arith::MaxUIOp>([&](auto op) {
        return std::gcd(getDivisor(op.getLhs(), depth),
                        getDivisor(op.getRhs(), depth));
      })
      .Case<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          [&](auto op) {
            return getMapDivisor(op.getMap(), op.getOperands(), depth);
          })
      .Default([](Operation *) { return 1; });
}

int64_t blockscale::getKnownDivisor(OpFoldResult index) {
  return getDivisor(index, /*depth=*/0);
}
