//===- TensorCoreSumTest.cpp - What tensor cores add ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of instructions beside the formulas of docs/Numerics.md, section 13,
// written down once more in f64. A class of sums is what a wrong rule would get
// wrong: a test of one names such rules, and demands that they differ.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/TensorCoreSum.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

using namespace blockscale::numerics;

namespace {

/// The rules of an addition that are not numbers of TensorCoreSum. The defaults
/// are right.
struct SumRules {
  bool normalizesFactors = false;
  bool normalizesProducts = false;
  bool normalizesAccumulator = false;
  bool flushesFactors = false;
  bool flushesResults = false;
  bool roundsTermsDown = false;
  bool roundsToNearest = false;
  bool limitsProducts = false;
  bool keepsSignOfZero = false;
  bool chainsPairs = false;
  bool keepsFormats = false;
  bool hasFloor = true;
};

/// The value of a code by the definition of its format.
double getValue(FactorFormat format, uint32_t code) {
  if (format == FactorFormat::E4M3)
    return decode(ElementFormat::E4M3, static_cast<uint8_t>(code));
  if (format == FactorFormat::E5M2)
    return decode(ElementFormat::E5M2, static_cast<uint8_t>(code));
  if (format == FactorFormat::F16)
    return decodeF16(static_cast<uint16_t>(code));
  return fromBits(code << (format == FactorFormat::BF16 ? 16 : 13));
}

int getLeastNormal(FactorFormat format) {
  switch (format) {
  case FactorFormat::F16:
  case FactorFormat::E5M2:
    return -14;
  case FactorFormat::E4M3:
    return -6;
  default:
    return -126;
  }
}

/// Sums of products of two formats by an instruction.
struct RuledSum {
  TensorCoreSum how;
  FactorFormat a, b;
  SumRules rules = {};

  int getExponent(FactorFormat format, double x) const {
    if (how.order == AdditionOrder::PairsApart && !rules.keepsFormats)
      format = FactorFormat::F16;
    return rules.normalizesFactors
               ? std::ilogb(x)
               : std::max(std::ilogb(x), getLeastNormal(format));
  }

  double addTogether(const std::vector<double> &x, const std::vector<double> &y,
                     double accumulator) const {
    constexpr double kInfinity = HUGE_VAL;
    bool isNan = std::isnan(accumulator);
    bool isUp = accumulator == kInfinity, isDown = accumulator == -kInfinity;
    int largest = rules.hasFloor ? how.leastExponent : -10000;
    std::vector<double> terms;
    auto add = [&](double term, int exponent) {
      if (rules.limitsProducts && std::abs(term) >= 0x1p128)
        term = std::copysign(kInfinity, term);
      isNan |= std::isnan(term);
      isUp |= term == kInfinity;
      isDown |= term == -kInfinity;
      if (!std::isfinite(term) || term == 0)
        return;
      terms.push_back(term);
      largest = std::max(largest, exponent);
    };
    for (size_t i = 0; i < x.size(); ++i) {
      double p = x[i] * y[i];
      int exponent = std::isfinite(p) && p != 0
                         ? getExponent(a, x[i]) + getExponent(b, y[i])
                         : 0;
      if (rules.normalizesProducts && p != 0 && std::isfinite(p))
        exponent += std::abs(std::ldexp(p, -exponent)) >= 2;
      add(p, exponent);
    }
    if (std::isfinite(accumulator) && accumulator != 0)
      add(accumulator, rules.normalizesAccumulator
                           ? std::ilogb(accumulator)
                           : std::max(std::ilogb(accumulator), -126));
    if (isNan || (isUp && isDown))
      return NAN;
    if (isUp || isDown)
      return isUp ? kInfinity : -kInfinity;
    double total = 0;
    int last = largest - how.fractionBits;
    for (double term : terms) {
      double scaled = std::ldexp(term, -last);
      total += rules.roundsTermsDown ? std::floor(scaled) : std::trunc(scaled);
    }
    total = std::ldexp(total, last);
    double sign = terms.empty() ? accumulator : terms.front();
    if (total == 0)
      return rules.keepsSignOfZero && std::signbit(sign) ? -0.0 : 0;
    int unit = std::max(std::ilogb(total), -126) - how.resultBits;
    double units = std::ldexp(total, -unit);
    units = rules.roundsToNearest ? std::nearbyint(units) : std::trunc(units);
    double result = std::ldexp(units, unit);
    if (rules.flushesResults && std::abs(result) < 0x1p-126)
      return 0;
    if (result == 0)
      return rules.keepsSignOfZero ? std::copysign(0.0, total) : 0;
    return std::abs(result) >= 0x1p128 ? std::copysign(kInfinity, result)
                                       : result;
  }

