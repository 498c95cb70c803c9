//===- ConstantRules.cpp - Constants that have a meaning ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantRules.h"
#include "FloatText.h"
#include "Origins.h"
#include "blockscale/IR/ConstantBytes.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Codec.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;

/// The value of `value` where it is constant, looking through casts and the ops
/// that make a tensor of scalars; null otherwise. A splat is one element.
static Attribute findConstant(Value value) {
  if (!value)
    return {};
  value = skipCasts(value);
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  SmallVector<Value> scalars;
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    scalars.push_back(splat.getInput());
  else if (auto list = value.getDefiningOp<tensor::FromElementsOp>())
    llvm::append_range(scalars, list.getElements());
  SmallVector<Attribute> elements;
  for (Value scalar : scalars) {
    if (!matchPattern(scalar, m_Constant(&constant)))
      return {};
    elements.push_back(constant);
  }
  if (elements.empty())
    return {};
  auto size = static_cast<int64_t>(elements.size());
  return DenseElementsAttr::get(
      RankedTensorType::get(size, scalars.front().getType()), elements);
}

/// The elements of a constant of elements `T`; a splat has one.
template <typename T>
static SmallVector<T> getElements(Attribute constant) {
  ConstantBytes raw(constant);
  SmallVector<T> elements(raw.bytes.size() / sizeof(T));
  if (!elements.empty())
    std::memcpy(elements.data(), raw.bytes.data(), elements.size() * sizeof(T));
  return elements;
}

static SmallVector<float> getFloats(Value value) {
  Attribute constant = value ? findConstant(value) : Attribute();
  if (auto scalar = dyn_cast_if_present<FloatAttr>(constant))
    return {scalar.getValue().convertToFloat()};
  return getElements<float>(constant);
}

static LogicalResult verifyGlobalScale(Operation *op, StringRef name,
                                       Value value) {
  for (float found : getFloats(value))
    if (!(found > 0) || std::isinf(found))
      return op->emitOpError()
             << "expected a constant " << name
             << " to be positive and finite, but got " << formatFloat(found);
  return success();
}

static LogicalResult verifyAmax(Operation *op, StringRef name, Value value) {
  for (float found : getFloats(value))
    if (found < 0)
      return op->emitOpError()
             << "expected a constant " << name << " to be 0 or more, but got "
             << formatFloat(found);
  return success();
}

/// A block amax is not computed from x, so that no NaN of x is behind one here.
static LogicalResult verifyBlockAmax(QuantizeOp op) {
  for (float found : getFloats(op.getBlockAmax()))
    if (!(found >= 0))
      return op.emitOpError()
             << "expected a constant block_amax to be 0 or more, but got "
             << formatFloat(found);
  return success();
}

static LogicalResult verifyScaleBytes(Operation *op, StringRef name,
                                      TypedValue<RankedTensorType> value) {
  if (!value || !isNvfp4ScaleType(value.getType().getElementType()))
    return success();
  for (auto [index, byte] :
       llvm::enumerate(getElements<uint8_t>(findConstant(value))))
    if (numerics::isNegativeScale(numerics::ScaleFormat::E4M3, byte))
      return op->emitOpError()
             << "expected constant block scales of " << name
             << " to have no sign, but got byte 0x"
             << llvm::utohexstr(byte, /*LowerCase=*/false, /*Width=*/2)
             << " at element " << index;
  return success();
}

/// `extent` is the size that the offsets divide, in their own unit; `block` is
/// what they must be multiples of.
static LogicalResult verifyOffsets(Operation *op, Value offsets, int64_t extent,
                                   int64_t block) {
  auto fail = [&](size_t group, const Twine &expected, int64_t found) {
    return op->emitOpError() << "expected constant offset " << group
                             << " to be " << expected << ", but got " << found;
  };
  Attribute constant = offsets ? findConstant(offsets) : Attribute();
  if (!constant)
    return success();
  SmallVector<int32_t> ends = getElements<int32_t>(constant);
  // A splat stands for equal offsets.
  int64_t previous = 0;
  for (auto [group, end] : llvm::enumerate(ends)) {
    if (end < previous)
      return fail(group,
                  group == 0
                      ? Twine("0 or more")
                      : "at least the offset before it, " + Twine(previous),
                  end);
    if (!ShapedType::isDynamic(extent) && end > extent)
      return fail(group, "at most the extent " + Twine(extent), end);
    if (end % block != 0)
      return fail(group, "a multiple of the block " + Twine(block), end);
    previous = end;
  }
  return success();
}

