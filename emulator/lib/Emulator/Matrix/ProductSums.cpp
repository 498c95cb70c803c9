//===- ProductSums.cpp - Sums of products ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/ProductSums.h"

#include "Emulator/Arithmetic/NarrowFormats.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// The sum in f64
//===----------------------------------------------------------------------===//

/// Sums of the products of each row of A with each row of B, in the order of K,
/// or in that of the values of a sparse A.
static std::vector<double> addInDouble(const MmaMatrix &a, const MmaMatrix &b) {
  size_t rows = a.values.size() / a.k, columns = b.values.size() / b.k;
  // B by K, so that the sums of a row advance side by side.
  std::vector<double> byK(b.values.size());
  for (size_t n = 0; n < columns; ++n)
    for (unsigned k = 0; k < b.k; ++k)
      byK[k * columns + n] = b.row(n)[k];
  std::vector<double> sums(rows * columns);
  for (size_t m = 0; m < rows; ++m) {
    double *row = sums.data() + m * columns;
    for (unsigned k = 0; k < a.k; ++k) {
      double factor = a.row(m)[k];
      size_t place = a.places.empty() ? k : a.places[m * a.k + k];
      const double *other = byK.data() + place * columns;
      for (size_t n = 0; n < columns; ++n)
        row[n] += factor * other[n];
    }
  }
  return sums;
}

static uint32_t addInteger(const AccumulatorFormat &format, double sum,
                           uint32_t before) {
  int64_t total = static_cast<int64_t>(sum) + static_cast<int32_t>(before);
  if (format.saturate)
    total = std::clamp<int64_t>(total, std::numeric_limits<int32_t>::min(),
                                std::numeric_limits<int32_t>::max());
  return static_cast<uint32_t>(total);
}

static double decode(MmaAccumulator type, uint32_t code) {
  return type == MmaAccumulator::F16 ? F16::decode(code & 0xFFFF)
                                     : F32::decode(code);
}

static uint32_t encode(MmaAccumulator type, double value) {
  return static_cast<uint32_t>(
      type == MmaAccumulator::F16 ? F16::encode(value) : F32::encode(value));
}

static std::vector<uint32_t> runInDouble(const ProductSums &sums,
                                         const MmaMatrix &a, const MmaMatrix &b,
                                         llvm::ArrayRef<uint32_t> before) {
  MmaAccumulator type = sums.accumulator.type;
  std::vector<uint32_t> codes;
  for (double sum : addInDouble(a, b)) {
    uint32_t old = before.empty() ? 0 : before[codes.size()];
    if (type == MmaAccumulator::S32) {
      codes.push_back(addInteger(sums.accumulator, sum, old));
      continue;
    }
    if (!before.empty())
      sum += std::ldexp(decode(type, old), -int(sums.scaleInputD));
    codes.push_back(encode(type, sum));
  }
  return codes;
}

//===----------------------------------------------------------------------===//
// Operands of the law
//===----------------------------------------------------------------------===//

