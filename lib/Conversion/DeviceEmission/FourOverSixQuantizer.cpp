//===- FourOverSixQuantizer.cpp - 4over6 recipes --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCodec.h"
#include "DeviceQuantizer.h"
#include "Emission/GlobalFactors.h"
#include "blockscale/Numerics/Division.h"
#include "blockscale/Numerics/FourOverSix.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using blockscale::emit::Lanes;
using ScaleCandidate = blockscale::numerics::ScaleCandidate<Lanes>;
using ScaleCandidates = blockscale::numerics::ScaleCandidates<Lanes>;

namespace blockscale {

/// The quotient 1536 / 6: a division by 1536 is one by 256, which is exact, and
/// one by 6.
static constexpr float kSixths = 256;
/// The range [kLeastProduct, kMostProduct) of products of a scale and the
/// tensor's amax from which f32 computes the quotients of all codes.
static constexpr float kLeastProduct = 0x1p-90f;
static constexpr float kMostProduct = 0x1p125f;

namespace {

class FourOverSixQuantizer final : public DeviceQuantizer {
public:
  FourOverSixQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                       GlobalKind kind)
      : DeviceQuantizer(cvt), recipe(recipe), kind(kind) {}

  void setGlobal(KernelBuilder &b, Lanes global) override;
  Scales computeScales(KernelBuilder &b, ArrayRef<Lanes> amaxes,
                       ArrayRef<BlockElements> blocks) override;
  Lanes scale(KernelBuilder &b, Lanes elements, Lanes factors) override;

protected:
  numerics::ElementFormat getFormat() const override {
    return numerics::ElementFormat::E2M1;
  }

private:
  /// How products are divided by 1536: in f64, or, where none is too small or
  /// too large, a 256th of them in f32.
  enum class Division { Any, Usual };

  /// The results of `getFourOverSixError` (numerics) for elements, a vector of
  /// f32.
  Lanes computeErrors(KernelBuilder &b, Lanes elements,
                      const ScaleCandidate &candidate, Division division);
  /// The sum of errors over a block, from its first element on.
  Lanes computeError(KernelBuilder &b, const BlockElements &block,
                     const ScaleCandidate &candidate, Division division);
  /// Whether the division in f32 gives the quotients of a scale.
  Lanes isUsual(const ScaleCandidate &candidate);
  /// The errors of each block under 6, then under 4.
  SmallVector<Value, 8> computeErrors(KernelBuilder &b,
                                      ArrayRef<BlockElements> blocks,
                                      ArrayRef<ScaleCandidates> candidates);

  numerics::Recipe recipe;
  GlobalKind kind;
  std::optional<emit::GlobalFactors> global;
  /// A 256th of the tensor's amax.
  Lanes smallAmax;
};

} // namespace

void FourOverSixQuantizer::setGlobal(KernelBuilder &b, Lanes value) {
  global = emit::emitGlobalFactors(b, recipe, kind, value);
  smallAmax = global->amax * (1.0f / kSixths);
}

Lanes FourOverSixQuantizer::scale(KernelBuilder &, Lanes elements,
                                  Lanes factors) {
  return numerics::addPositiveZero(
      recipe, numerics::applyFactor(recipe, elements, factors));
}

Lanes FourOverSixQuantizer::isUsual(const ScaleCandidate &candidate) {
  using arith::CmpFPredicate;
  Lanes whole = candidate.scale * global->amax;
  Lanes isZero = compare(CmpFPredicate::OEQ, candidate.scale, 0.0f);
  return (compare(CmpFPredicate::OGE, whole, kLeastProduct) &
          compare(CmpFPredicate::OLT, whole, kMostProduct)) |
         isZero;
}

