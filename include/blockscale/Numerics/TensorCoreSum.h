//===- TensorCoreSum.h - What tensor cores add ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix instruction adds products by fused additions. An addition takes some
// products and the accumulator, aligns all of them to the largest of their
// exponents, cuts off what is below a last place, adds the rest exactly and
// cuts the sum to f32: docs/Numerics.md, section 13, has the formulas and where
// each number of the table below comes from.
//
// The formulas are over words (Bits.h) and f64, in which the sums of an
// addition are exact: they have at most 40 bits.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_TENSORCORESUM_H
#define BLOCKSCALE_NUMERICS_TENSORCORESUM_H

#include "blockscale/Numerics/Codec.h"

#include <optional>

namespace blockscale::numerics {

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

/// The types of numbers that tensor cores multiply. The code of a TF32 is the
/// upper 19 bits of an f32.
enum class FactorFormat : uint8_t { BF16, F16, TF32, E4M3, E5M2 };

/// A format of terms: its fields, its bits, and its first codes without sign
/// that are infinity and NaN. Where they are not the same, infinity is first.
struct TermFormat {
  CodeFields fields;
  int bits;
  uint32_t infinity, nan;
};

/// The accumulator.
inline constexpr TermFormat kAccumulatorFormat = {
    {kFloatMantissaBits, kFloatBias},
    32,
    kFloatInfinityBits,
    kFloatInfinityBits + 1};

constexpr TermFormat getTermFormat(FactorFormat format) {
  switch (format) {
  case FactorFormat::BF16:
    return {{7, kFloatBias}, 16, 0x7F80, 0x7F81};
  case FactorFormat::F16:
    return {kF16Fields, 16, 0x7C00, 0x7C01};
  case FactorFormat::TF32:
    return {{10, kFloatBias}, 19, 0x3FC00, 0x3FC01};
  case FactorFormat::E4M3:
    return {getFields(ElementFormat::E4M3), 8, kE4M3Nan, kE4M3Nan};
  case FactorFormat::E5M2:
    return {getFields(ElementFormat::E5M2), 8, 0x7C, 0x7D};
  }
  return kAccumulatorFormat;
}

//===----------------------------------------------------------------------===//
// Sums of instructions
//===----------------------------------------------------------------------===//

/// Generations of tensor cores whose chips add alike, as far as is known.
/// Consumer Blackwell is that of SM120.
enum class TensorCores : uint8_t {
  Ampere,
  Ada,
  Hopper,
  Blackwell,
  ConsumerBlackwell
};

/// The instructions that multiply matrices, without scales.
enum class MatrixInstruction : uint8_t { MmaSync, Wgmma, Tcgen05 };

/// Which products of K an addition takes.
enum class AdditionOrder : uint8_t {
  /// The next ones, and the accumulator.
  Ascending,
  /// Of each four the first two, and the next addition the other two. The two
  /// begin with 0, and their sum is added to the accumulator in f32, to
  /// nearest. So does an instruction of FP8 that brings its factors to F16 and
  /// is two instructions, each of halves of the registers, and an addition.
  PairsApart
};

/// Where the numbers of a sum come from: measured by this project, or followed
/// from the literature and not run.
enum class SumSource : uint8_t { Measured, Literature };

/// How an instruction adds.
struct TensorCoreSum {
  /// Products of an addition.
  int products;
  /// Bits below the largest exponent of an addition that its terms keep.
  int fractionBits;
  /// Bits below the exponent of a sum that it keeps.
  int resultBits;
  /// The least value that the largest exponent of an addition has.
  int leastExponent;
  AdditionOrder order;
  SumSource source;

  /// Elements of K after which the order of additions repeats.
  constexpr int getPeriod() const {
    return order == AdditionOrder::PairsApart ? 2 * products : products;
  }

  /// The element of K that is product i of an addition.
  constexpr int64_t getElement(int64_t addition, int64_t i) const {
    if (order == AdditionOrder::Ascending)
      return addition * products + i;
    return (addition / 2) * getPeriod() + (i / 2) * 4 + (addition % 2) * 2 +
           i % 2;
  }

