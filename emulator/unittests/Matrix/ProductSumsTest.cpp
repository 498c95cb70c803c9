//===- ProductSumsTest.cpp - Tests for sums of products -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The law of sums against itself written once more, one product after the other
// in f64, and on values for which the right code is known. What a GPU gives is
// in PtxKernelsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/ProductSums.h"
#include "Emulator/Arithmetic/FloatFormats.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace blockscale::emulator;

namespace {
constexpr uint32_t kNaN = 0x7FFFFFFF, kInfinity = 0x7F800000;

struct SlowFormat {
  unsigned bits;
  int leastExponent;
};

/// A case: operands, what is there before, and how it is added.
struct Case {
  ProductSums sums;
  MmaMatrix a, b;
  std::vector<uint32_t> before;
};
} // namespace

static SlowFormat getSlowFormat(MmaFormat format) {
  switch (format) {
  case MmaFormat::F16:
    return {16, -14};
  case MmaFormat::BF16:
    return {16, -126};
  case MmaFormat::TF32:
    return {32, -126};
  case MmaFormat::E4M3:
    return {8, -6};
  case MmaFormat::E5M2:
    return {8, -14};
  case MmaFormat::E3M2:
    return {6, -2};
  case MmaFormat::E2M3:
    return {6, 0};
  default:
    return {4, 0};
  }
}

static int getExponent(double value) {
  int exponent;
  std::frexp(value, &exponent);
  return exponent - 1;
}

/// One step from the accumulator `c`.
static double addSlowly(const SumLaw &law, bool isHalf,
                        const std::vector<std::pair<double, int>> &products,
                        double c) {
  double special = std::isfinite(c) ? 0 : c;
  int exponent = law.leastExponent;
  if (std::isfinite(c) && c != 0)
    exponent =
        std::max(exponent, std::max(getExponent(c), isHalf ? -14 : -126));
  for (auto [product, itsExponent] : products) {
    if (!std::isfinite(product))
      special += product;
    else if (product != 0)
      exponent = std::max(exponent, itsExponent);
  }
  if (special != 0)
    return special;
  double scale = std::ldexp(1.0, law.alignedBits - exponent);
  double sum = std::trunc(c * scale);
  for (auto [product, itsExponent] : products)
    sum += std::trunc(product * scale);
  sum /= scale;
  if (isHalf)
    return F16::decode(F16::encode(sum)) + 0.0;
  if (sum == 0)
    return 0;
  double last =
      std::ldexp(1.0, std::max(getExponent(sum), -126) - law.resultBits);
  sum = std::trunc(sum / last) * last + 0.0;
  return std::fabs(sum) >= 0x1p128 ? std::copysign(HUGE_VAL, sum) : sum;
}

/// The code of the accumulator of row `m` of A and row `n` of B.
static uint32_t sumSlowly(const Case &what, unsigned m, unsigned n) {
  const ProductSums &sums = what.sums;
  bool isHalf = sums.accumulator.type == MmaAccumulator::F16;
  size_t columns = what.b.values.size() / what.b.k;
  double before = 0;
  if (!what.before.empty()) {
    uint32_t code = what.before[m * columns + n];
    before = isHalf ? F16::decode(code) : F32::decode(code);
  }
  std::vector<unsigned> order;
  for (unsigned k = 0; k < what.a.k; ++k)
    if (!sums.law.isByPairs || k % 4 < 2)
      order.push_back(k);
  for (unsigned k = 0; k < what.a.k; ++k)
    if (sums.law.isByPairs && k % 4 >= 2)
      order.push_back(k);
  unsigned step = sums.law.products;
  if (sums.law.isByPairs)
    step = std::min(step, what.a.k / 2);
  // What is taken by pairs has been brought to f16.
  auto getLeast = [&](MmaFormat format) {
    return sums.law.isByPairs ? -14 : getSlowFormat(format).leastExponent;
  };
  int leastA = getLeast(sums.a), leastB = getLeast(sums.b);
  double c = sums.law.addsLast ? 0 : before;
  for (unsigned first = 0; first < what.a.k; first += step) {
    std::vector<std::pair<double, int>> products;
    for (unsigned i = first; i < std::min(first + step, what.a.k); ++i) {
      double x = what.a.row(m)[order[i]], y = what.b.row(n)[order[i]];
      products.push_back({x * y, std::max(getExponent(x), leastA) +
                                     std::max(getExponent(y), leastB)});
    }
    c = addSlowly(sums.law, isHalf, products, c);
  }
  if (sums.law.addsLast)
    c += before;
  if (c == 0)
    c = 0;
  return isHalf ? F16::encode(c) : F32::encode(c);
}

