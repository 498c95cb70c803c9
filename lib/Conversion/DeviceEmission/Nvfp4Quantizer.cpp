//===- Nvfp4Quantizer.cpp - NVFP4 recipes ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic is that of Numerics/BlockScale.h. Only divisions are others in
// torchao and mslk: a division of LLVM's takes 17 instructions and a call for
// what is rare. Where the global scale is `kUsualLeast` to `kUsualMost`, or
// absent, divisions are those of numerics/Division.h: quotients that are not
// exact there are below the recipe's floor, or above what saturates, on either
// way. Elsewhere one loop over the blocks divides in f64, which is short.
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "DeviceQuantizer.h"
#include "Emission/GlobalFactors.h"
#include "blockscale/Numerics/BlockScale.h"
#include "blockscale/Numerics/Division.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static constexpr float kUsualLeast = 0x1p-80f;
static constexpr float kUsualMost = 0x1p80f;
/// Quotients above are cast to the largest E4M3 value.
static constexpr float kSaturating = 1024;

namespace {

class Nvfp4Quantizer final : public DeviceQuantizer {
public:
  Nvfp4Quantizer(CvtEmitter &cvt, numerics::Recipe recipe, GlobalKind kind,
                 bool amaxIsGiven)
      : DeviceQuantizer(cvt), recipe(recipe), kind(kind),
        amaxIsGiven(amaxIsGiven) {}

  void setGlobal(KernelBuilder &b, Lanes global) override;
  Scales computeScales(KernelBuilder &b, ArrayRef<Lanes> amaxes,
                       ArrayRef<BlockElements> blocks) override;
  Lanes scale(KernelBuilder &b, Lanes elements, Lanes factors) override;

protected:
  numerics::ElementFormat getFormat() const override {
    return numerics::ElementFormat::E2M1;
  }

private:
  Lanes mul(KernelBuilder &b, Lanes lhs, Lanes rhs) { return lhs * rhs; }
  /// The value itself or, where `type` is a vector, a vector that has it in
  /// each element.
  Lanes splat(KernelBuilder &b, Lanes value, Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? b.splat(value, vector.getNumElements()) : value;
  }
  Lanes constant(KernelBuilder &b, float value, Type type) {
    return splat(b, b.f32(value), type);
  }
  Lanes max(KernelBuilder &b, Lanes lhs, float rhs) {
    return {b,
            arith::MaximumFOp::create(b, lhs, constant(b, rhs, lhs.getType()))};
  }

  /// Whether divisions have shortcuts. They are proved for amaxes of elements,
  /// which a given amax need not be.
  bool hasShortcuts() const {
    return !amaxIsGiven && numerics::hasShortDivisions(recipe);
  }
  /// Sets the global values of a recipe with shortcuts.
  void setShortcuts(KernelBuilder &b, Lanes global);
  /// The results of `getBlockScale` and `getFactorOfScale` (numerics) with a
  /// usual global scale, for one block or a vector of blocks.
  Lanes computeScaleShort(KernelBuilder &b, Lanes amax);
  Lanes computeFactorShort(KernelBuilder &b, Lanes scale);
  /// The result of `getBlockScale` (numerics) with any global scale, whose S is
  /// `encode`.
  Lanes computeScaleInDouble(KernelBuilder &b, Lanes amax, Lanes encode);
  /// The E4M3 bytes of scales and their values.
  CvtEmitter::RoundedPair roundScales(KernelBuilder &b, Lanes low, Lanes high);
  /// `computeScales` by functions of each block.
  Scales computeScalesStraight(KernelBuilder &b, ArrayRef<Lanes> amaxes,
                               function_ref<Lanes(Lanes)> computeScale,
                               function_ref<Lanes(Lanes)> computeFactor);
  /// `computeScales` of recipes with shortcuts, with a usual global scale, and
  /// with any.
  Scales computeScalesShort(KernelBuilder &b, ArrayRef<Lanes> amaxes);
  Scales computeScalesInLoop(KernelBuilder &b, ArrayRef<Lanes> amaxes);

  /// The functions of these names of numerics, as instructions. Reciprocals are
  /// approximations in the first ones, and rounded in the last one.
  Lanes refineReciprocal(KernelBuilder &b, Lanes d);
  Lanes divideInDouble(KernelBuilder &b, Lanes a, Lanes d);
  Lanes divideByReciprocal(KernelBuilder &b, Lanes a, Lanes d,
                           Lanes reciprocal);
  /// A product in f64.
  Lanes mulInDouble(KernelBuilder &b, Lanes lhs, double rhs) {
    return b.toF32(b.toF64(lhs) * rhs);
  }