static LogicalResult verifyQuantizeConstants(QuantizeOp op) {
  if (failed(verifyGlobalScale(op, "global_scale", op.getGlobalScale())) ||
      failed(verifyAmax(op, "global_amax", op.getGlobalAmax())) ||
      failed(verifyBlockAmax(op)))
    return failure();
  // Without offsets there is nothing to check.
  auto dim = static_cast<int64_t>(op.getGroupDim());
  return verifyOffsets(op, op.getOffsets(),
                       op.getX().getType().getShape().take_back(2)[dim],
                       op.getBlock()[dim]);
}

static LogicalResult verifyAmaxOpConstants(AmaxOp op) {
  auto dim = static_cast<int64_t>(op.getGroupDim());
  return verifyOffsets(op, op.getOffsets(),
                       op.getX().getType().getShape().take_back(2)[dim],
                       /*block=*/1);
}

static LogicalResult verifyPadGroupsConstants(PadGroupsOp op) {
  return verifyOffsets(op, op.getOffsets(), op.getX().getType().getDimSize(0),
                       /*block=*/1);
}

static LogicalResult verifyDequantizeConstants(DequantizeOp op) {
  if (failed(verifyGlobalScale(op, "global_scale", op.getGlobalScale())) ||
      failed(verifyAmax(op, "global_amax", op.getGlobalAmax())))
    return failure();
  return verifyScaleBytes(op, "scale", op.getScale());
}

template <typename OpTy>
static LogicalResult verifyMatmulConstants(OpTy op) {
  if (failed(verifyGlobalScale(op, "global_scale_a", op.getGlobalScaleA())) ||
      failed(verifyGlobalScale(op, "global_scale_b", op.getGlobalScaleB())) ||
      failed(verifyScaleBytes(op, "scale_a", op.getScaleA())))
    return failure();
  return verifyScaleBytes(op, "scale_b", op.getScaleB());
}

static LogicalResult verifyGroupedMatmulConstants(ScaledGroupedMMOp op) {
  if (failed(verifyMatmulConstants(op)))
    return failure();
  ArrayRef<int64_t> a = op.getA().getType().getShape();
  ProductDims dims = getProductDims(op, /*ofB=*/false);
  if (op.isKGrouped())
    return verifyOffsets(op, op.getOffsets(), a[dims.depth], op.getBlockSize());
  return verifyOffsets(op, op.getOffsets(), a[dims.rows], /*block=*/1);
}

static LogicalResult verifySwizzleConstants(SwizzleOp op) {
  if (failed(verifyScaleBytes(op, "source", op.getSource())))
    return failure();
  if (!op.getOffsets())
    return success();
  RankedTensorType source = op.getSource().getType();
  int64_t extent = source.getDimSize(op.getGroupedLayout().getDim());
  int64_t block = op.getBlock();
  // A product that does not fit bounds no offset.
  if (!ShapedType::isDynamic(extent) &&
      llvm::MulOverflow(extent, block, extent))
    extent = ShapedType::kDynamic;
  return verifyOffsets(op, op.getOffsets(), extent, block);
}

LogicalResult blockscale::verifyConstantOperands(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<QuantizeOp>(verifyQuantizeConstants)
      .Case<DequantizeOp>(verifyDequantizeConstants)
      .Case<ScaledMMOp>(verifyMatmulConstants<ScaledMMOp>)
      .Case<ScaledGroupedMMOp>(verifyGroupedMatmulConstants)
      .Case<SwizzleOp>(verifySwizzleConstants)
      .Case<AmaxOp>(verifyAmaxOpConstants)
      .Case<PadGroupsOp>(verifyPadGroupsConstants)
      .Case<ScaleSweepOp>([](ScaleSweepOp op) {
        return verifyAmax(op, "global_amax", op.getGlobalAmax());
      })
      .Case<ExpandScaleOp>([](ExpandScaleOp op) {
        return verifyScaleBytes(op, "source", op.getSource());
      })
      .Case<GlobalScaleOp>(
          [](GlobalScaleOp op) { return verifyAmax(op, "amax", op.getAmax()); })
      .Default([](Operation *) { return success(); });
}
