//===- FloatApprox.h - Approximate functions of floats ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of floating-point values whose results have a bounded error.
//
// The `.approx` forms. PTX bounds their error alone and lists their results for
// zeros, infinities and NaN. Here each is the host's double function rounded to
// nearest, so a result is the nearest of its format, but where double misses a
// tie by less than its own error. Silicon may differ within the bounds of the
// ISA: no test may ask for equality with it.
//
// `.ftz` flushes inputs and results; f16 and bf16 take it as their form has it.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATAPPROX_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATAPPROX_H

#include "Emulator/Arithmetic/FloatFormats.h"

namespace blockscale::emulator {

enum class ApproxFunction : uint8_t {
  Rcp,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Lg2,
  Ex2,
  Tanh,
};

uint64_t approxF32(ApproxFunction function, uint64_t a, bool ftz);
/// Ex2 and Tanh are the ones that PTX has.
uint64_t approxF16(ApproxFunction function, uint64_t a, bool ftz);
uint64_t approxBF16(ApproxFunction function, uint64_t a, bool ftz);

/// `rsqrt.approx.f64`.
uint64_t approxRsqrtF64(uint64_t a);
/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: of the upper 32 bits of the
/// source, subnormals as zeros; the result is the nearest whose low 32 bits are
/// zero. NaN is 0x7FFFFFFF00000000.
uint64_t approxRcpFtzF64(uint64_t a);
uint64_t approxRsqrtFtzF64(uint64_t a);

/// `div.approx.f32`: for 2^126 < |b| < 2^128 an infinite a gives NaN and any
/// other the zero of the quotient's sign.
uint64_t approxDivF32(uint64_t a, uint64_t b, bool ftz);
/// `div.full.f32`.
uint64_t fullDivF32(uint64_t a, uint64_t b, bool ftz);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATAPPROX_H
