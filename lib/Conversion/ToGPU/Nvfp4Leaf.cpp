//===- Nvfp4Leaf.cpp - NVFP4 recipes --------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of 448 in the recipes are left to the saturating cast to E4M3, which
// has the same effect on every value. `minimumf` and `maximumf` keep NaN.
//
//===----------------------------------------------------------------------===//

#include "QuantizeLeaf.h"
#include "blockscale/Numerics/BlockScale.h"

using namespace mlir;

namespace blockscale {

using numerics::Recipe;

namespace {

class Nvfp4Leaf final : public QuantizeLeaf {
public:
  Nvfp4Leaf(CvtEmitter &cvt, Recipe recipe, GlobalKind kind)
      : QuantizeLeaf(cvt), recipe(recipe), kind(kind) {}

  void setGlobal(KernelBuilder &b, Value global) override;
  Scales computeScales(KernelBuilder &b, ValueRange amaxes) override;

protected:
  Value scale(KernelBuilder &b, Value elements, Value factor) override;

  numerics::ElementFormat getFormat() const override {
    return numerics::ElementFormat::E2M1;
  }

private:
  Value mul(KernelBuilder &b, Value lhs, Value rhs) {
    return arith::MulFOp::create(b, lhs, rhs);
  }
  Value div(KernelBuilder &b, Value lhs, Value rhs) {
    return arith::DivFOp::create(b, lhs, rhs);
  }
  Value max(KernelBuilder &b, Value lhs, float rhs) {
    return arith::MaximumFOp::create(b, lhs, b.f32(rhs));
  }
  Value min(KernelBuilder &b, Value lhs, float rhs) {
    return arith::MinimumFOp::create(b, lhs, b.f32(rhs));
  }
  Value reciprocal(KernelBuilder &b, Value x) { return div(b, b.f32(1.0f), x); }
  /// `value`, or 1 where `condition` is 0.
  Value oneWhereZero(KernelBuilder &b, Value condition, Value value);

  Value computeTeEncodeScale(KernelBuilder &b, Value global);
  /// The block scale before its cast to E4M3.
  Value computeScale(KernelBuilder &b, Value amax);
  /// What elements are scaled by, from the decoded block scale.
  Value computeFactor(KernelBuilder &b, Value scale);

  Recipe recipe;
  GlobalKind kind;
  /// g and S of numerics: `GlobalFactors`; null where 1 or unused.
  Value decodeGlobal;
  Value encodeGlobal;
  /// S / 6 and 1 / S of recipe te.
  Value teSixth;
  Value teDecode;
};

} // namespace

Value Nvfp4Leaf::oneWhereZero(KernelBuilder &b, Value condition, Value value) {
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, condition,
                                       b.f32(0.0f));
  return arith::SelectOp::create(b, isZero, b.f32(1.0f), value);
}

/// numerics: `getTeEncodeScale`, `getTeEncodeScaleFromDecode`.
Value Nvfp4Leaf::computeTeEncodeScale(KernelBuilder &b, Value global) {
  bool isAmax = kind == GlobalKind::Amax;
  float numerator = isAmax ? numerics::kGlobalRange : 1.0f;
  Value encode = min(b, div(b, b.f32(numerator), global), numerics::kFloatMax);
  if (isAmax)
    encode = oneWhereZero(b, encode, encode);
  return oneWhereZero(b, global, encode);
}

void Nvfp4Leaf::setGlobal(KernelBuilder &b, Value global) {
  if (!global)
    return;
  bool isAmax = kind == GlobalKind::Amax;
  switch (recipe) {
  case Recipe::Te:
    encodeGlobal = computeTeEncodeScale(b, global);
    teSixth = mul(b, encodeGlobal, b.f32(numerics::kInverseE2M1Max));
    teDecode = reciprocal(b, encodeGlobal);
    return;
  case Recipe::Mslk:
    encodeGlobal = isAmax ? div(b, b.f32(numerics::kGlobalRange),
                                max(b, global, numerics::kMslkAmaxFloor))
                          : reciprocal(b, global);
    return;
  default:
    decodeGlobal =
        isAmax ? div(b, global, b.f32(numerics::kGlobalRange)) : global;
    if (recipe == Recipe::Torchao)
      encodeGlobal = reciprocal(b, decodeGlobal);
    return;
  }
}

Value Nvfp4Leaf::computeScale(KernelBuilder &b, Value amax) {
  Value six = b.f32(numerics::kE2M1Max);
  switch (recipe) {
  case Recipe::Te:
    return mul(b, amax, teSixth ? teSixth : b.f32(numerics::kInverseE2M1Max));
  case Recipe::Mslk: {
    Value scale = div(b, amax, six);
    if (encodeGlobal)
      scale = mul(b, scale, encodeGlobal);
    return max(b, scale, numerics::kMslkScaleFloor);
  }
  case Recipe::Modelopt: {
    Value scale = div(b, amax, decodeGlobal ? mul(b, six, decodeGlobal) : six);
    // A zero quotient gives 1.0, above the floor.
    Value floored = max(b, scale, numerics::kModeloptScaleFloor);
    return oneWhereZero(b, scale, floored);
  }
  default: {
    Value scale = div(b, amax, six);
    if (decodeGlobal)
      scale = div(b, scale, decodeGlobal);
    return max(b, scale, numerics::kTorchaoScaleFloor);
  }
  }
}

Value Nvfp4Leaf::computeFactor(KernelBuilder &b, Value scale) {
  switch (recipe) {
  case Recipe::Te: {
    Value decode = teDecode ? mul(b, scale, teDecode) : scale;
    return min(b, reciprocal(b, decode), numerics::kFloatMax);
  }
  case Recipe::Modelopt:
    return decodeGlobal ? mul(b, scale, decodeGlobal) : scale;
  default:
    return encodeGlobal ? div(b, encodeGlobal, scale) : reciprocal(b, scale);
  }
}

QuantizeLeaf::Scales Nvfp4Leaf::computeScales(KernelBuilder &b,
                                              ValueRange amaxes) {
  SmallVector<Value, 4> values;
  for (Value amax : amaxes)
    values.push_back(computeScale(b, amax));
  // A missing block is 0, whose E4M3 byte is that of padding.
  if (values.size() % 2 != 0)
    values.push_back(b.f32(0.0f));
  Scales scales;
  for (size_t i = 0; i < values.size(); i += 2) {
    Value pair = cvt.encodeE4M3Pair(b, values[i], values[i + 1]);
    auto [first, second] = cvt.decodeE4M3Pair(b, pair);
    scales.pairs.push_back(pair);
    scales.factors.push_back(computeFactor(b, first));
    if (i + 1 < amaxes.size())
      scales.factors.push_back(computeFactor(b, second));
  }
  return scales;
}

Value Nvfp4Leaf::scale(KernelBuilder &b, Value elements, Value factor) {
  int64_t size = cast<VectorType>(elements.getType()).getNumElements();
  Value factors = b.splat(factor, size);
  Value scaled = recipe == Recipe::Modelopt ? div(b, elements, factors)
                                            : mul(b, elements, factors);
  if (numerics::keepsNegativeZero(recipe))
    return scaled;
  // -0 + 0 is +0; every other sum with 0 is exact.
  return arith::AddFOp::create(b, scaled, b.f32Splat(0.0f, size));
}

std::unique_ptr<QuantizeLeaf> createNvfp4Leaf(CvtEmitter &cvt, Recipe recipe,
                                              GlobalKind global) {
  return std::make_unique<Nvfp4Leaf>(cvt, recipe, global);
}

} // namespace blockscale