  uint32_t add(const std::vector<uint32_t> &codesA,
               const std::vector<uint32_t> &codesB, uint32_t start) const {
    auto get = [&](FactorFormat format, uint32_t code) {
      double value = getValue(format, code);
      bool flushes = rules.flushesFactors && std::isfinite(value) &&
                     std::abs(value) < std::ldexp(1.0, getLeastNormal(format));
      return flushes ? 0.0 : value;
    };
    double c = fromBits(start);
    bool isApart = how.order == AdditionOrder::PairsApart;
    size_t period = static_cast<size_t>(how.products) * (isApart ? 2 : 1);
    for (size_t first = 0; first < codesA.size(); first += period) {
      bool beginsAnew = isApart && !rules.chainsPairs;
      double total = beginsAnew ? 0 : c;
      for (int part = 0; part < (isApart ? 2 : 1); ++part) {
        std::vector<double> x, y;
        for (size_t k = first; k < first + period && k < codesA.size(); ++k) {
          bool isSecond = (k - first) % 4 >= 2;
          if (isApart && isSecond != (part == 1))
            continue;
          x.push_back(get(a, codesA[k]));
          y.push_back(get(b, codesB[k]));
        }
        total = addTogether(x, y, total);
      }
      // Two numbers of f32 have an exact sum in f64, or one that rounds alike.
      c = beginsAnew ? static_cast<double>(static_cast<float>(c + total))
                     : total;
    }
    return std::isnan(c) ? 0x7FFFFFFF : toBits(static_cast<float>(c));
  }
};

/// A generator of numbers without a bias that matters.
class Draws {
public:
  explicit Draws(unsigned seed) : engine(seed) {}

  uint32_t bits() { return static_cast<uint32_t>(engine()); }
  /// One of [first, last].
  int range(int first, int last) {
    return first +
           static_cast<int>(bits() % static_cast<uint32_t>(last - first + 1));
  }
  bool chance(int of) { return bits() % static_cast<uint32_t>(of) == 0; }

