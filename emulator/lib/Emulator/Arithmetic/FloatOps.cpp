//===- FloatOps.cpp - Arithmetic of f64 -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/FloatOps.h"

#include "llvm/ADT/APFloat.h"

namespace blockscale::emulator {

using llvm::APFloat;

static llvm::RoundingMode toLLVM(Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return llvm::RoundingMode::TowardZero;
  case Rounding::Down:
    return llvm::RoundingMode::TowardNegative;
  case Rounding::Up:
    return llvm::RoundingMode::TowardPositive;
  case Rounding::NearestAway:
    return llvm::RoundingMode::NearestTiesToAway;
  case Rounding::NearestEven:
  case Rounding::Stochastic:
    return llvm::RoundingMode::NearestTiesToEven;
  }
  return llvm::RoundingMode::NearestTiesToEven;
}

static APFloat toAPFloat(uint64_t bits) {
  return APFloat(APFloat::IEEEdouble(), llvm::APInt(64, bits));
}

/// The bits of a result; a NaN that no source brought is the format's.
static uint64_t getResult(const APFloat &value) {
  return value.isNaN() ? F64::kFormat.nan
                       : value.bitcastToAPInt().getZExtValue();
}
static uint64_t getResult(double value) {
  return value != value ? F64::kFormat.nan : asBits(value);
}

/// The last NaN among the sources, made quiet; zero if there is none.
template <typename... Sources>
static uint64_t findNaN(Sources... sources) {
  uint64_t nan = 0;
  for (uint64_t source : {static_cast<uint64_t>(sources)...})
    if (isNaN<F64>(source))
      nan = getNaN<F64>(source);
  return nan;
}

uint64_t addF64(uint64_t a, uint64_t b, Rounding rounding) {
  if (uint64_t nan = findNaN(a, b))
    return nan;
  if (rounding == Rounding::NearestEven)
    return getResult(asDouble(a) + asDouble(b));
  APFloat result = toAPFloat(a);
  result.add(toAPFloat(b), toLLVM(rounding));
  return getResult(result);
}

uint64_t mulF64(uint64_t a, uint64_t b, Rounding rounding) {
  if (uint64_t nan = findNaN(a, b))
    return nan;
  if (rounding == Rounding::NearestEven)
    return getResult(asDouble(a) * asDouble(b));
  APFloat result = toAPFloat(a);
  result.multiply(toAPFloat(b), toLLVM(rounding));
  return getResult(result);
}

uint64_t fmaF64(uint64_t a, uint64_t b, uint64_t c, Rounding rounding) {
  if (uint64_t nan = findNaN(a, b, c))
    return nan;
  if (rounding == Rounding::NearestEven)
    return getResult(std::fma(asDouble(a), asDouble(b), asDouble(c)));
  APFloat result = toAPFloat(a);
  result.fusedMultiplyAdd(toAPFloat(b), toAPFloat(c), toLLVM(rounding));
  return getResult(result);
}

uint64_t divF64(uint64_t a, uint64_t b, Rounding rounding) {
  if (uint64_t nan = findNaN(b, a))
    return nan;
  if (rounding == Rounding::NearestEven)
    return getResult(asDouble(a) / asDouble(b));
  APFloat result = toAPFloat(a);
  result.divide(toAPFloat(b), toLLVM(rounding));
  return getResult(result);
}

uint64_t sqrtF64(uint64_t a, Rounding rounding) {
  if (uint64_t nan = findNaN(a))
    return nan;
  double root = std::sqrt(asDouble(a));
  if (rounding == Rounding::NearestEven || root == 0 || !std::isfinite(root))
    return getResult(root);
  // The square of a double is exact in quadruple precision.
  bool losesInfo = false;
  APFloat square = toAPFloat(asBits(root)), value = toAPFloat(a);
  square.convert(APFloat::IEEEquad(), llvm::RoundingMode::NearestTiesToEven,
                 &losesInfo);
  value.convert(APFloat::IEEEquad(), llvm::RoundingMode::NearestTiesToEven,
                &losesInfo);
  square.multiply(square, llvm::RoundingMode::NearestTiesToEven);
  APFloat::cmpResult order = square.compare(value);
  uint64_t bits = asBits(root);
  if (order == APFloat::cmpGreaterThan && rounding != Rounding::Up)
    return bits - 1;
  if (order == APFloat::cmpLessThan && rounding == Rounding::Up)
    return bits + 1;
  return bits;
}

} // namespace blockscale::emulator
