//===- FloatApprox.cpp - Approximate functions of floats ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/FloatApprox.h"

#include "Emulator/Arithmetic/FloatOps.h"

namespace blockscale::emulator {

/// The function of a double; NaN outside its domain, infinities at its poles.
static double evaluate(ApproxFunction function, double value) {
  switch (function) {
  case ApproxFunction::Rcp:
    return 1 / value;
  case ApproxFunction::Sqrt:
    return std::sqrt(value);
  case ApproxFunction::Rsqrt:
    return 1 / std::sqrt(value);
  case ApproxFunction::Sin:
    return std::sin(value);
  case ApproxFunction::Cos:
    return std::cos(value);
  case ApproxFunction::Lg2:
    return std::log2(value);
  case ApproxFunction::Ex2:
    return std::exp2(value);
  case ApproxFunction::Tanh:
    return std::tanh(value);
  }
  return value;
}

template <typename F>
static uint64_t approximate(ApproxFunction function, uint64_t a, bool ftz) {
  if (isNaN<F>(a))
    return F::kFormat.nan;
  FloatModifiers modifiers;
  modifiers.ftz = ftz;
  return detail::finish<F>(evaluate(function, detail::input<F>(a, modifiers)),
                           modifiers);
}

uint64_t approxF32(ApproxFunction function, uint64_t a, bool ftz) {
  return approximate<F32>(function, a, ftz);
}
uint64_t approxF16(ApproxFunction function, uint64_t a, bool ftz) {
  return approximate<F16>(function, a, ftz);
}
uint64_t approxBF16(ApproxFunction function, uint64_t a, bool ftz) {
  return approximate<BF16>(function, a, ftz);
}

static uint64_t approximateF64(ApproxFunction function, uint64_t a) {
  double result = evaluate(function, asDouble(a));
  return result != result ? F64::kFormat.nan : asBits(result);
}

uint64_t approxRsqrtF64(uint64_t a) {
  return approximateF64(ApproxFunction::Rsqrt, a);
}

static uint64_t approximateUpperF64(ApproxFunction function, uint64_t a) {
  constexpr uint64_t kUpper = ~uint64_t{0xFFFFFFFF};
  constexpr uint64_t kNaN = uint64_t{0x7FFFFFFF} << 32;
  uint64_t bits = approximateF64(function, flushSubnormal<F64>(a & kUpper));
  if (isNaN<F64>(bits))
    return kNaN;
  if (isInfinite<F64>(bits))
    return bits;
  uint64_t rounded = bits + 0x7FFFFFFF + (bits >> 32 & 1);
  return flushSubnormal<F64>(rounded & kUpper);
}

uint64_t approxRcpFtzF64(uint64_t a) {
  return approximateUpperF64(ApproxFunction::Rcp, a);
}
uint64_t approxRsqrtFtzF64(uint64_t a) {
  return approximateUpperF64(ApproxFunction::Rsqrt, a);
}

uint64_t fullDivF32(uint64_t a, uint64_t b, bool ftz) {
  FloatModifiers modifiers;
  modifiers.ftz = ftz;
  return divFloat<F32>(a, b, modifiers);
}

uint64_t approxDivF32(uint64_t a, uint64_t b, bool ftz) {
  constexpr uint64_t k2To126 = uint64_t{126 + 127} << 23;
  uint64_t magnitude = b & F32::kFormat.magnitude();
  if (magnitude > k2To126 && magnitude < F32::kFormat.infinity &&
      !isNaN<F32>(a))
    return isInfinite<F32>(a) ? F32::kFormat.nan
                              : (a ^ b) & F32::kFormat.sign();
  return fullDivF32(a, b, ftz);
}

} // namespace blockscale::emulator