  /// A code whose exponent is one of [first, last], or that is subnormal or
  /// infinite where they are beyond the format's.
  uint32_t code(FactorFormat format, int first, int last) {
    TermFormat fields = getTermFormat(format);
    int exponent = range(first, last) + fields.fields.bias;
    int most = 1 << (fields.bits - 1 - fields.fields.mantissaBits);
    exponent = std::min(std::max(exponent, 0), most - 1);
    uint32_t mantissa = bits() & ((1u << fields.fields.mantissaBits) - 1);
    uint32_t sign = (bits() & 1) << (fields.bits - 1);
    return sign |
           (static_cast<uint32_t>(exponent) << fields.fields.mantissaBits) |
           mantissa;
  }
  uint32_t any(FactorFormat format) {
    return bits() & ((1u << getTermFormat(format).bits) - 1);
  }

private:
  std::mt19937 engine;
};

/// Operands of a sum.
struct SumCase {
  std::vector<uint32_t> a, b;
  uint32_t start = 0;
};

using DrawCase = std::function<SumCase(Draws &)>;

/// A case of `depth` elements whose codes `draw` gives.
template <typename DrawA, typename DrawB>
SumCase makeCase(int depth, DrawA drawA, DrawB drawB) {
  SumCase result;
  for (int k = 0; k < depth; ++k) {
    result.a.push_back(drawA());
    result.b.push_back(drawB());
  }
  return result;
}

uint32_t addProductsOf(const RuledSum &sum, const SumCase &c) {
  return addProductsOfCodes(sum.how, sum.a, c.a.data(), sum.b, c.b.data(),
                            static_cast<int64_t>(c.a.size()), c.start);
}

/// Expects `cases` sums to be those of the formulas, and each of the wrong
/// rules to give at least one other.
void expectSums(const RuledSum &right, const DrawCase &draw,
                const std::vector<std::pair<const char *, RuledSum>> &wrong,
                int cases = 4000) {
  Draws draws(7);
  std::vector<int> differing(wrong.size(), 0);
  for (int i = 0; i < cases; ++i) {
    SumCase c = draw(draws);
    uint32_t got = addProductsOf(right, c);
    ASSERT_EQ(got, right.add(c.a, c.b, c.start)) << "case " << i;
    for (size_t j = 0; j < wrong.size(); ++j)
      differing[j] += wrong[j].second.add(c.a, c.b, c.start) != got;
  }
  for (size_t j = 0; j < wrong.size(); ++j)
    EXPECT_GT(differing[j], 0) << wrong[j].first;
}

constexpr RuledSum
getHopperSum(FactorFormat a, FactorFormat b,
             MatrixInstruction instruction = MatrixInstruction::Wgmma) {
  return {*getTensorCoreSum(TensorCores::Hopper, instruction, a), a, b};
}

RuledSum with(RuledSum sum, int TensorCoreSum::*number, int value) {
  sum.how.*number = value;
  return sum;
}
RuledSum with(RuledSum sum, bool SumRules::*rule, bool value = true) {
  sum.rules.*rule = value;
  return sum;
}

constexpr FactorFormat kFormats[] = {FactorFormat::BF16, FactorFormat::F16,
                                     FactorFormat::TF32, FactorFormat::E4M3,
                                     FactorFormat::E5M2};

constexpr RuledSum kBF16Sum =
    getHopperSum(FactorFormat::BF16, FactorFormat::BF16);
constexpr RuledSum kF16Sum = getHopperSum(FactorFormat::F16, FactorFormat::F16);

} // namespace

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

// Each code is the term of its value.
TEST(TensorCoreSumTest, Terms) {
  for (FactorFormat format : kFormats) {
    TermFormat fields = getTermFormat(format);
    for (uint32_t code = 0; code < 1u << fields.bits; ++code) {
      double value = getValue(format, code);
      Term<uint32_t> term = decodeTerm(fields, code);
      int significand = static_cast<int32_t>(term.significand);
      int exponent = static_cast<int32_t>(term.exponent);
      if (!std::isfinite(value)) {
        ASSERT_EQ(term.exponent, kSpecialExponent);
        ASSERT_EQ(significand, std::isnan(value) ? 0 : value > 0 ? 1 : -1);
      } else if (value == 0) {
        ASSERT_EQ(term.exponent, kZeroExponent);
        ASSERT_EQ(significand, 0);
      } else {
        ASSERT_EQ(
            std::ldexp(significand, exponent - fields.fields.mantissaBits),
            value);
        ASSERT_EQ(exponent,
                  std::max(std::ilogb(value), getLeastNormal(format)));
      }
    }
  }
}

