//===- ChainSum.cpp - Sums of products of order chain ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainSum.h"
#include "Emission/FloatCodec.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::emit {

// What the formulas of TensorCoreSum.h ask of a word.

static Lanes convertToF64(const Lanes &x) {
  ImplicitLocOpBuilder &b = x.getBuilder();
  return Lanes(b, arith::SIToFPOp::create(b, x.getTypeWith(b.getF64Type()), x));
}

static numerics::WordPair<Lanes> getWords(const Lanes &x) {
  Lanes bits = toBits(x);
  return {truncate(bits >> 32, 32), truncate(bits, 32)};
}

/// The lanes of `first` where `condition` holds, else those of `second`, which
/// are computed if there is one.
template <typename First, typename Second>
static Lanes choose(const Lanes &condition, First first, Second second) {
  ImplicitLocOpBuilder &b = condition.getBuilder();
  Lanes usual = first();
  Value all = vector::ReductionOp::create(b, vector::CombiningKind::AND,
                                          Value(condition));
  auto branch = scf::IfOp::create(
      b, all,
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, Value(usual)); },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, Value(select(condition, usual, second())));
      });
  return Lanes(b, branch.getResult(0));
}

} // namespace blockscale::emit

namespace blockscale::cpu {

/// What makes significands and exponents numbers without sign.
static constexpr uint32_t kSignificandBias = 1u << 12;
static constexpr uint32_t kExponentBias = 1u << 14;
static_assert(kExponentBias + numerics::kZeroExponent < 1u << 16 &&
              kExponentBias + numerics::kSpecialExponent < 1u << 16);

static FloatType getMultipliedType(ProductOpInterface op) {
  for (auto [data, scale] : {std::pair<Value, Value>(op.getA(), op.getScaleA()),
                             {op.getB(), op.getScaleB()}})
    if (!scale)
      return cast<FloatType>(getElementTypeOrSelf(data));
  return BFloat16Type::get(op.getContext());
}

ChainSum::ChainSum(ProductOpInterface op, numerics::TensorCores tensorCores)
    : type(getMultipliedType(op)),
      format(type.isF16() ? numerics::FactorFormat::F16
                          : numerics::FactorFormat::BF16),
      sum(*numerics::getTensorCoreSum(
          tensorCores, numerics::MatrixInstruction::MmaSync, format)) {}

Lanes ChainSum::encode(const Lanes &values) const {
  Lanes codes = extend(emitEncodeFloat(type, values), 32);
  numerics::Term<Lanes> term =
      numerics::decodeTerm(numerics::getTermFormat(format), codes);
  return ((term.significand + kSignificandBias) << 16) |
         (term.exponent + kExponentBias);
}

static numerics::Term<Lanes> decodeWord(const Lanes &word) {
  return {(word >> 16) - kSignificandBias, (word & 0xFFFF) - kExponentBias};
}

Lanes ChainSum::add(ArrayRef<Lanes> row, ArrayRef<Lanes> cols,
                    const Lanes &accumulators) const {
  numerics::AdditionTerms<Lanes> terms(accumulators);
  for (auto [i, a, b] : llvm::enumerate(row, cols)) {
    numerics::Term<Lanes> factor = decodeWord(a);
    terms.set(static_cast<int>(i),
              {broadcast(factor.significand, b), broadcast(factor.exponent, b)},
              decodeWord(b));
  }
  return numerics::addTerms(sum, numerics::getTermBits(sum, format, format),
                            terms, accumulators);
}

} // namespace blockscale::cpu