//===----------------------------------------------------------------------===//
// Random sums
//===----------------------------------------------------------------------===//

namespace {
/// How far apart values are.
enum class Spread : uint8_t { Near, All, Bits, Tiny, Sparse };

struct RandomCases {
  std::mt19937 random;

  double draw(MmaFormat format, Spread spread) {
    unsigned bits = getSlowFormat(format).bits;
    if (spread == Spread::Sparse && random() % 8 != 0)
      return random() % 2 ? -0.0 : 0.0;
    for (;;) {
      double value =
          decodeMmaValue(format, random() & ((uint64_t(1) << bits) - 1));
      if (spread == Spread::Bits)
        return value;
      bool isNear = std::fabs(value) >= 0x1p-6 && std::fabs(value) < 0x1p6;
      bool isTiny = std::fabs(value) < 0x1p-66 && std::fabs(value) > 0x1p-76;
      bool isWide = format == MmaFormat::BF16 || format == MmaFormat::TF32;
      if (spread == Spread::All || (spread == Spread::Tiny && !isWide))
        isNear = std::isfinite(value);
      if (spread == Spread::Tiny && isWide ? isTiny : isNear)
        return value;
    }
  }

  uint32_t drawBefore(MmaAccumulator type, Spread spread) {
    bool isHalf = type == MmaAccumulator::F16;
    auto encode = [&](double value) {
      return static_cast<uint32_t>(isHalf ? F16::encode(value)
                                          : F32::encode(value));
    };
    switch (spread) {
    case Spread::Near:
      return encode(std::ldexp(int(random() % 8192) - 4096, -8));
    case Spread::Tiny:
      return encode(std::ldexp(int(random() % 8192) - 4096, -149));
    case Spread::Sparse:
      return encode(random() % 2 ? -0.0 : 0.0);
    default:
      return isHalf ? random() & 0xFFFF : random();
    }
  }

  Case make(const ProductSums &sums, unsigned k, Spread spread,
            bool hasBefore) {
    constexpr unsigned kRows = 4, kColumns = 11;
    Case what;
    what.sums = sums;
    what.a.k = what.b.k = k;
    for (unsigned i = 0; i < kRows * k; ++i)
      what.a.values.push_back(draw(sums.a, spread));
    for (unsigned i = 0; i < kColumns * k; ++i)
      what.b.values.push_back(draw(sums.b, spread));
    for (unsigned i = 0; hasBefore && i < kRows * kColumns; ++i)
      what.before.push_back(drawBefore(sums.accumulator.type, spread));
    return what;
  }
};

/// An instruction, with values of K.
struct Instruction {
  SumDevice device;
  MmaUnit unit;
  MmaFormat a, b;
  MmaAccumulator accumulator;
  unsigned k;
};
} // namespace

static constexpr MmaAccumulator kF16 = MmaAccumulator::F16;
static constexpr MmaAccumulator kF32 = MmaAccumulator::F32;

