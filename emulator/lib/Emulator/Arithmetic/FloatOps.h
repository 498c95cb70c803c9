//===- FloatOps.h - Arithmetic of floating-point numbers --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of floating-point values.
//
// PTX ISA, "Floating Point Instructions", "Half Precision Floating Point
// Instructions" and "Mixed Precision Floating Point Instructions". The latter
// are f32 operations on `F32::encode(F16::decode(a))`.
//
// f16, bf16 and f32 are computed in double, whose rounding error is found
// exactly and kept as a sticky last bit; one rounding to the format follows.
// f32 to nearest takes the host's own operation, which is the same.
//
// Order of modifiers: inputs flushed, result rounded and flushed, then `.sat`
// or
// `.relu`.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATOPS_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATOPS_H

#include "Emulator/Arithmetic/FloatFormats.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace blockscale::emulator {

struct FloatModifiers {
  Rounding rounding = Rounding::NearestEven;
  bool ftz = false;
  bool sat = false;
  bool relu = false;
};

//===----------------------------------------------------------------------===//
// f64, in FloatOps.cpp; modifiers but the rounding do not exist for it
//===----------------------------------------------------------------------===//

uint64_t addF64(uint64_t a, uint64_t b, Rounding rounding);
uint64_t mulF64(uint64_t a, uint64_t b, Rounding rounding);
uint64_t fmaF64(uint64_t a, uint64_t b, uint64_t c, Rounding rounding);
uint64_t divF64(uint64_t a, uint64_t b, Rounding rounding);
uint64_t sqrtF64(uint64_t a, Rounding rounding);

//===----------------------------------------------------------------------===//
// Exact values as doubles with a sticky last bit
//===----------------------------------------------------------------------===//

