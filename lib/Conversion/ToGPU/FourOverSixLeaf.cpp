//===- FourOverSixLeaf.cpp - 4over6 recipes -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ToCPU/FourOverSixEmitter.h"
#include "QuantizeLeaf.h"
#include "blockscale/Numerics/FourOverSix.h"

using namespace mlir;
using blockscale::cpu::Lanes;

namespace blockscale {

namespace {

class FourOverSixLeaf final : public QuantizeLeaf {
public:
  FourOverSixLeaf(CvtEmitter &cvt, numerics::Recipe recipe, GlobalKind kind)
      : QuantizeLeaf(cvt), recipe(recipe), kind(kind) {}

  void setGlobal(KernelBuilder &b, Value global) override;
  Scales computeScales(KernelBuilder &b, ValueRange amaxes,
                       ArrayRef<BlockElements> blocks) override;
  Value scale(KernelBuilder &b, Value elements, Value factors) override;

protected:
  numerics::ElementFormat getFormat() const override {
    return numerics::ElementFormat::E2M1;
  }

private:
  /// numerics: `getFourOverSixError` of elements, a vector of f32.
  Value computeErrors(KernelBuilder &b, Value elements,
                      const cpu::ScaleCandidate &candidate);
  /// Their sum over a block, from its first element on.
  Lanes computeError(KernelBuilder &b, const BlockElements &block,
                     const cpu::ScaleCandidate &candidate);

  numerics::Recipe recipe;
  GlobalKind kind;
  std::optional<cpu::GlobalFactors> global;
};

} // namespace

void FourOverSixLeaf::setGlobal(KernelBuilder &b, Value value) {
  using Kind = numerics::GlobalScale::Kind;
  Kind known = kind == GlobalKind::Absent ? Kind::Absent
               : kind == GlobalKind::Amax ? Kind::Amax
                                          : Kind::DecodeScale;
  global = cpu::emitGlobalFactors(b, recipe, known, value);
}

Value FourOverSixLeaf::scale(KernelBuilder &b, Value elements, Value factors) {
  int64_t size = cast<VectorType>(elements.getType()).getNumElements();
  Value scaled = arith::MulFOp::create(b, elements, factors);
  // -0 + 0 is +0; every other sum with 0 is exact.
  return arith::AddFOp::create(b, scaled, b.f32Splat(0.0f, size));
}

/// The value of the E2M1 code of each element, without the code: adding the
/// power of two of a magnitude, but at least 1, moved up so far that its last
/// place is the spacing of codes, rounds. NaN becomes 6, as its code is.
static Value roundToE2M1(KernelBuilder &b, Value x, int64_t size) {
  auto contract = arith::FastMathFlags::contract;
  Value magnitude = b.abs(x);
  magnitude = arith::MinNumFOp::create(b, magnitude,
                                       b.f32Splat(numerics::kE2M1Max, size));
  Value power = arith::MaxNumFOp::create(b, magnitude, b.f32Splat(1.0f, size));
  auto words = VectorType::get({size}, b.getI32Type());
  power = arith::AndIOp::create(b, b.bitcast(words, power),
                                b.i32Splat(numerics::kFloatInfinityBits, size));
  power = b.bitcast(x.getType(), power);
  // Exact, so that it may be fused with the sum.
  Value moved = arith::MulFOp::create(
      b, power, b.f32Splat(numerics::powerOfTwo(22), size), contract);
  Value sum = arith::AddFOp::create(b, magnitude, moved, contract);
  return arith::SubFOp::create(b, sum, moved, contract);
}

Value FourOverSixLeaf::computeErrors(KernelBuilder &b, Value elements,
                                     const cpu::ScaleCandidate &candidate) {
  int64_t size = cast<VectorType>(elements.getType()).getNumElements();
  auto splat = [&](Value value) { return Lanes(b, b.splat(value, size)); };
  Lanes x(b, elements);
  Lanes scaled = x * splat(candidate.factor);
  Lanes magnitude(b, roundToE2M1(b, scaled, size));
  Lanes isNegative = compare(arith::CmpFPredicate::OLT, scaled, 0.0f);
  Lanes value = select(isNegative, magnitude.like(0.0f) - magnitude, magnitude);
  Lanes decoded = value * splat(candidate.scale) * splat(global->amax);
  Lanes difference = decoded / numerics::kFourOverSixRange - x;
  if (recipe == numerics::Recipe::Te4over6Mae)
    return b.abs(difference);
  return difference * difference;
}

Lanes FourOverSixLeaf::computeError(KernelBuilder &b,
                                    const BlockElements &block,
                                    const cpu::ScaleCandidate &candidate) {
  SmallVector<Value> errors = block.mapToF32(
      b, [&](Value elements) { return computeErrors(b, elements, candidate); });
  Lanes sum(b, errors.front());
  for (Value error : ArrayRef<Value>(errors).drop_front())
    sum = sum + Lanes(b, error);
  return sum;
}

QuantizeLeaf::Scales
FourOverSixLeaf::computeScales(KernelBuilder &b, ValueRange amaxes,
                               ArrayRef<BlockElements> blocks) {
  Scales scales;
  SmallVector<Lanes, 4> bytes;
  for (auto [amax, block] : llvm::zip_equal(amaxes, blocks)) {
    cpu::ScaleCandidates candidates =
        cpu::emitScaleCandidates(recipe, Lanes(b, amax), *global);
    Lanes six = computeError(b, block, candidates.six);
    Lanes four = computeError(b, block, candidates.four);
    bytes.push_back(cpu::emitChooseScale(candidates, six, four));
    scales.factors.push_back(
        cpu::emitElementFactor(recipe, bytes.back(), *global));
  }
  // The byte of a missing block is 0.
  if (bytes.size() % 2 != 0)
    bytes.push_back(bytes.back().like(0));
  for (size_t i = 0; i < bytes.size(); i += 2)
    scales.pairs.push_back(truncate(bytes[i] | bytes[i + 1] << 8, 16));
  return scales;
}

std::unique_ptr<QuantizeLeaf> createFourOverSixLeaf(CvtEmitter &cvt,
                                                    numerics::Recipe recipe,
                                                    GlobalKind global) {
  return std::make_unique<FourOverSixLeaf>(cvt, recipe, global);
}

} // namespace blockscale