/// Each law of each device.
static constexpr Instruction kInstructions[] = {
    {SumDevice::SM80, MmaUnit::Warp, MmaFormat::F16, MmaFormat::F16, kF32, 16},
    {SumDevice::SM80, MmaUnit::Warp, MmaFormat::F16, MmaFormat::F16, kF16, 16},
    {SumDevice::SM80, MmaUnit::Warp, MmaFormat::BF16, MmaFormat::BF16, kF32,
     16},
    {SumDevice::SM80, MmaUnit::Warp, MmaFormat::TF32, MmaFormat::TF32, kF32, 8},
    {SumDevice::SM89, MmaUnit::Warp, MmaFormat::E4M3, MmaFormat::E5M2, kF32,
     32},
    {SumDevice::SM89, MmaUnit::Warp, MmaFormat::E4M3, MmaFormat::E4M3, kF16,
     32},
    {SumDevice::SM90, MmaUnit::Warp, MmaFormat::F16, MmaFormat::F16, kF16, 8},
    {SumDevice::SM90, MmaUnit::Warp, MmaFormat::E5M2, MmaFormat::E4M3, kF32,
     32},
    {SumDevice::SM90, MmaUnit::Warp, MmaFormat::E5M2, MmaFormat::E5M2, kF16,
     16},
    {SumDevice::SM90, MmaUnit::Warpgroup, MmaFormat::BF16, MmaFormat::BF16,
     kF32, 16},
    {SumDevice::SM90, MmaUnit::Warpgroup, MmaFormat::TF32, MmaFormat::TF32,
     kF32, 8},
    {SumDevice::SM90, MmaUnit::Warpgroup, MmaFormat::E4M3, MmaFormat::E4M3,
     kF32, 32},
    {SumDevice::SM90, MmaUnit::Warpgroup, MmaFormat::E5M2, MmaFormat::E5M2,
     kF16, 32},
    {SumDevice::SM100, MmaUnit::Tensor, MmaFormat::F16, MmaFormat::BF16, kF32,
     16},
    {SumDevice::SM100, MmaUnit::Tensor, MmaFormat::E4M3, MmaFormat::E2M1, kF32,
     32},
    {SumDevice::SM120, MmaUnit::Warp, MmaFormat::E3M2, MmaFormat::E2M3, kF32,
     32},
};

static ProductSums makeSums(const Instruction &instruction) {
  ProductSums sums;
  sums.law = getSumLaw(instruction.device, instruction.unit, instruction.a,
                       instruction.b, instruction.accumulator);
  sums.a = instruction.a;
  sums.b = instruction.b;
  sums.accumulator = {instruction.accumulator};
  return sums;
}

/// Outputs whose codes are not those of the slow form of `law`.
static unsigned countDifferences(Case what, const SumLaw &law) {
  std::vector<uint32_t> codes = what.sums.run(what.a, what.b, what.before);
  what.sums.law = law;
  unsigned columns = what.b.values.size() / what.b.k, count = 0;
  for (unsigned i = 0; i < codes.size(); ++i)
    count += codes[i] != sumSlowly(what, i / columns, i % columns);
  return count;
}