namespace detail {

/// `nearest + error`, rounded to odd; `nearest` is that sum to nearest.
inline double roundToOdd(double nearest, double error) {
  if (error == 0 || !std::isfinite(nearest) || error != error)
    return nearest;
  uint64_t bits = asBits(nearest);
  // Back to the magnitude below, where the rounding went up.
  if (std::signbit(error) != std::signbit(nearest))
    --bits;
  return asDouble(bits | 1);
}

/// a + b rounded to odd, with the sign that a zero has under `rounding`.
inline double addToOdd(double a, double b, Rounding rounding) {
  double sum = a + b;
  if (sum == 0)
    return rounding == Rounding::Down && (std::signbit(a) || std::signbit(b))
               ? -0.0
               : sum;
  // Knuth's TwoSum: the error of a sum is itself a double.
  double partOfB = sum - a;
  double partOfA = sum - partOfB;
  double error = (a - partOfA) + (b - partOfB);
  return roundToOdd(sum, error);
}

inline double divToOdd(double a, double b) {
  double quotient = a / b;
  if (quotient == 0 || !std::isfinite(quotient) || !std::isfinite(b))
    return quotient;
  double residual = std::fma(-quotient, b, a);
  return roundToOdd(quotient, b < 0 ? -residual : residual);
}

inline double sqrtToOdd(double a) {
  double root = std::sqrt(a);
  if (root == 0 || !std::isfinite(root))
    return root;
  return roundToOdd(root, std::fma(-root, root, a));
}

template <typename F>
inline double input(uint64_t bits, const FloatModifiers &modifiers) {
  return F::decode(modifiers.ftz ? flushSubnormal<F>(bits) : bits);
}

template <typename F>
inline uint64_t applyModifiers(uint64_t bits, const FloatModifiers &modifiers) {
  if (modifiers.sat)
    bits = saturateToUnit<F>(bits);
  if (modifiers.relu)
    bits = clampNegative<F>(bits);
  return bits;
}

/// The result for an exact value.
template <typename F>
inline uint64_t finish(double value, const FloatModifiers &modifiers) {
  if (modifiers.ftz)
    value = flushTiny<F>(value, modifiers.rounding);
  return applyModifiers<F>(F::encode(value, modifiers.rounding), modifiers);
}

template <typename F>
inline bool isNearestF32(const FloatModifiers &modifiers) {
  return std::is_same_v<F, F32> && modifiers.rounding == Rounding::NearestEven;
}

inline uint64_t finishF32(float value, const FloatModifiers &modifiers) {
  uint64_t bits = value != value ? F32::kFormat.nan : asBits(value);
  return applyModifiers<F32>(bits, modifiers);
}

/// Whether the host's f32 result to nearest is the instruction's. Where it is
/// at most the least normal number, `.ftz` needs the exact value to know.
inline bool isHostResult(float value, const FloatModifiers &modifiers) {
  return !modifiers.ftz || value == 0 ||
         !(std::fabs(value) <= std::numeric_limits<float>::min());
}

inline float inputF32(uint64_t bits, const FloatModifiers &modifiers) {
  return asFloat(modifiers.ftz ? flushSubnormal<F32>(bits) : bits);
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <typename F>
inline uint64_t addFloat(uint64_t a, uint64_t b,
                         const FloatModifiers &modifiers) {
  if constexpr (std::is_same_v<F, F64>)
    return addF64(a, b, modifiers.rounding);
  if (detail::isNearestF32<F>(modifiers)) {
    float sum = detail::inputF32(a, modifiers) + detail::inputF32(b, modifiers);
    if (detail::isHostResult(sum, modifiers))
      return detail::finishF32(sum, modifiers);
  }
  return detail::finish<F>(detail::addToOdd(detail::input<F>(a, modifiers),
                                            detail::input<F>(b, modifiers),
                                            modifiers.rounding),
                           modifiers);
}

template <typename F>
inline uint64_t subFloat(uint64_t a, uint64_t b,
                         const FloatModifiers &modifiers) {
  // A NaN keeps its sign bit, as its payload is kept where there is one.
  return addFloat<F>(a, isNaN<F>(b) ? b : b ^ F::kFormat.sign(), modifiers);
}

template <typename F>
inline uint64_t mulFloat(uint64_t a, uint64_t b,
                         const FloatModifiers &modifiers) {
  if constexpr (std::is_same_v<F, F64>)
    return mulF64(a, b, modifiers.rounding);
  if (detail::isNearestF32<F>(modifiers)) {
    float product =
        detail::inputF32(a, modifiers) * detail::inputF32(b, modifiers);
    if (detail::isHostResult(product, modifiers))
      return detail::finishF32(product, modifiers);
  }
  // Exact: at most 48 bits.
  return detail::finish<F>(detail::input<F>(a, modifiers) *
                               detail::input<F>(b, modifiers),
                           modifiers);
}

/// `fma`, and `mad` of floating-point numbers: one rounding.
template <typename F>
inline uint64_t fmaFloat(uint64_t a, uint64_t b, uint64_t c,
                         const FloatModifiers &modifiers) {
  if constexpr (std::is_same_v<F, F64>)
    return fmaF64(a, b, c, modifiers.rounding);
  double product =
      detail::input<F>(a, modifiers) * detail::input<F>(b, modifiers);
  return detail::finish<F>(detail::addToOdd(product,
                                            detail::input<F>(c, modifiers),
                                            modifiers.rounding),
                           modifiers);
}

template <typename F>
inline uint64_t divFloat(uint64_t a, uint64_t b,
                         const FloatModifiers &modifiers) {
  if constexpr (std::is_same_v<F, F64>)
    return divF64(a, b, modifiers.rounding);
  if (detail::isNearestF32<F>(modifiers)) {
    float quotient =
        detail::inputF32(a, modifiers) / detail::inputF32(b, modifiers);
    if (detail::isHostResult(quotient, modifiers))
      return detail::finishF32(quotient, modifiers);
  }
  return detail::finish<F>(detail::divToOdd(detail::input<F>(a, modifiers),
                                            detail::input<F>(b, modifiers)),
                           modifiers);
}

template <typename F>
inline uint64_t rcpFloat(uint64_t a, const FloatModifiers &modifiers) {
  return divFloat<F>(static_cast<uint64_t>(F::kFormat.bias)
                         << F::kFormat.mantissaBits,
                     a, modifiers);
}

template <typename F>
inline uint64_t sqrtFloat(uint64_t a, const FloatModifiers &modifiers) {
  if constexpr (std::is_same_v<F, F64>)
    return sqrtF64(a, modifiers.rounding);
  if (detail::isNearestF32<F>(modifiers))
    return detail::finishF32(std::sqrt(detail::inputF32(a, modifiers)),
                             modifiers);
  return detail::finish<F>(detail::sqrtToOdd(detail::input<F>(a, modifiers)),
                           modifiers);
}

/// NaN is the operation's own NaN; of f64 it keeps its sign too.
template <typename F>
inline uint64_t absFloat(uint64_t a, bool ftz) {
  if (isNaN<F>(a))
    return getNaN<F>(a);
  return (ftz ? flushSubnormal<F>(a) : a) & F::kFormat.magnitude();
}
template <typename F>
inline uint64_t negFloat(uint64_t a, bool ftz) {
  if (isNaN<F>(a))
    return getNaN<F>(a);
  return (ftz ? flushSubnormal<F>(a) : a) ^ F::kFormat.sign();
}

/// The value of b with the sign of a.
template <typename F>
inline uint64_t copySign(uint64_t a, uint64_t b) {
  return (a & F::kFormat.sign()) | (b & F::kFormat.magnitude());
}

//===----------------------------------------------------------------------===//
// Packed pairs: .f16x2, .bf16x2, .f32x2
//===----------------------------------------------------------------------===//

/// `operation` on the low and on the high elements, of `F`'s width, alone.
template <typename F, typename Operation, typename... Sources>
inline uint64_t mapPair(Operation operation, Sources... sources) {
  constexpr unsigned kBits = F::kFormat.bits();
  constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  uint64_t low = operation((sources & kMask)...);
  uint64_t high = operation((sources >> kBits & kMask)...);
  return (low & kMask) | high << kBits;
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATOPS_H