  /// Additions of `depth` products; those behind the last one are 0.
  constexpr int64_t countAdditions(int64_t depth) const {
    return ceilDivide(depth, getPeriod()) * (getPeriod() / products);
  }
};

/// What is known of an instruction.
struct KnownSum {
  TensorCores tensorCores;
  MatrixInstruction instruction;
  /// Bits of a factor, by which instructions differ.
  int factorBits;
  TensorCoreSum sum;
};

inline constexpr TensorCoreSum kAmpereSum = {
    8, 24, 23, -132, AdditionOrder::Ascending, SumSource::Literature};
inline constexpr TensorCoreSum kAmpereTF32Sum = {
    4, 24, 23, -132, AdditionOrder::Ascending, SumSource::Literature};
inline constexpr TensorCoreSum kHopperSum = {
    16, 25, 23, -133, AdditionOrder::Ascending, SumSource::Measured};
inline constexpr TensorCoreSum kHopperTF32Sum = {
    8, 25, 23, -133, AdditionOrder::Ascending, SumSource::Measured};
inline constexpr TensorCoreSum kBlackwellSum = {
    16, 25, 23, -133, AdditionOrder::Ascending, SumSource::Literature};
inline constexpr TensorCoreSum kBlackwellTF32Sum = {
    8, 25, 23, -133, AdditionOrder::Ascending, SumSource::Literature};
inline constexpr TensorCoreSum kBlackwellFP8Sum = {
    32, 25, 23, -133, AdditionOrder::Ascending, SumSource::Literature};

/// All instructions whose sums are known. Those with scales are not: nothing is
/// published of them.
inline constexpr KnownSum kKnownSums[] = {
    {TensorCores::Ampere, MatrixInstruction::MmaSync, 16, kAmpereSum},
    {TensorCores::Ampere, MatrixInstruction::MmaSync, 19, kAmpereTF32Sum},
    {TensorCores::Ada, MatrixInstruction::MmaSync, 16, kAmpereSum},
    {TensorCores::Ada, MatrixInstruction::MmaSync, 19, kAmpereTF32Sum},
    {TensorCores::Ada,
     MatrixInstruction::MmaSync,
     8,
     {16, 13, 13, -132, AdditionOrder::Ascending, SumSource::Literature}},
    {TensorCores::Hopper, MatrixInstruction::MmaSync, 16, kHopperSum},
    {TensorCores::Hopper, MatrixInstruction::MmaSync, 19, kHopperTF32Sum},
    {TensorCores::Hopper,
     MatrixInstruction::MmaSync,
     8,
     {16, 25, 23, -133, AdditionOrder::PairsApart, SumSource::Measured}},
    {TensorCores::Hopper, MatrixInstruction::Wgmma, 16, kHopperSum},
    {TensorCores::Hopper, MatrixInstruction::Wgmma, 19, kHopperTF32Sum},
    {TensorCores::Hopper,
     MatrixInstruction::Wgmma,
     8,
     {32, 13, 13, -133, AdditionOrder::Ascending, SumSource::Measured}},
    {TensorCores::Blackwell, MatrixInstruction::MmaSync, 16, kBlackwellSum},
    {TensorCores::Blackwell, MatrixInstruction::MmaSync, 19, kBlackwellTF32Sum},
    {TensorCores::Blackwell,
     MatrixInstruction::MmaSync,
     8,
     {16, 25, 23, -133, AdditionOrder::PairsApart, SumSource::Literature}},
    {TensorCores::Blackwell, MatrixInstruction::Tcgen05, 16, kBlackwellSum},
    {TensorCores::Blackwell, MatrixInstruction::Tcgen05, 19, kBlackwellTF32Sum},
    {TensorCores::Blackwell, MatrixInstruction::Tcgen05, 8, kBlackwellFP8Sum},
    {TensorCores::ConsumerBlackwell, MatrixInstruction::MmaSync, 16,
     kBlackwellSum},
    {TensorCores::ConsumerBlackwell, MatrixInstruction::MmaSync, 19,
     kBlackwellTF32Sum},
    {TensorCores::ConsumerBlackwell, MatrixInstruction::MmaSync, 8,
     kBlackwellFP8Sum},
};

/// How an instruction adds products of factors of a format, if that is known.
constexpr std::optional<TensorCoreSum>
getTensorCoreSum(TensorCores tensorCores, MatrixInstruction instruction,
                 FactorFormat format) {
  for (const KnownSum &known : kKnownSums)
    if (known.tensorCores == tensorCores && known.instruction == instruction &&
        known.factorBits == getTermFormat(format).bits)
      return known.sum;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// A factor, or a product of two: significand * 2^exponent, where the
/// significand has a sign and as many bits behind its point as its format says.
/// A subnormal one is not normalized. The exponents of zeros are so small that
/// they decide nothing, and those of infinities (significand 1 or -1) and NaN
/// (0) so large that those of their products are, too: infinity times 0 is NaN.
template <typename Word>
struct Term {
  Word significand;
  Word exponent;
};
inline constexpr uint32_t kZeroExponent = static_cast<uint32_t>(-10000);
inline constexpr uint32_t kSpecialExponent = 30000;
/// From here on, exponents are those of infinities and NaN.
inline constexpr uint32_t kFirstSpecialExponent = 10000;

/// The term that a code stands for.
template <typename Word>
constexpr Term<Word> decodeTerm(const TermFormat &format, Word code) {
  int mantissaBits = format.fields.mantissaBits;
  Word sign = code >> (format.bits - 1);
  Word magnitude = code & ((1u << (format.bits - 1)) - 1u);
  Word field = magnitude >> mantissaBits;
  Word isSubnormal =
      select(isEqual(field, like(field, 0u)), like(field, 1u), like(field, 0u));
  Word significand = (magnitude & ((1u << mantissaBits) - 1u)) |
                     ((isSubnormal ^ 1u) << mantissaBits);
  Word exponent =
      field + isSubnormal - static_cast<uint32_t>(format.fields.bias);
  exponent = select(isEqual(magnitude, like(magnitude, 0u)),
                    like(exponent, kZeroExponent), exponent);
  auto isFinite = isBelow(magnitude, like(magnitude, format.infinity));
  Word special = select(isBelow(magnitude, like(magnitude, format.nan)),
                        like(magnitude, 1u), like(magnitude, 0u));
  significand = select(isFinite, significand, special);
  exponent = select(isFinite, exponent, like(exponent, kSpecialExponent));
  // With the sign, in two's complement.
  return {(significand ^ (like(sign, 0u) - sign)) + sign, exponent};
}

/// A term's significand in units of the last place of an addition whose largest
/// exponent is `largest`, rounded toward zero. It has `termBits` bits behind
/// its point.
template <typename Word>
constexpr Word alignTerm(const TensorCoreSum &sum, const Term<Word> &term,
                         int termBits, Word largest) {
  Word sign = like(term.significand, 0u) - (term.significand >> 31);
  Word magnitude = (term.significand ^ sign) - sign;
  int left = sum.fractionBits - termBits;
  magnitude = left >= 0 ? magnitude << left : magnitude >> -left;
  magnitude =
      magnitude >> minUnsigned(largest - term.exponent, like(largest, 31u));
  return (magnitude ^ sign) - sign;
}

/// The bits of f32 that a total becomes, rounded toward zero. It is an f64 of
/// `high` and `low` bits, in units of the last place of an addition whose
/// largest exponent is `largest`.
template <typename Word>
constexpr Word roundTotal(const TensorCoreSum &sum, Word high, Word low,
                          Word largest) {
  // The exponent of f64 is biased by 1023. That of 0 is the least, so that 0
  // becomes a number far below all of f32. From here on, exponents count from
  // that of the least normal f32.
  Word exponent =
      ((high >> 20) & 0x7FFu) + largest +
      static_cast<uint32_t>(kFloatBias - 1 - 1023 - sum.fractionBits);
  Word significand =
      ((high & 0xFFFFFu) << 3) | (low >> 29) | (kFloatMantissaMask + 1);
  Word isSubnormal = exponent >> 31;
  Word below = (like(exponent, 0u) - exponent) & (like(high, 0u) - isSubnormal);
  Word field = exponent & (isSubnormal - 1u);
  significand = (significand >> minUnsigned(below, like(below, 31u))) &
                ~((1u << (kFloatMantissaBits - sum.resultBits)) - 1u);
  // The significand brings a one to the field of what is not subnormal.
  Word magnitude = select(isBelow(field, like(field, 254u)),
                          (field << kFloatMantissaBits) + significand,
                          like(field, kFloatInfinityBits));
  return select(isEqual(magnitude, like(magnitude, 0u)), magnitude,
                magnitude | (high & kFloatSignMask));
}

//===----------------------------------------------------------------------===//
// Sums of numbers
//===----------------------------------------------------------------------===//

/// The NaN that instructions give, whatever NaN they got.
inline constexpr uint32_t kTensorCoreNan = 0x7FFFFFFF;

/// What the formulas ask of a word in addition to Bits.h: a number with sign as
/// f64, the words of an f64, and one of two values that are computed as needed.
constexpr double convertToF64(uint32_t x) { return static_cast<int32_t>(x); }
template <typename Word>
struct WordPair {
  Word high, low;
};
constexpr WordPair<uint32_t> getWords(double x) {
  uint64_t bits = __builtin_bit_cast(uint64_t, x);
  return {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)};
}
template <typename First, typename Second>
constexpr uint32_t choose(bool condition, First first, Second second) {
  return condition ? first() : second();
}

/// The products of an addition. Those behind them are 0.
template <typename Word>
struct AdditionTerms {
  static constexpr int kMost = 32;
  /// Terms that are looked at together, which compilers make vectors of.
  static constexpr int kTogether = 8;
  Word significands[kMost] = {};
  Word exponents[kMost] = {};