// Chips have the sums that are known of them, and no others.
TEST(TensorCoreSumTest, Known) {
  auto get = [](TensorCores tensorCores, MatrixInstruction instruction,
                FactorFormat format) {
    return getTensorCoreSum(tensorCores, instruction, format);
  };
  EXPECT_EQ(
      get(TensorCores::Ampere, MatrixInstruction::MmaSync, FactorFormat::F16)
          ->products,
      8);
  EXPECT_EQ(
      get(TensorCores::Ampere, MatrixInstruction::MmaSync, FactorFormat::TF32)
          ->source,
      SumSource::Literature);
  EXPECT_EQ(
      get(TensorCores::Hopper, MatrixInstruction::Wgmma, FactorFormat::E5M2)
          ->source,
      SumSource::Measured);
  for (FactorFormat format : kFormats) {
    EXPECT_FALSE(get(TensorCores::Ampere, MatrixInstruction::Wgmma, format));
    EXPECT_FALSE(get(TensorCores::Hopper, MatrixInstruction::Tcgen05, format));
  }
  EXPECT_FALSE(
      get(TensorCores::Ampere, MatrixInstruction::MmaSync, FactorFormat::E4M3));
  // FP8 by mma.sync is emulated on SM100, and not on SM120.
  EXPECT_EQ(get(TensorCores::Blackwell, MatrixInstruction::MmaSync,
                FactorFormat::E4M3)
                ->order,
            AdditionOrder::PairsApart);
  EXPECT_EQ(get(TensorCores::ConsumerBlackwell, MatrixInstruction::MmaSync,
                FactorFormat::E4M3)
                ->order,
            AdditionOrder::Ascending);
}

//===----------------------------------------------------------------------===//
// Classes of sums
//===----------------------------------------------------------------------===//

// Ordinary numbers tell products of an addition, bits that are kept, and
// rounding.
TEST(TensorCoreSumTest, Ordinary) {
  for (const RuledSum &sum :
       {kBF16Sum, kF16Sum,
        getHopperSum(FactorFormat::TF32, FactorFormat::TF32)}) {
    int products = sum.how.products;
    expectSums(sum,
               [&](Draws &draws) {
                 auto draw = [&] { return draws.code(sum.a, -9, 9); };
                 return makeCase(draws.range(1, 70), draw, draw);
               },
               {{"half", with(sum, &TensorCoreSum::products, products / 2)},
                {"twice", with(sum, &TensorCoreSum::products, products * 2)},
                {"F - 1", with(sum, &TensorCoreSum::fractionBits, 24)},
                {"F + 1", with(sum, &TensorCoreSum::fractionBits, 26)},
                {"G - 1", with(sum, &TensorCoreSum::resultBits, 22)},
                {"terms rounded down", with(sum, &SumRules::roundsTermsDown)},
                {"nearest", with(sum, &SumRules::roundsToNearest)},
                {"normalized", with(sum, &SumRules::normalizesProducts)}});
  }
}

// FP8 keeps 13 bits in wgmma, also of an accumulator, and mma.sync adds pairs.
TEST(TensorCoreSumTest, Fp8) {
  for (FactorFormat a : {FactorFormat::E4M3, FactorFormat::E5M2})
    for (FactorFormat b : {FactorFormat::E4M3, FactorFormat::E5M2}) {
      auto draw = [&](Draws &draws) {
        int most = draws.range(-20, 3), mostB = draws.chance(2) ? most : 15;
        SumCase c = makeCase(
            draws.range(1, 130), [&] { return draws.code(a, most - 9, most); },
            [&] { return draws.code(b, most - 9, mostB); });
        if (draws.chance(2))
          c.start = toBits(1.0f) ^ (draws.bits() & 0x80FFFFFF);
        return c;
      };
      RuledSum sum = getHopperSum(a, b);
      expectSums(sum, draw,
                 {{"half", with(sum, &TensorCoreSum::products, 16)},
                  {"F + 1", with(sum, &TensorCoreSum::fractionBits, 14)},
                  {"G of f32", with(sum, &TensorCoreSum::resultBits, 23)},
                  {"normalized", with(sum, &SumRules::normalizesFactors)}});
      RuledSum pairs = getHopperSum(a, b, MatrixInstruction::MmaSync);
      RuledSum ascending = pairs;
      ascending.how.order = AdditionOrder::Ascending;
      expectSums(pairs, draw,
                 {{"ascending", ascending},
                  {"chained", with(pairs, &SumRules::chainsPairs)},
                  {"wgmma", sum}});
      // Subnormal numbers of E4M3 are none of F16's, and sums beside E5M2 show
      // it.
      if (a == FactorFormat::E4M3 && b == FactorFormat::E5M2)
        expectSums(pairs, draw,
                   {{"not as f16", with(pairs, &SumRules::keepsFormats)}});
    }
}

