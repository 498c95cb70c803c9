//===- Convert.h - Conversions between formats ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversions of `cvt` and `cvt.pack` on single values.
//
// PTX ISA, "Data Movement and Conversion Instructions: cvt", and `cvt.pack`.
//
// An instruction is looked up once and then called on bit patterns. Results are
// extended to 64 bits as PTX extends them to a wider register: signed integers
// by their sign, all else by zeros.
//
// Sources, in the order of the operands; of several the first goes to the most
// significant element of the result:
//   1  a scalar or one packed register
//   2  two f32
//   3  two f32 and the random bits of `.rs`
//   5  four f32 and the random bits of `.rs`
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_CONVERT_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_CONVERT_H

#include "Emulator/Arithmetic/Rounding.h"
#include "blockscale/Emulator/Type.h"

namespace blockscale::emulator {

/// Which bits of `rbits` the four elements a, b, e, f of an x4 form take. PTX
/// says which pair of elements uses which half of the bits: for e2m1x4 a and b
/// the upper bytes of both 16-bit halves, e and f the lower ones; for the other
/// formats a and b the upper half, e and f the lower one. How a pair shares its
/// 16 bits is drawn in a figure alone.
enum class RandomLayout : uint8_t {
  /// 8 bits each: the more significant byte is the first element's.
  Split,
  /// 16 bits each, the same ones: the second element takes them as they are,
  /// the
  /// first one in reverse order. So one B200 was reported to do.
  Shared,
};

struct ConvertModifiers {
  /// .rn, .rz, .rm, .rp, .rna, .rs; also .rni, .rzi, .rmi, .rpi.
  Rounding rounding = Rounding::NearestEven;
  /// Whether that was one of the latter: between floating-point types, the
  /// result is an integral value.
  bool integral = false;
  bool ftz = false;
  bool sat = false;
  bool satfinite = false;
  bool relu = false;
  RandomLayout randomLayout = RandomLayout::Split;
};

using ConvertFunction = uint64_t (*)(const uint64_t *sources,
                                     const ConvertModifiers &modifiers);

/// The function of `cvt.to.from` with that many sources, or null where PTX has
/// no such instruction. Whether the modifiers suit it is not checked.
ConvertFunction findConvert(Type to, Type from, unsigned sources);

/// `cvt.pack.sat`: a and b, clamped to elements of `bits` bits (2, 4, 8 or 16),
/// a above b; the bits above are c's, shifted left.
uint64_t packSaturated(uint64_t a, uint64_t b, uint64_t c, unsigned bits,
                       bool isSigned);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_CONVERT_H