  constexpr explicit AdditionTerms(Word shape) {
    for (int i = 0; i < kMost; ++i)
      clear(i, shape);
  }
  constexpr void set(int i, const Term<Word> &a, const Term<Word> &b) {
    significands[i] = a.significand * b.significand;
    exponents[i] = a.exponent + b.exponent;
  }
  constexpr void clear(int i, Word shape) {
    significands[i] = like(shape, 0u);
    exponents[i] = like(shape, kZeroExponent);
  }
  constexpr Term<Word> get(int i) const {
    return {significands[i], exponents[i]};
  }
};

/// The sum of terms of which some are infinite or NaN.
template <typename Word>
constexpr Word addSpecialTerms(const TensorCoreSum &sum,
                               const AdditionTerms<Word> &terms,
                               const Term<Word> &accumulator) {
  // What a term brings: NaN, or an infinity.
  constexpr uint32_t kUp = 1, kDown = 2, kNan = 4;
  auto getKind = [](const Term<Word> &term) {
    Word zero = like(term.significand, 0u);
    Word special = select(isEqual(term.significand, zero), like(zero, kNan),
                          like(zero, kUp) + (term.significand >> 31));
    return select(
        isLessSigned(term.exponent, like(zero, kFirstSpecialExponent)), zero,
        special);
  };
  Word kinds = getKind(accumulator);
  for (int i = 0; i < sum.products; ++i)
    kinds = kinds | getKind(terms.get(i));
  Word infinity = ((kinds & kDown) << 30) | kFloatInfinityBits;
  return select(isBelow(kinds, like(kinds, kUp | kDown)), infinity,
                like(kinds, kTensorCoreNan));
}

/// The accumulator after an addition, as bits of f32. `termBits`: the bits
/// behind the point of a product's significand.
template <typename Word>
constexpr Word addTerms(const TensorCoreSum &sum, int termBits,
                        const AdditionTerms<Word> &terms, Word accumulator) {
  constexpr int kTogether = AdditionTerms<Word>::kTogether;
  Term<Word> start = decodeTerm(kAccumulatorFormat, accumulator);
  Word largest =
      maxSigned(start.exponent,
                like(accumulator, static_cast<uint32_t>(sum.leastExponent)));
  for (int first = 0; first < sum.products; first += kTogether)
    for (int i = first; i < first + kTogether; ++i)
      largest = maxSigned(largest, terms.exponents[i]);
  auto addFinite = [&] {
    auto total = convertToF64(
        alignTerm(sum, start, kAccumulatorFormat.fields.mantissaBits, largest));
    for (int first = 0; first < sum.products; first += kTogether) {
      // A word holds it: each term is below 2^(fractionBits + 2).
      Word partial = like(largest, 0u);
      for (int i = first; i < first + kTogether; ++i)
        partial = partial + alignTerm(sum, terms.get(i), termBits, largest);
      total = total + convertToF64(partial);
    }
    auto [high, low] = getWords(total);
    return roundTotal(sum, high, low, largest);
  };
  return choose(isLessSigned(largest, like(largest, kFirstSpecialExponent)),
                addFinite, [&] { return addSpecialTerms(sum, terms, start); });
}

/// a + b as bits of f32.
constexpr uint32_t addInF32(uint32_t a, uint32_t b) {
  float sum = fromBits(a) + fromBits(b);
  return isNan(sum) ? kTensorCoreNan : toBits(sum);
}

/// The accumulator, as bits of f32, after the products of `depth` elements of
/// K. getA(k) and getB(k) are terms whose significands have `termBits` bits
/// behind their points together.
template <typename GetA, typename GetB>
constexpr uint32_t addProducts(const TensorCoreSum &sum, int termBits,
                               GetA getA, GetB getB, int64_t depth,
                               uint32_t accumulator = 0) {
  AdditionTerms<uint32_t> terms(0);
  auto addNext = [&](int64_t addition, uint32_t start) {
    for (int i = 0; i < sum.products; ++i) {
      int64_t k = sum.getElement(addition, i);
      if (k < depth)
        terms.set(i, getA(k), getB(k));
      else
        terms.clear(i, 0);
    }
    return addTerms(sum, termBits, terms, start);
  };
  for (int64_t addition = 0, end = sum.countAdditions(depth); addition < end;
       ++addition) {
    if (sum.order == AdditionOrder::Ascending) {
      accumulator = addNext(addition, accumulator);
      continue;
    }
    uint32_t first = addNext(addition, 0);
    accumulator = addInF32(accumulator, addNext(++addition, first));
  }
  return accumulator;
}

/// The format that factors of a format are brought to before they are
/// multiplied.
constexpr FactorFormat getMultipliedFormat(const TensorCoreSum &sum,
                                           FactorFormat format) {
  return sum.order == AdditionOrder::PairsApart ? FactorFormat::F16 : format;
}

/// The term of a factor's code, in the format that it is multiplied in.
constexpr Term<uint32_t> decodeFactor(const TensorCoreSum &sum,
                                      FactorFormat format, uint32_t code) {
  FactorFormat multiplied = getMultipliedFormat(sum, format);
  if (multiplied != format) {
    ElementFormat element = format == FactorFormat::E4M3 ? ElementFormat::E4M3
                                                         : ElementFormat::E5M2;
    code = encodeF16Bits(decodeBits(element, code)) & 0xFFFFu;
  }
  return decodeTerm(getTermFormat(multiplied), code);
}

/// The bits behind the point of a product of two formats.
constexpr int getTermBits(const TensorCoreSum &sum, FactorFormat a,
                          FactorFormat b) {
  return getTermFormat(getMultipliedFormat(sum, a)).fields.mantissaBits +
         getTermFormat(getMultipliedFormat(sum, b)).fields.mantissaBits;
}

/// The same, of codes of formats `a` and `b`.
template <typename Code>
constexpr uint32_t addProductsOfCodes(const TensorCoreSum &sum, FactorFormat a,
                                      const Code *codesA, FactorFormat b,
                                      const Code *codesB, int64_t depth,
                                      uint32_t accumulator = 0) {
  auto getA = [&](int64_t k) {
    return decodeFactor(sum, a, uint32_t{codesA[k]});
  };
  auto getB = [&](int64_t k) {
    return decodeFactor(sum, b, uint32_t{codesB[k]});
  };
  return addProducts(sum, getTermBits(sum, a, b), getA, getB, depth,
                     accumulator);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_TENSORCORESUM_H
