//===- FloatMinMax.h - min and max of floating-point numbers ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Minimum and maximum of floating-point values.
//
// PTX ISA, "Floating Point Instructions: min, max". -0 is less than +0. One NaN
// loses against a number, unless `.NaN` is given; two give the canonical NaN,
// of f64 the second.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATMINMAX_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATMINMAX_H

#include "Emulator/Arithmetic/FloatFormats.h"

namespace blockscale::emulator {

struct MinMaxModifiers {
  bool ftz = false;
  bool propagateNaN = false; ///< .NaN
  bool abs = false;          ///< .abs: of the magnitudes
  bool xorSign = false;      ///< .xorsign: of both signs, on the result
};

/// A number's place among all of its format, -0 before +0.
template <typename F>
inline int64_t getOrder(uint64_t bits) {
  auto magnitude = static_cast<int64_t>(bits & F::kFormat.magnitude());
  return isNegative<F>(bits) ? -1 - magnitude : magnitude;
}

namespace detail {

template <typename F, bool isMax>
inline uint64_t minMax(uint64_t a, uint64_t b,
                       const MinMaxModifiers &modifiers) {
  if (modifiers.ftz) {
    a = flushSubnormal<F>(a);
    b = flushSubnormal<F>(b);
  }
  uint64_t sign = (a ^ b) & F::kFormat.sign();
  if (modifiers.abs) {
    a &= F::kFormat.magnitude();
    b &= F::kFormat.magnitude();
  }
  bool aIsNaN = isNaN<F>(a), bIsNaN = isNaN<F>(b);
  uint64_t result = 0;
  if (aIsNaN || bIsNaN) {
    if ((aIsNaN && bIsNaN) || modifiers.propagateNaN)
      return getNaN<F>(bIsNaN ? b : a);
    result = aIsNaN ? b : a;
  } else {
    bool aIsLess = getOrder<F>(a) < getOrder<F>(b);
    result = aIsLess != isMax ? a : b;
  }
  if (modifiers.xorSign)
    result = (result & F::kFormat.magnitude()) | sign;
  return result;
}

} // namespace detail

template <typename F>
inline uint64_t minFloat(uint64_t a, uint64_t b,
                         const MinMaxModifiers &modifiers) {
  return detail::minMax<F, false>(a, b, modifiers);
}
template <typename F>
inline uint64_t maxFloat(uint64_t a, uint64_t b,
                         const MinMaxModifiers &modifiers) {
  return detail::minMax<F, true>(a, b, modifiers);
}

/// The minimum of three values, which only f32 has, without `.xorsign`.
inline uint64_t minFloat(uint64_t a, uint64_t b, uint64_t c,
                         const MinMaxModifiers &modifiers) {
  return minFloat<F32>(minFloat<F32>(a, b, modifiers), c, modifiers);
}
inline uint64_t maxFloat(uint64_t a, uint64_t b, uint64_t c,
                         const MinMaxModifiers &modifiers) {
  return maxFloat<F32>(maxFloat<F32>(a, b, modifiers), c, modifiers);
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATMINMAX_H