  numerics::Recipe recipe;
  GlobalKind kind;
  bool amaxIsGiven;
  /// The factors of recipes without shortcuts.
  std::optional<emit::GlobalFactors> factors;
  /// g and S in recipes with shortcuts; null where 1 or unused. Scales are
  /// divided by g where it is there, and else multiplied by S.
  Lanes decodeGlobal;
  Lanes encodeGlobal;
  /// The quotient `dividend` / `divisor` is S in recipes with shortcuts, which
  /// apply where `isUsual` holds. Values are null where there is no global
  /// scale.
  float dividend = 1;
  Lanes divisor;
  Lanes isUsual;
  /// The largest value that makes a difference before the division by g: larger
  /// ones give the same scale.
  Lanes largest;
};

} // namespace

void Nvfp4Quantizer::setShortcuts(KernelBuilder &b, Lanes global) {
  bool isAmax = numerics::isAmax(kind);
  global = numerics::readGlobal(kind, global);
  divisor = global;
  if (numerics::dividesScales(recipe)) {
    if (isAmax)
      divisor = mulInDouble(b, global, numerics::kInverseGlobalRange);
    decodeGlobal = divisor;
    largest = decodeGlobal * kSaturating;
  } else if (isAmax) {
    dividend = numerics::kGlobalRange;
    divisor = max(b, global, numerics::kMslkAmaxFloor);
  }
  encodeGlobal = refineReciprocal(b, divisor);
  if (dividend != 1)
    encodeGlobal =
        divideByReciprocal(b, b.f32(dividend), divisor, encodeGlobal);

  using arith::CmpIPredicate;
  auto least = llvm::bit_cast<uint32_t>(kUsualLeast);
  auto most = llvm::bit_cast<uint32_t>(kUsualMost);
  Lanes bits = b.toBits(divisor);
  Lanes distance = bits - least;
  Lanes isWithin = isBelow(distance, most - least);
  Lanes mask = b.i32(numerics::kFloatMantissaMask);
  Lanes mantissa = bits & mask;
  isUsual = compare(CmpIPredicate::ne, mantissa, mask);
  isUsual = isUsual & isWithin;
}

void Nvfp4Quantizer::setGlobal(KernelBuilder &b, Lanes global) {
  if (!hasShortcuts())
    factors = emit::emitGlobalFactors(b, recipe, kind, global);
  else if (global)
    setShortcuts(b, global);
}

Lanes Nvfp4Quantizer::refineReciprocal(KernelBuilder &b, Lanes d) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < d.getCount(); ++i)
    elements.push_back(NVVM::RcpApproxFtzF32Op::create(
        b, b.getF32Type(), d.isVector() ? b.extract(d, i) : d));
  Lanes approximation =
      d.isVector() ? b.pack(elements) : Lanes(b, elements.front());
  Lanes error = b.fma(arith::NegFOp::create(b, d), approximation,
                      constant(b, 1.0f, d.getType()));
  return b.fma(error, approximation, approximation);
}

Lanes Nvfp4Quantizer::divideByReciprocal(KernelBuilder &b, Lanes a, Lanes d,
                                         Lanes reciprocal) {
  Lanes quotient = a * reciprocal;
  Lanes rest = b.fma(arith::NegFOp::create(b, d), quotient, a);
  return b.fma(rest, reciprocal, quotient);
}

Lanes Nvfp4Quantizer::divideInDouble(KernelBuilder &b, Lanes a, Lanes d) {
  Lanes dividend = b.toF64(a), divisor = b.toF64(d);
  Value reciprocal =
      NVVM::InlinePtxOp::create(b, b.getF64Type(), Value(divisor), ValueRange(),
                                "rcp.approx.ftz.f64 $0, $1;", Value())
          .getResult(0);
  Value minus = arith::NegFOp::create(b, divisor);
  Lanes error = b.fma(minus, reciprocal, b.f64(1.0));
  Lanes refined = b.fma(error, reciprocal, reciprocal);
  Lanes quotient = dividend * refined;
  Lanes rest = b.fma(minus, quotient, dividend);
  Lanes isZero = compare(arith::CmpFPredicate::OEQ, a, 0.0f);
  Lanes isSpecial = isZero | isNan(rest);
  Lanes special = b.toF32(dividend * reciprocal);
  quotient = b.toF32(b.fma(rest, refined, quotient));
  return select(isSpecial, special, quotient);
}