// Factors that are subnormal stay as they are, and count.
TEST(TensorCoreSumTest, SubnormalFactors) {
  for (const RuledSum &sum : {kBF16Sum, kF16Sum}) {
    bool isBF16 = sum.a == FactorFormat::BF16;
    expectSums(sum,
               [&](Draws &draws) {
                 return makeCase(
                     draws.range(2, 40),
                     [&] { return draws.code(sum.a, -200, -200); },
                     [&] {
                       return isBF16 ? draws.code(sum.b, 100, 127)
                                     : draws.code(sum.b, -20, 15);
                     });
               },
               {{"normalized", with(sum, &SumRules::normalizesFactors)},
                {"flushed", with(sum, &SumRules::flushesFactors)}});
  }
}

// Where the accumulator is 0 and all products are below 2^-133, that is the
// exponent that they are aligned to. F16 has no such products.
TEST(TensorCoreSumTest, Floor) {
  for (const RuledSum &sum :
       {kBF16Sum, getHopperSum(FactorFormat::TF32, FactorFormat::TF32)})
    expectSums(
        sum,
        [&](Draws &draws) {
          int offset = draws.range(-12, 4);
          auto draw = [&] {
            return draws.code(sum.a, -70 + offset, -66 + offset);
          };
          return makeCase(draws.range(1, 40), draw, draw);
        },
        {{"none", with(sum, &SumRules::hasFloor, false)},
         {"-134", with(sum, &TensorCoreSum::leastExponent, -134)},
         {"-132", with(sum, &TensorCoreSum::leastExponent, -132)},
         {"-126", with(sum, &TensorCoreSum::leastExponent, -126)}},
        40000);
}

// A subnormal accumulator has the exponent -126.
TEST(TensorCoreSumTest, SubnormalAccumulators) {
  expectSums(
      kBF16Sum,
      [&](Draws &draws) {
        auto draw = [&] { return draws.code(FactorFormat::BF16, -70, -66); };
        SumCase c = makeCase(draws.range(1, 16), draw, draw);
        c.start = draws.bits() & 0x8000FFFF;
        return c;
      },
      {{"normalized", with(kBF16Sum, &SumRules::normalizesAccumulator)}},
      40000);
}

// Results below the normal numbers are cut, and not flushed.
TEST(TensorCoreSumTest, SubnormalResults) {
  expectSums(kBF16Sum,
             [&](Draws &draws) {
               auto draw = [&] {
                 return draws.code(FactorFormat::BF16, -68, -62);
               };
               return makeCase(draws.range(1, 40), draw, draw);
             },
             {{"flushed", with(kBF16Sum, &SumRules::flushesResults)},
              {"nearest", with(kBF16Sum, &SumRules::roundsToNearest)}});
}