Lanes FourOverSixQuantizer::computeErrors(KernelBuilder &b, Lanes x,
                                          const ScaleCandidate &candidate,
                                          Division division) {
  int64_t size = x.getCount();
  auto splat = [&](Value value) { return b.splat(value, size); };
  Lanes scaled = x * splat(candidate.factor);
  // The value of the E2M1 code of each element, without the code. NaN becomes
  // 6, as its code is.
  Lanes clamped = b.minNum(b.abs(scaled), b.f32Splat(numerics::kE2M1Max, size));
  Lanes magnitude = emitRoundTo(b, getFormat(), clamped);
  Lanes isNegative = compare(arith::CmpFPredicate::OLT, scaled, 0.0f);
  Lanes value = select(isNegative, magnitude.like(0.0f) - magnitude, magnitude);
  Lanes product = value * splat(candidate.scale);
  return numerics::getFourOverSixError(recipe, x, product, [&](Lanes whole) {
    if (division == Division::Any)
      // numerics: `divideByFourOverSixRange`.
      return roundToF32(extendToF64(whole * splat(global->amax)) *
                        numerics::kInverseFourOverSixRange);
    // numerics: `divideBySix`.
    Lanes sixths = whole * splat(smallAmax);
    Lanes low = sixths * numerics::kSixthLow;
    return b.fma(sixths, sixths.like(numerics::kSixthHigh), low);
  });
}

Lanes FourOverSixQuantizer::computeError(KernelBuilder &b,
                                         const BlockElements &block,
                                         const ScaleCandidate &candidate,
                                         Division division) {
  SmallVector<Value> errors = block.mapToF32(b, [&](Lanes elements) {
    return computeErrors(b, elements, candidate, division);
  });
  Lanes sum(b, errors.front());
  for (Value error : ArrayRef<Value>(errors).drop_front())
    sum = sum + error;
  return sum;
}

SmallVector<Value, 8>
FourOverSixQuantizer::computeErrors(KernelBuilder &b,
                                    ArrayRef<BlockElements> blocks,
                                    ArrayRef<ScaleCandidates> candidates) {
  Lanes allUsual = isUsual(candidates.front().six);
  for (const ScaleCandidates &each : candidates)
    allUsual = allUsual & isUsual(each.six) & isUsual(each.four);
  auto yieldAll = [&](Division division) {
    SmallVector<Value, 8> errors;
    for (auto [each, block] : llvm::zip_equal(candidates, blocks)) {
      errors.push_back(computeError(b, block, each.six, division));
      errors.push_back(computeError(b, block, each.four, division));
    }
    scf::YieldOp::create(b, errors);
  };
  SmallVector<Type> types(2 * blocks.size(), b.getF32Type());
  auto branch = scf::IfOp::create(b, types, allUsual, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  yieldAll(Division::Usual);
  b.setInsertionPointToStart(branch.elseBlock());
  yieldAll(Division::Any);
  return SmallVector<Value, 8>(branch.getResults());
}

DeviceQuantizer::Scales
FourOverSixQuantizer::computeScales(KernelBuilder &b, ArrayRef<Lanes> amaxes,
                                    ArrayRef<BlockElements> blocks) {
  SmallVector<ScaleCandidates, 4> candidates;
  for (Lanes amax : amaxes)
    candidates.push_back(numerics::getScaleCandidates(recipe, amax, *global));
  SmallVector<Value, 8> errors = computeErrors(b, blocks, candidates);
  Scales scales;
  SmallVector<Lanes, 4> bytes;
  for (auto [i, each] : llvm::enumerate(candidates)) {
    Lanes six(b, errors[2 * i]), four(b, errors[2 * i + 1]);
    bytes.push_back(numerics::chooseCandidate(each, six, four));
    scales.factors.push_back(
        numerics::getFactorOfByte(recipe, bytes.back(), *global));
  }
  // The byte of a missing block is 0.
  if (bytes.size() % 2 != 0)
    bytes.push_back(bytes.back().like(0));
  for (size_t i = 0; i < bytes.size(); i += 2)
    scales.pairs.push_back(truncate(bytes[i] | bytes[i + 1] << 8, 16));
  return scales;
}

std::unique_ptr<DeviceQuantizer>
createFourOverSixQuantizer(CvtEmitter &cvt, numerics::Recipe recipe,
                           GlobalKind global) {
  return std::make_unique<FourOverSixQuantizer>(cvt, recipe, global);
}

} // namespace blockscale