Lanes Nvfp4Quantizer::computeScaleShort(KernelBuilder &b, Lanes amax) {
  Type type = amax.getType();
  Lanes low = amax * constant(b, numerics::kSixthLow, type);
  Lanes scale = b.fma(amax, constant(b, numerics::kSixthHigh, type), low);
  if (decodeGlobal) {
    scale = {b, arith::MinimumFOp::create(b, scale, splat(b, largest, type))};
    scale = divideByReciprocal(b, scale, splat(b, decodeGlobal, type),
                               splat(b, encodeGlobal, type));
  } else if (encodeGlobal) {
    scale = scale * splat(b, encodeGlobal, type);
  }
  return max(b, scale, numerics::getScaleFloor(recipe));
}

/// The scale is not 0, as recipes with shortcuts have a floor.
Lanes Nvfp4Quantizer::computeFactorShort(KernelBuilder &b, Lanes scale) {
  Lanes inverse = refineReciprocal(b, scale);
  if (!encodeGlobal)
    return inverse;
  return divideByReciprocal(b, splat(b, encodeGlobal, scale.getType()), scale,
                            inverse);
}

Lanes Nvfp4Quantizer::computeScaleInDouble(KernelBuilder &b, Lanes amax,
                                           Lanes encode) {
  Lanes scale = mulInDouble(b, amax, numerics::kInverseSix);
  scale =
      decodeGlobal ? divideInDouble(b, scale, decodeGlobal) : scale * encode;
  return max(b, scale, numerics::getScaleFloor(recipe));
}

CvtEmitter::RoundedPair Nvfp4Quantizer::roundScales(KernelBuilder &b, Lanes low,
                                                    Lanes high) {
  if (numerics::getScaleFloor(recipe) >= numerics::kE4M3MinNormal)
    return cvt.roundE4M3Pair(b, low, high);
  Lanes codes = cvt.encodeE4M3Pair(b, low, high);
  auto [first, second] = cvt.decodeE4M3Pair(b, codes);
  return {codes, first, second};
}

DeviceQuantizer::Scales Nvfp4Quantizer::computeScalesStraight(
    KernelBuilder &b, ArrayRef<Lanes> amaxes,
    function_ref<Lanes(Lanes)> computeScale,
    function_ref<Lanes(Lanes)> computeFactor) {
  auto values = llvm::map_to_vector<4>(amaxes, computeScale);
  bool isOdd = values.size() % 2 != 0;
  if (isOdd)
    values.push_back(values.back());
  Scales scales;
  for (size_t i = 0; i < values.size(); i += 2) {
    auto [codes, low, high] = roundScales(b, values[i], values[i + 1]);
    scales.pairs.push_back(codes);
    scales.factors.push_back(computeFactor(low));
    if (i + 1 < amaxes.size())
      scales.factors.push_back(computeFactor(high));
  }
  if (isOdd)
    scales.pairs.back() = scales.pairs.back() & 0xFF;
  return scales;
}

/// `computeScales` with a usual global scale. Some GPUs multiply two f32 at
/// once: of four blocks, the first and third, and the second and fourth ones,
/// as elements of columns come.
DeviceQuantizer::Scales
Nvfp4Quantizer::computeScalesShort(KernelBuilder &b, ArrayRef<Lanes> amaxes) {
  if (amaxes.size() % 4 != 0)
    return computeScalesStraight(
        b, amaxes, [&](Lanes amax) { return computeScaleShort(b, amax); },
        [&](Lanes scale) { return computeFactorShort(b, scale); });
  Scales scales;
  for (size_t i = 0; i < amaxes.size(); i += 4) {
    std::array<Lanes, 2> values, low, high, factors;
    for (size_t j : {0, 1})
      values[j] =
          computeScaleShort(b, b.pack({amaxes[i + j], amaxes[i + j + 2]}));
    for (size_t j : {0, 1}) {
      auto rounded =
          roundScales(b, b.extract(values[0], j), b.extract(values[1], j));
      scales.pairs.push_back(rounded.codes);
      low[j] = rounded.low;
      high[j] = rounded.high;
    }
    factors[0] = computeFactorShort(b, b.pack({low[0], low[1]}));
    factors[1] = computeFactorShort(b, b.pack({high[0], high[1]}));
    for (size_t j : {0, 1, 2, 3})
      scales.factors.push_back(b.extract(factors[j % 2], j / 2));
  }
  return scales;
}