namespace {
/// Columns of D whose sums advance side by side.
constexpr unsigned kLanes = 8;
using Shorts = int16_t __attribute__((vector_size(kLanes * 2)));
using Words = int32_t __attribute__((vector_size(kLanes * 4)));
using Longs = int64_t __attribute__((vector_size(kLanes * 8)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Doubles = double __attribute__((vector_size(kLanes * 8)));

template <typename Real>
struct LanesOf;
template <>
struct LanesOf<float> {
  using Type = Floats;
};
template <>
struct LanesOf<double> {
  using Type = Doubles;
};

/// Products whose sum 32 bits hold: with 25 bits of fraction, the most that a
/// law has, a term is below 2^27.
constexpr unsigned kProductsOfWord = 16;
/// The exponent of a zero: less than every other, with another one added too.
constexpr int16_t kNoExponent = -8192;
/// The bias of f64.
constexpr int kBias = 1023;

/// Values and their exponents. What is not finite counts as zero here.
template <typename Real>
struct Factors {
  std::vector<Real> values;
  std::vector<int16_t> exponents;
};

/// What of an operand decides how it is multiplied.
struct Range {
  int least, greatest;
  bool isFinite;
};
} // namespace

/// The least exponent of a normal number.
static int getLeastExponent(MmaFormat format) {
  switch (format) {
  case MmaFormat::F16:
    return 1 - F16::kFormat.bias;
  case MmaFormat::E4M3:
    return 1 - kE4M3.bias;
  case MmaFormat::E5M2:
    return 1 - kE5M2.bias;
  case MmaFormat::E2M3:
    return 1 - kE2M3.bias;
  case MmaFormat::E3M2:
    return 1 - kE3M2.bias;
  case MmaFormat::E2M1:
    return 1 - kE2M1.bias;
  case MmaFormat::BF16:
  case MmaFormat::TF32:
  case MmaFormat::U8:
  case MmaFormat::S8:
    break;
  }
  return 1 - F32::kFormat.bias;
}

/// The exponent field of a value in f64. It is 0 for zero alone, since no
/// format here has numbers that are subnormal in f64, and kSpecial for what is
/// not finite.
static int getExponentField(double value) {
  return static_cast<int>(asBits(value) >> 52 & 0x7FF);
}
static constexpr int kSpecial = 0x7FF;

template <typename Lanes, typename Value>
static void load(Lanes &lanes, const Value *from) {
  std::memcpy(&lanes, from, sizeof(lanes));
}

/// The values of a row from `k` on; behind its end there are zeros.
static void loadRow(Doubles &lanes, const MmaMatrix &matrix, const double *row,
                    unsigned k) {
  if (k + kLanes <= matrix.k)
    return load(lanes, row + k);
  lanes = Doubles{};
  std::memcpy(&lanes, row + k, (matrix.k - k) * sizeof(double));
}

static Range getRange(const MmaMatrix &matrix) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Doubles least = Doubles{} + kInfinity, greatest = {}, special = {};
  size_t rows = matrix.values.size() / matrix.k;
  for (size_t row = 0; row < rows; ++row)
    for (unsigned k = 0; k < matrix.k; k += kLanes) {
      Doubles values, magnitudes;
      loadRow(values, matrix, matrix.row(row), k);
      // NaN where a value is not finite.
      special += values * 0.0;
      Longs bits;
      load(bits, &values);
      bits &= std::numeric_limits<int64_t>::max();
      load(magnitudes, &bits);
      greatest = magnitudes > greatest ? magnitudes : greatest;
      magnitudes = magnitudes == 0.0 ? Doubles{} + kInfinity : magnitudes;
      least = magnitudes < least ? magnitudes : least;
    }
  Range range = {kSpecial, 0, true};
  for (unsigned j = 0; j < kLanes; ++j) {
    range.least = std::min(range.least, getExponentField(least[j]));
    range.greatest = std::max(range.greatest, getExponentField(greatest[j]));
    range.isFinite &= special[j] == 0;
  }
  return {range.least - kBias, range.greatest - kBias, range.isFinite};
}

/// The format that factors have when they are multiplied.
static MmaFormat getFormat(const ProductSums &sums, MmaFormat format) {
  return sums.law.isByPairs ? MmaFormat::F16 : format;
}

/// The place of each value of K in the order in which they are taken.
static std::vector<unsigned> getPlaces(const SumLaw &law, unsigned k) {
  std::vector<unsigned> places(k);
  for (unsigned i = 0; i < k; ++i)
    places[i] = law.isByPairs ? i % 4 / 2 * (k / 2) + i / 4 * 2 + i % 2 : i;
  return places;
}

/// Puts `lanes` rows side by side, by the order of K: what has place i of row
/// r * lanes + j is behind r * K + i groups of lanes, in lane j. Rows that are
/// not there are zero.
template <typename Real>
static Factors<Real> getFactors(const MmaMatrix &matrix,
                                llvm::ArrayRef<unsigned> places,
                                MmaFormat format, unsigned lanes) {
  int32_t least = getLeastExponent(format) + kBias;
  size_t rows = matrix.values.size() / matrix.k;
  size_t size = (rows + lanes - 1) / lanes * lanes * matrix.k;
  Factors<Real> factors;
  factors.values.resize(size);
  factors.exponents.resize(size, rows % lanes ? kNoExponent : int16_t(0));
  for (size_t row = 0; row < rows; ++row) {
    size_t first = row / lanes * lanes * matrix.k + row % lanes;
    for (unsigned k = 0; k < matrix.k; k += kLanes) {
      Doubles values;
      Longs bits;
      loadRow(values, matrix, matrix.row(row), k);
      load(bits, &values);
      Words fields = __builtin_convertvector(bits >> 52 & kSpecial, Words);
      Words none = (fields == 0) | (fields == kSpecial);
      fields = (fields > least ? fields : Words{} + least) - kBias;
      fields = (fields & ~none) | (none & kNoExponent);
      values = __builtin_convertvector(none, Longs) ? Doubles{} : values;
      auto reals =
          __builtin_convertvector(values, typename LanesOf<Real>::Type);
      for (unsigned j = 0; j < kLanes && k + j < matrix.k; ++j) {
        size_t to = first + size_t(places[k + j]) * lanes;
        factors.values[to] = reals[j];
        factors.exponents[to] = static_cast<int16_t>(fields[j]);
      }
    }
  }
  return factors;
}

//===----------------------------------------------------------------------===//
// Accumulators of the law
//===----------------------------------------------------------------------===//

namespace {
/// The accumulators of the columns of a step.
struct StepColumns {
  Words codes = {};
  /// Of those that are finite; of others zero.
  Doubles values;
  Shorts exponents;
  bool areFinite;
};
} // namespace

/// Reads the codes of f32.
static void readFloats(StepColumns &columns) {
  Words magnitudes = columns.codes & 0x7FFFFFFF;
  Words specials = magnitudes >= 0x7F800000;
  Words fields = magnitudes >> 23;
  Words exponents = (fields > 1 ? fields : Words{} + 1) - 127;
  Words none = specials | (magnitudes == 0);
  exponents = (exponents & ~none) | (none & kNoExponent);
  columns.exponents = __builtin_convertvector(exponents, Shorts);
  Words finite = columns.codes & ~specials;
  Floats values;
  load(values, &finite);
  columns.values = __builtin_convertvector(values, Doubles);
  int32_t anySpecial = 0;
  for (unsigned j = 0; j < kLanes; ++j)
    anySpecial |= specials[j];
  columns.areFinite = anySpecial == 0;
}

/// Reads the codes of f16.
static void readHalves(StepColumns &columns) {
  columns.areFinite = true;
  for (unsigned j = 0; j < kLanes; ++j) {
    double value = F16::decode(static_cast<uint32_t>(columns.codes[j]));
    int field = getExponentField(value);
    bool isFinite = field != kSpecial;
    columns.areFinite &= isFinite;
    columns.values[j] = isFinite ? value : 0;
    columns.exponents[j] = field == 0 || !isFinite
                               ? kNoExponent
                               : static_cast<int16_t>(std::max(
                                     field - kBias, 1 - F16::kFormat.bias));
  }
}

/// 2^exponent of each lane, of those that f64 has.
static void getPowers(Doubles &powers, const Words &exponents) {
  Longs bits = __builtin_convertvector(exponents + kBias, Longs) << 52;
  load(powers, &bits);
}

static void getPowers(Floats &powers, const Words &exponents) {
  Words bits = (exponents + F32::kFormat.bias) << F32::kFormat.mantissaBits;
  load(powers, &bits);
}

/// Divides the accumulators by a power of two.
static void scale(StepColumns &columns, unsigned exponent) {
  columns.values *= std::ldexp(1.0, -int(exponent));
  columns.exponents -= static_cast<int16_t>(exponent);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// A product under way, whose factors are of type Real: double, or float where
/// it holds all products and none of them is far from the others.
template <typename Real>
class Summer {
public:
  Summer(const ProductSums &sums, const MmaMatrix &a, const MmaMatrix &b,
         bool areFinite)
      : law(sums.law), type(sums.accumulator.type),
        scaleInputD(sums.scaleInputD), matrixA(a), matrixB(b),
        areFinite(areFinite), places(getPlaces(law, a.k)),
        factorsA(getFactors<Real>(a, places, getFormat(sums, sums.a), 1)),
        factorsB(getFactors<Real>(b, places, getFormat(sums, sums.b), kLanes)),
        step(law.isByPairs ? std::min(law.products, a.k / 2) : law.products) {}

  std::vector<uint32_t> run(llvm::ArrayRef<uint32_t> before);

private:
  void addProducts(size_t m, size_t n, unsigned k, unsigned count,
                   StepColumns &columns) const;
  void addSpecials(size_t m, size_t n, unsigned k, unsigned count,
                   const StepColumns &before, StepColumns &columns) const;
  void finish(const Doubles &sums, StepColumns &columns) const;
  void addLast(llvm::ArrayRef<uint32_t> before, StepColumns &columns) const;

  SumLaw law;
  MmaAccumulator type;
  unsigned scaleInputD;
  const MmaMatrix &matrixA, &matrixB;
  bool areFinite;
  std::vector<unsigned> places;
  Factors<Real> factorsA, factorsB;
  unsigned step;
};
} // namespace

/// A sum below the normal numbers of f32, cut to fraction bits of the least
/// one.
static uint32_t cutSubnormal(double sum, int bits) {
  double scale = std::ldexp(1.0 / F32::kLeastNormal, bits);
  sum = std::trunc(sum * scale) / scale;
  return sum == 0 ? 0 : static_cast<uint32_t>(F32::encode(sum));
}

template <typename Real>
void Summer<Real>::finish(const Doubles &sums, StepColumns &columns) const {
  if (type == MmaAccumulator::F16) {
    for (unsigned j = 0; j < kLanes; ++j) {
      auto code = static_cast<int32_t>(F16::encode(sums[j]));
      columns.codes[j] = isZero<F16>(code) ? 0 : code;
    }
    return;
  }
  Longs bits;
  load(bits, &sums);
  bits &= ~((int64_t(1) << (52 - law.resultBits)) - 1);
  Doubles cut;
  load(cut, &bits);
  // f32 holds what is left, or it is infinite there.
  Floats rounded = __builtin_convertvector(cut, Floats);
  load(columns.codes, &rounded);
  for (unsigned j = 0; j < kLanes; ++j)
    if (sums[j] != 0 && std::fabs(sums[j]) < F32::kLeastNormal)
      columns.codes[j] =
          static_cast<int32_t>(cutSubnormal(sums[j], law.resultBits));
}

/// Adds the products of `count` values of K from `k` on, for row `m` of A and
/// the rows of B from `n` on.
template <typename Real>
void Summer<Real>::addProducts(size_t m, size_t n, unsigned k, unsigned count,
                               StepColumns &columns) const {
  using Reals = typename LanesOf<Real>::Type;
  const Real *a = factorsA.values.data() + m * matrixA.k + k;
  const Real *b = factorsB.values.data() + n * matrixB.k + size_t(k) * kLanes;
  const int16_t *exponentsA = factorsA.exponents.data() + m * matrixA.k + k;
  const int16_t *exponentsB =
      factorsB.exponents.data() + n * matrixB.k + size_t(k) * kLanes;

  Shorts greatest = Shorts{} + static_cast<int16_t>(law.leastExponent);
  greatest = columns.exponents > greatest ? columns.exponents : greatest;
  for (unsigned i = 0; i < count; ++i) {
    Shorts exponents;
    load(exponents, exponentsB + size_t(i) * kLanes);
    exponents += exponentsA[i];
    greatest = exponents > greatest ? exponents : greatest;
  }

  Words exponents = __builtin_convertvector(greatest, Words);
  Doubles powers;
  getPowers(powers, law.alignedBits - exponents);
  Words whole = __builtin_convertvector(columns.values * powers, Words);
  Doubles sums = __builtin_convertvector(whole, Doubles);

  // Where an exponent is below these of float, all products are zero.
  constexpr int kLeast = std::is_same_v<Real, float> ? -100 : -1000;
  Reals scales;
  getPowers(scales, law.alignedBits -
                        (exponents > kLeast ? exponents : Words{} + kLeast));
  for (unsigned first = 0; first < count; first += kProductsOfWord) {
    Words part = {};
    unsigned end = std::min(count, first + kProductsOfWord);
    for (unsigned i = first; i < end; ++i) {
      Reals factors;
      load(factors, b + size_t(i) * kLanes);
      part += __builtin_convertvector(a[i] * factors * scales, Words);
    }
    sums += __builtin_convertvector(part, Doubles);
  }
  getPowers(powers, exponents - law.alignedBits);
  finish(sums * powers, columns);
}

/// Puts what infinite and NaN terms give into the lanes that have such terms.
template <typename Real>
void Summer<Real>::addSpecials(size_t m, size_t n, unsigned k, unsigned count,
                               const StepColumns &before,
                               StepColumns &columns) const {
  size_t rows = matrixB.values.size() / matrixB.k;
  for (unsigned j = 0; j < kLanes && n + j < rows; ++j) {
    double sum = decode(type, static_cast<uint32_t>(before.codes[j]));
    // Finite terms do not matter, and finite products do not overflow.
    sum = std::isfinite(sum) ? 0 : sum;
    for (unsigned i = 0; i < matrixA.k; ++i) {
      if (places[i] < k || places[i] >= k + count)
        continue;
      double product = matrixA.row(m)[i] * matrixB.row(n + j)[i];
      sum += std::isfinite(product) ? 0 : product;
    }
    if (!std::isfinite(sum))
      columns.codes[j] = static_cast<int32_t>(encode(type, sum));
  }
}

/// Adds the result of steps that began with zero to the accumulators.
template <typename Real>
void Summer<Real>::addLast(llvm::ArrayRef<uint32_t> before,
                           StepColumns &columns) const {
  for (auto [j, old] : llvm::enumerate(before)) {
    // Exact in f64, so that it is rounded once.
    double sum = decode(type, static_cast<uint32_t>(columns.codes[j])) +
                 decode(type, old);
    columns.codes[j] = sum == 0 ? 0 : static_cast<int32_t>(encode(type, sum));
  }
}

template <typename Real>
std::vector<uint32_t> Summer<Real>::run(llvm::ArrayRef<uint32_t> before) {
  size_t rows = matrixA.values.size() / matrixA.k;
  size_t width = matrixB.values.size() / matrixB.k;
  std::vector<uint32_t> codes(rows * width);
  for (size_t n = 0; n < width; n += kLanes)
    for (size_t m = 0; m < rows; ++m) {
      size_t count = std::min<size_t>(kLanes, width - n);
      llvm::ArrayRef<uint32_t> old;
      if (!before.empty())
        old = before.slice(m * width + n, count);
      StepColumns columns;
      if (!law.addsLast && !old.empty())
        std::memcpy(&columns.codes, old.data(), count * sizeof(uint32_t));
      for (unsigned k = 0; k < matrixA.k; k += step) {
        if (type == MmaAccumulator::F16)
          readHalves(columns);
        else
          readFloats(columns);
        if (scaleInputD != 0 && k == 0)
          scale(columns, scaleInputD);
        unsigned products = std::min(step, matrixA.k - k);
        if (areFinite && columns.areFinite) {
          addProducts(m, n, k, products, columns);
          continue;
        }
        StepColumns start = columns;
        addProducts(m, n, k, products, columns);
        addSpecials(m, n, k, products, start, columns);
      }
      if (law.addsLast)
        addLast(old, columns);
      std::memcpy(codes.data() + m * width + n, &columns.codes,
                  count * sizeof(uint32_t));
    }
  return codes;
}

std::vector<uint32_t> ProductSums::run(const MmaMatrix &a, const MmaMatrix &b,
                                       llvm::ArrayRef<uint32_t> before) const {
  if (law.products == 0)
    return runInDouble(*this, a, b, before);
  Range rangeA = getRange(a), rangeB = getRange(b);
  bool areFinite = rangeA.isFinite && rangeB.isFinite;
  // Products of f16, bf16, tf32 and less have 22 bits at most. Scaled, they
  // stay normal in f32, or are below every bit that is kept.
  bool isNarrow = rangeA.least + rangeB.least >= -100 &&
                  rangeA.greatest + rangeB.greatest <= 100;
  if (isNarrow)
    return Summer<float>(*this, a, b, areFinite).run(before);
  return Summer<double>(*this, a, b, areFinite).run(before);
}

} // namespace blockscale::emulator
