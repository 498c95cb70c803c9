//===- Compare.h - Comparison and selection of values -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparison of two values and selection between them.
//
// PTX ISA, "Comparison and Selection Instructions". A comparison is one of
// three relations, met by some of less, equal, greater and unordered.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_COMPARE_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_COMPARE_H

#include "Emulator/Arithmetic/FloatMinMax.h"

namespace blockscale::emulator {

/// Bits: the relations that meet a comparison.
enum class Comparison : uint8_t {
  Less = 1,
  Equal = 2,
  Greater = 4,
  Unordered = 8,

  EQ = Equal,
  NE = Less | Greater,
  LT = Less,
  LE = Less | Equal,
  GT = Greater,
  GE = Greater | Equal,
  EQU = EQ | Unordered,
  NEU = NE | Unordered,
  LTU = LT | Unordered,
  LEU = LE | Unordered,
  GTU = GT | Unordered,
  GEU = GE | Unordered,
  NUM = Less | Equal | Greater,
  NAN_ = Unordered,
};

enum class BoolOp : uint8_t { None, And, Or, Xor };

inline bool includes(Comparison comparison, Comparison relation) {
  return static_cast<unsigned>(comparison) & static_cast<unsigned>(relation);
}

/// Whether a comparison holds for two numbers of an integer type; lo, ls, hi
/// and hs are LT, LE, GT and GE of an unsigned type.
template <typename T>
inline bool compareInteger(Comparison comparison, uint64_t a, uint64_t b) {
  T x = static_cast<T>(a), y = static_cast<T>(b);
  return includes(comparison, x < y    ? Comparison::Less
                              : x == y ? Comparison::Equal
                                       : Comparison::Greater);
}

/// -0 equals +0. `ftz` flushes both numbers first.
template <typename F>
inline bool compareFloat(Comparison comparison, uint64_t a, uint64_t b,
                         bool ftz) {
  if (isNaN<F>(a) || isNaN<F>(b))
    return includes(comparison, Comparison::Unordered);
  if (ftz) {
    a = flushSubnormal<F>(a);
    b = flushSubnormal<F>(b);
  }
  int64_t x = isZero<F>(a) ? 0 : getOrder<F>(a);
  int64_t y = isZero<F>(b) ? 0 : getOrder<F>(b);
  return includes(comparison, x < y    ? Comparison::Less
                              : x == y ? Comparison::Equal
                                       : Comparison::Greater);
}

/// The predicate of `setp`; its second one has `!result` in place of `result`.
inline bool combine(BoolOp op, bool result, bool c) {
  switch (op) {
  case BoolOp::None:
    return result;
  case BoolOp::And:
    return result && c;
  case BoolOp::Or:
    return result || c;
  case BoolOp::Xor:
    return result != c;
  }
  return result;
}

/// What `set` writes: all ones in an integer type of `bits` bits.
inline uint64_t getSetInteger(bool result, unsigned bits) {
  return result ? ~uint64_t{0} >> (64 - bits) : 0;
}
/// What `set` writes: 1.0 in a floating-point type.
template <typename F>
inline uint64_t getSetFloat(bool result) {
  return result
             ? static_cast<uint64_t>(F::kFormat.bias) << F::kFormat.mantissaBits
             : 0;
}

/// `slct`: whether c selects the first source. -0 does, NaN does not, and with
/// `ftz` neither does a subnormal differ from zero.
inline bool selectsFirstF32(uint64_t c, bool ftz) {
  return compareFloat<F32>(Comparison::GE, c, 0, ftz);
}
inline bool selectsFirstS32(uint64_t c) { return static_cast<int32_t>(c) >= 0; }

enum class FloatTest : uint8_t {
  Finite,
  Infinite,
  Number,
  NotANumber,
  Normal, ///< zeros are
  Subnormal,
};

template <typename F>
inline bool testFloat(FloatTest test, uint64_t a) {
  switch (test) {
  case FloatTest::Finite:
    return !isNaN<F>(a) && !isInfinite<F>(a);
  case FloatTest::Infinite:
    return isInfinite<F>(a);
  case FloatTest::Number:
    return !isNaN<F>(a);
  case FloatTest::NotANumber:
    return isNaN<F>(a);
  case FloatTest::Normal:
    return !isNaN<F>(a) && !isInfinite<F>(a) && !isSubnormal<F>(a);
  case FloatTest::Subnormal:
    return isSubnormal<F>(a);
  }
  return false;
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_COMPARE_H