/// The number `count - 1`, as inline assembly. Neither LLVM, which does not
/// look into it, nor ptxas unrolls the loop that it is in.
static Value countDown(KernelBuilder &b, Value count) {
  return NVVM::InlinePtxOp::create(b, b.getI32Type(), count, ValueRange(),
                                   ".pragma \"nounroll\"; sub.u32 $0, $1, 1;",
                                   Value())
      .getResult(0);
}

/// Amaxes move up by one each time, with factors behind them, and the bytes of
/// scales move down, through words: code that hardly ever runs is short.
DeviceQuantizer::Scales
Nvfp4Quantizer::computeScalesInLoop(KernelBuilder &b, ArrayRef<Lanes> amaxes) {
  constexpr size_t perWord = 4;
  size_t count = amaxes.size(), words = llvm::divideCeil(count, perWord);
  Lanes encode = divideInDouble(b, b.f32(dividend), divisor);
  SmallVector<Value> first = {b.i32(count)};
  first.append(words, b.i32(0));
  llvm::append_range(first, amaxes);
  SmallVector<Value> last = emitWhile(
      b, first,
      [&](ValueRange values) -> Value {
        return compare(arith::CmpIPredicate::ne, Lanes(b, values[0]), 0);
      },
      [&](ValueRange values) {
        ValueRange codes = values.slice(1, words);
        ValueRange rest = values.drop_front(1 + words);
        Lanes scale = computeScaleInDouble(b, Lanes(b, rest[0]), encode);
        auto [code, value, unused] = roundScales(b, scale, scale);
        SmallVector<Value> next = {countDown(b, values[0])};
        for (size_t i = 0; i < words; ++i) {
          Value above = i + 1 < words ? codes[i + 1] : b.zext32(code);
          next.push_back(LLVM::FshrOp::create(b, above, codes[i], b.i32(8)));
        }
        llvm::append_range(next, rest.drop_front());
        next.push_back(divideInDouble(b, encode, value));
        return next;
      });
  Scales scales;
  for (Value factor : ArrayRef(last).drop_front(1 + words))
    scales.factors.emplace_back(b, factor);
  // The first byte has not come all the way down where words have more.
  ValueRange codes = ValueRange(last).slice(1, words);
  for (size_t byte = words * perWord - count; byte < words * perWord;
       byte += 2) {
    size_t word = byte / perWord;
    Value above = word + 1 < words ? codes[word + 1] : b.i32(0);
    Lanes pair(b, LLVM::FshrOp::create(b, above, codes[word],
                                       b.i32(8 * (byte % perWord))));
    scales.pairs.push_back(truncate(pair, 16));
  }
  return scales;
}

DeviceQuantizer::Scales Nvfp4Quantizer::computeScales(KernelBuilder &b,
                                                      ArrayRef<Lanes> amaxes,
                                                      ArrayRef<BlockElements>) {
  if (!hasShortcuts())
    return computeScalesStraight(
        b, amaxes,
        [&](Lanes amax) {
          return amaxIsGiven ? numerics::getBlockScaleOfGivenAmax(recipe, amax,
                                                                  *factors)
                             : numerics::getBlockScale(recipe, amax, *factors);
        },
        [&](Lanes scale) {
          return numerics::getFactorOfScale(recipe, scale, *factors);
        });
  if (!isUsual)
    return computeScalesShort(b, amaxes);
  auto join = [](const Scales &scales) {
    SmallVector<Lanes> joined(scales.pairs.begin(), scales.pairs.end());
    llvm::append_range(joined, scales.factors);
    return joined;
  };
  SmallVector<Lanes> values = emitIfElse(
      b, isUsual, [&] { return join(computeScalesShort(b, amaxes)); },
      [&] { return join(computeScalesInLoop(b, amaxes)); });
  Scales scales;
  scales.pairs.assign(values.begin(), values.end() - amaxes.size());
  scales.factors.assign(values.end() - amaxes.size(), values.end());
  return scales;
}

Lanes Nvfp4Quantizer::scale(KernelBuilder &, Lanes elements, Lanes factors) {
  return numerics::addPositiveZero(
      recipe, numerics::applyFactor(recipe, elements, factors));
}

std::unique_ptr<DeviceQuantizer> createNvfp4Quantizer(CvtEmitter &cvt,
                                                      numerics::Recipe recipe,
                                                      GlobalKind global,
                                                      bool amaxIsGiven) {
  return std::make_unique<Nvfp4Quantizer>(cvt, recipe, global, amaxIsGiven);
}

} // namespace blockscale