// Some 100,000 outputs. Values far apart take the way of f64, others that of
// f32; eleven columns do not fill their lanes.
TEST(ProductSums, RandomSumsFollowTheLaw) {
  RandomCases cases;
  unsigned outputs = 0;
  for (const Instruction &instruction : kInstructions)
    for (Spread spread : {Spread::Near, Spread::All, Spread::Bits, Spread::Tiny,
                          Spread::Sparse})
      for (unsigned i = 0; i < 30; ++i) {
        Case what = cases.make(makeSums(instruction), instruction.k, spread,
                               /*hasBefore=*/i % 3 != 0);
        EXPECT_EQ(countDifferences(what, what.sums.law), 0U)
            << unsigned(instruction.device) << ' ' << unsigned(instruction.a)
            << ' ' << unsigned(spread);
        outputs += 44;
      }
  EXPECT_GE(outputs, 100'000U);
}

// Every number of the law shows.
TEST(ProductSums, OtherLawsDiffer) {
  RandomCases cases;
  auto expectDifferent = [&](unsigned instruction, Spread spread,
                             bool hasBefore, const char *what, auto &&change) {
    const Instruction &its = kInstructions[instruction];
    ProductSums sums = makeSums(its);
    SumLaw law = sums.law;
    change(law);
    unsigned count = 0;
    for (unsigned i = 0; i < 50; ++i)
      count +=
          countDifferences(cases.make(sums, its.k, spread, hasBefore), law);
    EXPECT_NE(count, 0U) << instruction << ' ' << what;
  };
  auto halve = [](SumLaw &law) { law.products /= 2; };
  auto doubleIt = [](SumLaw &law) { law.products *= 2; };
  auto alignLess = [](SumLaw &law) { --law.alignedBits; };
  auto alignMore = [](SumLaw &law) { ++law.alignedBits; };
  auto cutMore = [](SumLaw &law) { --law.resultBits; };
  auto raise = [](SumLaw &law) { ++law.leastExponent; };
  auto lower = [](SumLaw &law) { --law.leastExponent; };
  for (unsigned i : {0, 2, 3, 9, 10, 13}) {
    expectDifferent(i, Spread::Near, true, "halve", halve);
    expectDifferent(i, Spread::Near, true, "less", alignLess);
    expectDifferent(i, Spread::Near, true, "more", alignMore);
    expectDifferent(i, Spread::Near, true, "cut", cutMore);
  }
  for (unsigned i : {0, 2, 3})
    expectDifferent(i, Spread::Near, true, "double", doubleIt);
  for (unsigned i : {4, 11}) {
    expectDifferent(i, Spread::Near, true, "halve", halve);
    expectDifferent(i, Spread::Near, true, "less", alignLess);
    expectDifferent(i, Spread::Near, true, "cut", cutMore);
  }
  // The floor shows where nothing but tiny products is there.
  for (unsigned i : {2, 3, 9, 10}) {
    expectDifferent(i, Spread::Tiny, false, "raise", raise);
    expectDifferent(i, Spread::Tiny, false, "lower", lower);
  }
  expectDifferent(7, Spread::Near, true, "first",
                  [](SumLaw &law) { law.addsLast = false; });
  expectDifferent(7, Spread::All, true, "in order",
                  [](SumLaw &law) { law.isByPairs = false; });
}

//===----------------------------------------------------------------------===//
// Known values
//===----------------------------------------------------------------------===//

namespace {
/// A row of Hopper's bf16 into f32: factors, and the accumulator.
struct Row {
  std::vector<std::pair<double, double>> factors;
  uint32_t before = 0;

  uint32_t add(SumDevice device = SumDevice::SM90) const {
    Case what;
    what.sums = makeSums(
        {device, MmaUnit::Warp, MmaFormat::BF16, MmaFormat::BF16, kF32, 16});
    what.a.k = what.b.k = 16;
    what.a.values.resize(16);
    what.b.values.resize(16);
    for (size_t i = 0; i < factors.size(); ++i)
      std::tie(what.a.values[i], what.b.values[i]) = factors[i];
    std::vector<uint32_t> codes = what.sums.run(what.a, what.b, {before});
    return codes.front();
  }
};
} // namespace

static uint32_t code(float value) { return asBits(value); }

TEST(ProductSums, ZerosArePositive) {
  EXPECT_EQ((Row{{}, 0x80000000}.add()), 0U);
  EXPECT_EQ((Row{{{-0.0, 1}}, 0x80000000}.add()), 0U);
  EXPECT_EQ((Row{{{1, 1}, {-1, 1}}}.add()), 0U);
  EXPECT_EQ((Row{{{1, -1}}, code(1)}.add()), 0U);
  // Below the least subnormal number.
  EXPECT_EQ((Row{{{-0x1p-100, 0x1p-100}}}.add()), 0U);
}

TEST(ProductSums, NaNsHaveOneCode) {
  double nan = std::nan("1"), infinity = HUGE_VAL;
  EXPECT_EQ((Row{{{nan, 1}}}.add()), kNaN);
  EXPECT_EQ((Row{{{-nan, 0}}}.add()), kNaN);
  EXPECT_EQ((Row{{}, 0xFFC00001}.add()), kNaN);
  EXPECT_EQ((Row{{{infinity, 0}}}.add()), kNaN);
  EXPECT_EQ((Row{{{infinity, 1}, {infinity, -1}}}.add()), kNaN);
  EXPECT_EQ((Row{{{infinity, 1}}, kInfinity | 1U << 31}.add()), kNaN);
}

TEST(ProductSums, InfinitiesStay) {
  double infinity = HUGE_VAL;
  EXPECT_EQ((Row{{{infinity, 2}, {1, 1}}, code(-3)}.add()), kInfinity);
  EXPECT_EQ((Row{{{infinity, -2}}}.add()), kInfinity | 1U << 31);
  EXPECT_EQ((Row{{{0x1p127, -0x1p127}}, kInfinity}.add()), kInfinity);
}

// Products beyond f32 are no infinities: only the cut sum is one.
TEST(ProductSums, OnlySumsOverflow) {
  EXPECT_EQ((Row{{{0x1p127, 0x1p127}, {-0x1p127, 0x1p127}}}.add()), 0U);
  EXPECT_EQ((Row{{{0x1p127, 2}}}.add()), kInfinity);
  EXPECT_EQ((Row{{{0x1p127, -2}}}.add()), kInfinity | 1U << 31);
  EXPECT_EQ((Row{{{0x1p127, 2}, {-0x1p127, 1}}}.add()), code(0x1p127f));
  // Half a last bit above the greatest number is cut.
  uint32_t greatest = 0x7F7FFFFF;
  EXPECT_EQ((Row{{{0x1p103, 1}}, greatest}.add()), greatest);
  EXPECT_EQ((Row{{{0x1p104, 1}}, greatest}.add()), kInfinity);
}

// Each term is cut by itself, toward zero, and so is the sum.
TEST(ProductSums, TermsAreCut) {
  // The 25th bit below 1 stays, the 26th does not; two of the 25th make one
  // more bit than f32 has, four of them its last one.
  double bit25 = 0x1p-12, bit26 = 0x1p-13;
  EXPECT_EQ((Row{{{bit25, bit26}, {bit25, bit26}}, code(1)}.add()), code(1));
  std::vector<std::pair<double, double>> four(4, {bit25, bit26});
  EXPECT_EQ((Row{four, code(1)}.add()), code(1) + 1);
  std::vector<std::pair<double, double>> eight(8, {bit26, bit26});
  EXPECT_EQ((Row{eight, code(1)}.add()), code(1));
  // From below: 1 - 2^-25 is cut to the number below 1, not to nearest.
  EXPECT_EQ((Row{{{-bit25, bit26}}, code(1)}.add()), code(1) - 1);
  EXPECT_EQ((Row{{{-bit26, bit26}}, code(1)}.add()), code(1));
  // One bit less on sm_80.
  EXPECT_EQ((Row{four, code(1)}.add(SumDevice::SM80)), code(1));
}

// The exponent of a product is the sum of those of its factors: 1.5 * 1.5 has 0
// and a significand above 2, subnormal factors that of the least normal number.
TEST(ProductSums, ProductsAreNotNormalized) {
  std::vector<std::pair<double, double>> factors(5, {0x1p-12, 0x1p-13});
  factors[0] = {1.5, 1.5};
  EXPECT_EQ((Row{factors}.add()), code(2.25f));
  factors[0] = {2.25, 1};
  EXPECT_EQ((Row{factors}.add()), code(2.25f));
  // 2^-133 counts as 2^-126, so 2^-26 of it is lost.
  factors.assign(17, {0x1p-126, 0x1p-26});
  factors.resize(16);
  factors[0] = {0x1p-133, 1};
  EXPECT_EQ((Row{factors}.add()), code(0x1p-133f));
}

TEST(ProductSums, SubnormalResultsAreCut) {
  EXPECT_EQ((Row{{{0x1p-100, 0x1p-49}}}.add()), 1U);
  EXPECT_EQ((Row{{{-0x1p-100, 0x1p-49}}}.add()), 1U | 1U << 31);
  EXPECT_EQ((Row{{{0x1.8p-100, 0x1p-49}}}.add()), 1U);
  EXPECT_EQ((Row{{{0x1p-100, 0x1p-50}}, 5}.add()), 5U);
  EXPECT_EQ((Row{{{0x1p-100, 0x1p-50}, {0x1p-100, 0x1p-50}}, 5}.add()), 6U);
}

// mma.sync brings FP8 to f16, where subnormal numbers of e4m3 are normal ones:
// the exponent of 2^-9 * 2^15 is 6, and a term that has 2^-24 of it is kept.
TEST(ProductSums, FP8OfMmaSyncIsF16) {
  Case what;
  what.sums = makeSums({SumDevice::SM90, MmaUnit::Warp, MmaFormat::E4M3,
                        MmaFormat::E5M2, kF32, 32});
  what.a.k = what.b.k = 32;
  what.a.values.assign(32, 0x1p-6);
  what.b.values.assign(32, 0x1p-12);
  what.a.values[0] = 0x1p-9;
  what.b.values[0] = 0x1p15;
  // To 64 come 15 terms in the first step, whose sum is cut to 14 of them, and
  // 16 in the second one.
  EXPECT_EQ(what.sums.run(what.a, what.b, {}).front(),
            code(64 + 30 * 0x1p-18f));
}

// FP8 of wgmma keeps 13 bits, of the accumulator too.
TEST(ProductSums, FP8KeepsLess) {
  Case what;
  what.sums = makeSums({SumDevice::SM90, MmaUnit::Warpgroup, MmaFormat::E4M3,
                        MmaFormat::E4M3, kF32, 32});
  what.a.k = what.b.k = 32;
  what.a.values.assign(32, 0);
  what.b.values.assign(32, 0);
  auto add = [&](float before) {
    return asFloat(what.sums.run(what.a, what.b, {code(before)}).front());
  };
  EXPECT_EQ(add(1 + 0x1p-13f + 0x1p-14f), 1 + 0x1p-13f);
  EXPECT_EQ(add(-1 - 0x1p-14f), -1);
  what.a.values[31] = 0x1p-6;
  what.b.values[31] = 0x1p-6;
  EXPECT_EQ(add(1), 1 + 0x1p-12f);
  EXPECT_EQ(add(2), 2 + 0x1p-12f);
  EXPECT_EQ(add(4), 4);
}

// scale-input-d divides the accumulator before it is aligned.
TEST(ProductSums, AccumulatorsAreScaledFirst) {
  for (SumDevice device : {SumDevice::Exact, SumDevice::SM100}) {
    Case what;
    what.sums = makeSums(
        {device, MmaUnit::Tensor, MmaFormat::F16, MmaFormat::F16, kF32, 16});
    what.sums.scaleInputD = 3;
    what.a.k = what.b.k = 16;
    what.a.values.assign(16, 1);
    what.b.values.assign(16, 1);
    EXPECT_EQ(what.sums.run(what.a, what.b, {code(20)}).front(), code(18.5f));
  }
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

TEST(SumDevice, FollowsTheTarget) {
  EXPECT_EQ(findSumDevice("exact"), SumDevice::Exact);
  EXPECT_EQ(findSumDevice("sm_80"), SumDevice::SM80);
  EXPECT_EQ(findSumDevice("sm_86"), SumDevice::SM80);
  EXPECT_EQ(findSumDevice("sm_89"), SumDevice::SM89);
  EXPECT_EQ(findSumDevice("sm_90a"), SumDevice::SM90);
  EXPECT_EQ(findSumDevice("sm_100f"), SumDevice::SM100);
  EXPECT_EQ(findSumDevice("sm_103a"), SumDevice::SM100);
  EXPECT_EQ(findSumDevice("sm_121a"), SumDevice::SM120);
  for (const char *name : {"", "sm_", "sm_75", "sm_91", "sm_130", "sm_90x",
                           "sm_90ab", "SM_90", "hopper", "90"})
    EXPECT_EQ(findSumDevice(name), std::nullopt) << name;
  for (SumDevice device : {SumDevice::Exact, SumDevice::SM80, SumDevice::SM89,
                           SumDevice::SM90, SumDevice::SM100, SumDevice::SM120})
    EXPECT_EQ(findSumDevice(getName(device)), device);
}

// What nobody has told is added in f64.
TEST(SumDevice, UnknownLawsAreExact) {
  auto isExact = [](SumDevice device, MmaUnit unit, MmaFormat a, MmaFormat b,
                    MmaAccumulator accumulator) {
    return getSumLaw(device, unit, a, b, accumulator).products == 0;
  };
  MmaFormat e4m3 = MmaFormat::E4M3, e2m1 = MmaFormat::E2M1;
  EXPECT_TRUE(isExact(SumDevice::SM80, MmaUnit::Warp, e4m3, e4m3, kF32));
  EXPECT_TRUE(isExact(SumDevice::SM90, MmaUnit::Warp, e2m1, e4m3, kF32));
  EXPECT_TRUE(isExact(SumDevice::SM90, MmaUnit::Warp, e4m3, e2m1, kF32));
  EXPECT_TRUE(isExact(SumDevice::SM100, MmaUnit::Tensor, e4m3, e4m3, kF16));
  EXPECT_FALSE(isExact(SumDevice::SM100, MmaUnit::Tensor, e4m3, e2m1, kF32));
  EXPECT_TRUE(isExact(SumDevice::SM120, MmaUnit::Warp, e4m3, e4m3, kF16));
  EXPECT_TRUE(isExact(SumDevice::SM90, MmaUnit::Warp, MmaFormat::S8,
                      MmaFormat::U8, MmaAccumulator::S32));
  EXPECT_TRUE(isExact(SumDevice::Exact, MmaUnit::Warp, MmaFormat::F16,
                      MmaFormat::F16, kF32));
}