// Only sums overflow, not products, and only after they are cut.
TEST(TensorCoreSumTest, Overflow) {
  expectSums(
      kBF16Sum,
      [&](Draws &draws) {
        // Products from 2^127 on, and small ones beside the largest number.
        int least = draws.chance(2) ? draws.range(38, 42) : 62;
        SumCase c = makeCase(
            draws.range(1, 20),
            [&] { return draws.code(FactorFormat::BF16, 62, 64); },
            [&] { return draws.code(FactorFormat::BF16, least, least + 2); });
        if (draws.chance(2))
          c.start = toBits(kFloatMax) | (draws.bits() & kFloatSignMask);
        return c;
      },
      {{"products", with(kBF16Sum, &SumRules::limitsProducts)},
       {"nearest", with(kBF16Sum, &SumRules::roundsToNearest)}});
  // 2^127 * 2^127 - 2^127 * 2^127 is 0, and the largest number and half of its
  // last place the largest number.
  EXPECT_EQ(addProductsOf(kBF16Sum, {{0x7F00, 0x7F00}, {0x7F00, 0xFF00}}), 0u);
  EXPECT_EQ(addProductsOf(kBF16Sum, {{0x7F00}, {0x3380}, toBits(kFloatMax)}),
            toBits(kFloatMax));
  EXPECT_EQ(addProductsOf(kBF16Sum, {{0x7F00}, {0x7F00}}), kFloatInfinityBits);
  EXPECT_EQ(addProductsOf(kBF16Sum, {{0x7F00}, {0xFF00}}),
            kFloatInfinityBits | kFloatSignMask);
}

// No result is -0: neither that of -0, nor a negative number that is cut to 0.
TEST(TensorCoreSumTest, Zeros) {
  expectSums(kBF16Sum,
             [&](Draws &draws) {
               auto draw = [&] {
                 constexpr uint32_t kCodes[] = {0, 0x8000, 0x3F80, 0xBF80};
                 return kCodes[draws.bits() % 4];
               };
               SumCase c = makeCase(draws.range(1, 20), draw, draw);
               c.start = draws.bits() & kFloatSignMask;
               return c;
             },
             {{"sign", with(kBF16Sum, &SumRules::keepsSignOfZero)}});
  EXPECT_EQ(addProductsOf(kBF16Sum, {{0x8000}, {0x3F80}, kFloatSignMask}), 0u);
  EXPECT_EQ(addProductsOf(kBF16Sum, {{0x8080}, {0x0080}}), 0u);
  // Without a product there is no addition.
  EXPECT_EQ(addProductsOf(kBF16Sum, {{}, {}, kFloatSignMask}), kFloatSignMask);
}

// NaN and infinity: also infinity times 0, and infinities of both signs, of
// which one may be the accumulator. All NaN are one.
TEST(TensorCoreSumTest, Specials) {
  constexpr uint32_t kInfinity = 0x7F80, kOne = 0x3F80, kMinus = 0x8000;
  constexpr uint32_t kUp = kFloatInfinityBits, kDown = kUp | kFloatSignMask;
  struct {
    SumCase operands;
    uint32_t result;
  } cases[] = {
      {{{kInfinity}, {kOne}}, kUp},
      {{{kInfinity}, {kOne | kMinus}}, kDown},
      {{{kInfinity}, {kInfinity | kMinus}}, kDown},
      {{{kInfinity}, {0}}, kTensorCoreNan},
      {{{0}, {kInfinity | kMinus}}, kTensorCoreNan},
      {{{kInfinity, kInfinity}, {kOne, kOne}}, kUp},
      {{{kInfinity, kInfinity}, {kOne, kOne | kMinus}}, kTensorCoreNan},
      {{{kInfinity}, {kOne}, kDown}, kTensorCoreNan},
      {{{kInfinity}, {kOne}, kUp}, kUp},
      {{{kOne}, {kOne}, kDown}, kDown},
      {{{0}, {0}, 0xFFC12345}, kTensorCoreNan},
      {{{0x7F81}, {0}}, kTensorCoreNan},
      {{{0xFFFF}, {kOne}}, kTensorCoreNan},
      {{{0xFFFF}, {kInfinity}, kUp}, kTensorCoreNan},
      // A product in the last element of a tail, beside the largest numbers.
      {{{0x7F7F, 0x7F7F, kInfinity}, {0x7F7F, 0xFF7F, 0x0001}}, kUp},
  };
  for (const auto &[operands, result] : cases)
    EXPECT_EQ(addProductsOf(kBF16Sum, operands), result);
  expectSums(kBF16Sum,
             [&](Draws &draws) {
               auto draw = [&] {
                 constexpr uint32_t kCodes[] = {0x7F80, 0xFF80, 0x7FC1, 0x0000};
                 return draws.chance(40)
                            ? kCodes[draws.bits() % 4]
                            : draws.code(FactorFormat::BF16, -2, 2);
               };
               return makeCase(draws.range(1, 40), draw, draw);
             },
             {});
}

