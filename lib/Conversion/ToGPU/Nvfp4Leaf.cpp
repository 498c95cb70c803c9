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
// A division of LLVM's takes 17 instructions and a call for what is rare. Where
// the global scale is `kUsualLeast` to `kUsualMost`, or absent, divisions are
// those of numerics/Division.h: quotients that are not exact there are below
// the recipe's floor, or above what saturates, on either way.
//
//===----------------------------------------------------------------------===//

#include "QuantizeLeaf.h"
#include "blockscale/Numerics/BlockScale.h"
#include "blockscale/Numerics/Division.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscale {

using numerics::Recipe;

static constexpr float kUsualLeast = 0x1p-80f;
static constexpr float kUsualMost = 0x1p80f;
/// Quotients above are cast to the largest E4M3 value.
static constexpr float kSaturating = 1024;

namespace {

class Nvfp4Leaf final : public QuantizeLeaf {
public:
  Nvfp4Leaf(CvtEmitter &cvt, Recipe recipe, GlobalKind kind, bool amaxIsGiven)
      : QuantizeLeaf(cvt), recipe(recipe), kind(kind),
        amaxIsGiven(amaxIsGiven) {}

  void setGlobal(KernelBuilder &b, Value global) override;
  Scales computeScales(KernelBuilder &b, ValueRange amaxes,
                       ArrayRef<BlockElements> blocks) override;
  Value scale(KernelBuilder &b, Value elements, Value factors) override;

protected:
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
  /// The code for rare cases of reciprocals would be another one than that of
  /// divisions, and as long; so this hides from compilers that it is one.
  Value reciprocalByDivision(KernelBuilder &b, Value x) {
    Value one =
        NVVM::InlinePtxOp::create(b, b.getF32Type(), ValueRange(), ValueRange(),
                                  "mov.b32 $0, 0f3F800000;", Value())
            .getResult(0);
    return div(b, one, x);
  }
  /// `value`, or 1 where `condition` is 0.
  Value oneWhereZero(KernelBuilder &b, Value condition, Value value);

  /// Sets `isUsual` and what shortcuts need.
  void prepareShortcuts(KernelBuilder &b);
  /// They are proved for amaxes, which a given one need not be.
  bool hasShortcuts() const {
    return !amaxIsGiven &&
           (recipe == Recipe::Torchao || recipe == Recipe::Mslk);
  }
  using Function = function_ref<Value(Value)>;
  /// `shortcut` of each value where the global scale is usual, else `exact`.
  SmallVector<Value, 4> map(KernelBuilder &b, ValueRange values,
                            Function shortcut, Function exact);
  /// As `computeScale` and `computeFactor`, with a usual global scale.
  Value computeScaleShort(KernelBuilder &b, Value amax);
  Value computeFactorShort(KernelBuilder &b, Value scale);
  /// numerics: `divideByReciprocal`.
  Value divideByReciprocal(KernelBuilder &b, Value a, Value d,
                           Value reciprocal);

  Value computeTeEncodeScale(KernelBuilder &b, Value global);
  /// numerics: `getE4M3ScaleByteOfGivenAmax`, for modelopt, before the cast.
  Value computeModeloptScaleOfGivenAmax(KernelBuilder &b, Value amax);
  /// The block scale before its cast to E4M3.
  Value computeScale(KernelBuilder &b, Value amax);
  /// What elements are scaled by, from the decoded block scale.
  Value computeFactor(KernelBuilder &b, Value scale);

  Recipe recipe;
  GlobalKind kind;
  bool amaxIsGiven;
  /// g and S of numerics: `GlobalFactors`; null where 1 or unused.
  Value decodeGlobal;
  Value encodeGlobal;
  /// S / 6 and 1 / S of recipe te.
  Value teSixth;
  Value teDecode;
  /// Null where there is no global scale.
  Value isUsual;
  /// Before the division by g, larger values are as good as this one.
  Value largest;
  /// A sixth of the tensor's amax.
  Value modeloptWhole;
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

void Nvfp4Leaf::prepareShortcuts(KernelBuilder &b) {
  uint32_t least = llvm::bit_cast<uint32_t>(kUsualLeast);
  uint32_t most = llvm::bit_cast<uint32_t>(kUsualMost);
  Value distance =
      arith::SubIOp::create(b, b.toBits(encodeGlobal), b.i32(least));
  isUsual = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, distance,
                                  b.i32(most - least));
  if (recipe == Recipe::Torchao)
    largest = mul(b, decodeGlobal, b.f32(kSaturating));
}

void Nvfp4Leaf::setGlobal(KernelBuilder &b, Value global) {
  bool isAmax = kind == GlobalKind::Amax;
  if (recipe == Recipe::Modelopt && amaxIsGiven) {
    Value range = b.f32(numerics::kGlobalRange);
    Value amax = !global ? range : isAmax ? global : mul(b, global, range);
    modeloptWhole = div(b, amax, b.f32(numerics::kE2M1Max));
  }
  if (!global)
    return;
  switch (recipe) {
  case Recipe::Te:
    encodeGlobal = computeTeEncodeScale(b, global);
    teSixth = mul(b, encodeGlobal, b.f32(numerics::kInverseE2M1Max));
    teDecode = reciprocal(b, encodeGlobal);
    return;
  case Recipe::Mslk:
    encodeGlobal = isAmax ? div(b, b.f32(numerics::kGlobalRange),
                                max(b, global, numerics::kMslkAmaxFloor))
                          : reciprocalByDivision(b, global);
    prepareShortcuts(b);
    return;
  default:
    decodeGlobal =
        isAmax ? div(b, global, b.f32(numerics::kGlobalRange)) : global;
    if (recipe == Recipe::Torchao) {
      encodeGlobal = reciprocalByDivision(b, decodeGlobal);
      prepareShortcuts(b);
    }
    return;
  }
}

Value Nvfp4Leaf::computeModeloptScaleOfGivenAmax(KernelBuilder &b, Value amax) {
  Value scale = div(b, amax, b.f32(numerics::kE2M1Max));
  scale = mul(b, oneWhereZero(b, scale, scale), b.f32(numerics::kE4M3Max));
  return max(b, div(b, scale, modeloptWhole), numerics::kModeloptScaleFloor);
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
    if (amaxIsGiven)
      return computeModeloptScaleOfGivenAmax(b, amax);
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

/// One less, in a form from which no compiler tells how often a loop runs: it
/// is not unrolled.
static Value countDown(KernelBuilder &b, Value count) {
  return NVVM::InlinePtxOp::create(b, b.getI32Type(), count, ValueRange(),
                                   "sub.u32 $0, $1, 1;", Value())
      .getResult(0);
}

/// `function` of each value, by a loop in which values move up by one each
/// time. It keeps code short that hardly ever runs.
static SmallVector<Value, 4> mapInLoop(KernelBuilder &b, ValueRange values,
                                       function_ref<Value(Value)> function) {
  SmallVector<Value, 5> first = {b.i32(values.size())};
  llvm::append_range(first, values);
  TypeRange types(ValueRange(first).getTypes());
  SmallVector<Location> locations(first.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, types, first);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
  Value isLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                       before->getArgument(0), b.i32(0));
  scf::ConditionOp::create(b, isLeft, before->getArguments());
  Block *body = b.createBlock(&loop.getAfter(), {}, types, locations);
  SmallVector<Value, 5> next = {countDown(b, body->getArgument(0))};
  llvm::append_range(next, body->getArguments().drop_front(2));
  next.push_back(function(body->getArgument(1)));
  scf::YieldOp::create(b, next);
  return SmallVector<Value, 4>(loop.getResults().drop_front());
}

Value Nvfp4Leaf::divideByReciprocal(KernelBuilder &b, Value a, Value d,
                                    Value reciprocal) {
  Value quotient = mul(b, a, reciprocal);
  Value rest = b.fma(arith::NegFOp::create(b, d), quotient, a);
  return b.fma(rest, reciprocal, quotient);
}

Value Nvfp4Leaf::computeScaleShort(KernelBuilder &b, Value amax) {
  Value low = mul(b, amax, b.f32(numerics::kSixthLow));
  Value scale = b.fma(amax, b.f32(numerics::kSixthHigh), low);
  if (recipe == Recipe::Mslk) {
    if (encodeGlobal)
      scale = mul(b, scale, encodeGlobal);
    return max(b, scale, numerics::kMslkScaleFloor);
  }
  if (decodeGlobal) {
    scale = arith::MinimumFOp::create(b, scale, largest);
    scale = divideByReciprocal(b, scale, decodeGlobal, encodeGlobal);
  }
  return max(b, scale, numerics::kTorchaoScaleFloor);
}

/// The scale is not 0, as recipes with shortcuts have a floor.
Value Nvfp4Leaf::computeFactorShort(KernelBuilder &b, Value scale) {
  Value approximation =
      NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), scale);
  Value error =
      b.fma(arith::NegFOp::create(b, scale), approximation, b.f32(1.0f));
  Value inverse = b.fma(error, approximation, approximation);
  return encodeGlobal ? divideByReciprocal(b, encodeGlobal, scale, inverse)
                      : inverse;
}