// Codes of e4m3 and e5m2: each pair alone, and between two other products.
TEST(TensorCoreSumTest, PairsOfFp8) {
  for (MatrixInstruction instruction :
       {MatrixInstruction::Wgmma, MatrixInstruction::MmaSync})
    for (FactorFormat a : {FactorFormat::E4M3, FactorFormat::E5M2})
      for (FactorFormat b : {FactorFormat::E4M3, FactorFormat::E5M2}) {
        RuledSum sum = getHopperSum(a, b, instruction);
        for (uint32_t x = 0; x < 256; ++x)
          for (uint32_t y = 0; y < 256; ++y)
            for (const SumCase &c :
                 {SumCase{{x}, {y}}, SumCase{{y, x, 0x31}, {1, y, x}}})
              ASSERT_EQ(addProductsOf(sum, c), sum.add(c.a, c.b, c.start))
                  << x << " " << y;
      }
}

// Each code of bf16 and f16 beside codes at the ends of ranges.
TEST(TensorCoreSumTest, CodesBesideEnds) {
  for (const RuledSum &sum : {kBF16Sum, kF16Sum})
    for (uint32_t x = 0; x < 0x10000; ++x) {
      SumCase c;
      for (uint32_t y :
           {0x0001u, 0x0400u, 0x0080u, 0x3F80u, 0x7BFFu, 0x7F7Fu}) {
        c.a.push_back(x);
        c.b.push_back(y ^ ((x * 7 + y) & 0x8000));
      }
      ASSERT_EQ(addProductsOf(sum, c), sum.add(c.a, c.b, c.start)) << x;
    }
}

// Sums of every instruction that is known, over all bits and spread exponents.
TEST(TensorCoreSumTest, Random) {
  constexpr int kSums = 10'000'000;
  Draws draws(11);
  std::vector<RuledSum> sums;
  for (const KnownSum &known : kKnownSums)
    for (FactorFormat a : kFormats)
      for (FactorFormat b : kFormats)
        if (getTermFormat(a).bits == known.factorBits &&
            getTermFormat(b).bits == known.factorBits &&
            (a == b || known.factorBits == 8))
          sums.push_back({known.sum, a, b});
  for (int i = 0; i < kSums; ++i) {
    const RuledSum &sum = sums[static_cast<size_t>(i) % sums.size()];
    // Small sums are as good as large ones, but for where the next addition
    // begins.
    int depth = i % 64 == 0 ? draws.range(1, 100) : draws.range(1, 4);
    int spread = draws.range(0, 3) * 8, middle = draws.range(-75, 65);
    bool isAny = draws.chance(4);
    auto draw = [&](FactorFormat format) {
      return [&, format] {
        if (isAny)
          return draws.any(format);
        return draws.chance(4)
                   ? 0
                   : draws.code(format, middle - spread, middle + spread);
      };
    };
    SumCase c = makeCase(depth, draw(sum.a), draw(sum.b));
    if (draws.chance(2))
      c.start = draws.chance(4)
                    ? draws.bits()
                    : ((draws.bits() & 0x83FFFFFF) |
                       (static_cast<uint32_t>(2 * middle + 120) & 0xFC) << 23);
    ASSERT_EQ(addProductsOf(sum, c), sum.add(c.a, c.b, c.start)) << "sum " << i;
  }
}