SmallVector<Value, 4> Nvfp4Leaf::map(KernelBuilder &b, ValueRange values,
                                     Function shortcut, Function exact) {
  auto each = [&](Function function) {
    SmallVector<Value, 4> results;
    for (Value value : values)
      results.push_back(function(value));
    return results;
  };
  if (!hasShortcuts())
    return each(exact);
  if (!isUsual)
    return each(shortcut);
  auto branch = scf::IfOp::create(b, TypeRange(values), isUsual,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, each(shortcut));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, mapInLoop(b, values, exact));
  return SmallVector<Value, 4>(branch.getResults());
}

QuantizeLeaf::Scales Nvfp4Leaf::computeScales(KernelBuilder &b,
                                              ValueRange amaxes,
                                              ArrayRef<BlockElements>) {
  SmallVector<Value, 4> values = map(
      b, amaxes, [&](Value amax) { return computeScaleShort(b, amax); },
      [&](Value amax) { return computeScale(b, amax); });
  // A missing block is 0, whose E4M3 byte is that of padding.
  if (values.size() % 2 != 0)
    values.push_back(b.f32(0.0f));
  Scales scales;
  SmallVector<Value, 4> decoded;
  for (size_t i = 0; i < values.size(); i += 2) {
    Value pair = cvt.encodeE4M3Pair(b, values[i], values[i + 1]);
    auto [first, second] = cvt.decodeE4M3Pair(b, pair);
    scales.pairs.push_back(pair);
    llvm::append_values(decoded, first, second);
  }
  decoded.truncate(amaxes.size());
  scales.factors = map(
      b, decoded, [&](Value scale) { return computeFactorShort(b, scale); },
      [&](Value scale) { return computeFactor(b, scale); });
  return scales;
}

Value Nvfp4Leaf::scale(KernelBuilder &b, Value elements, Value factors) {
  int64_t size = cast<VectorType>(elements.getType()).getNumElements();
  Value scaled = recipe == Recipe::Modelopt ? div(b, elements, factors)
                                            : mul(b, elements, factors);
  if (numerics::keepsNegativeZero(recipe))
    return scaled;
  // -0 + 0 is +0; every other sum with 0 is exact.
  return arith::AddFOp::create(b, scaled, b.f32Splat(0.0f, size));
}

std::unique_ptr<QuantizeLeaf> createNvfp4Leaf(CvtEmitter &cvt, Recipe recipe,
                                              GlobalKind global,
                                              bool amaxIsGiven) {
  return std::make_unique<Nvfp4Leaf>(cvt, recipe, global, amaxIsGiven);
}

} // namespace blockscale
