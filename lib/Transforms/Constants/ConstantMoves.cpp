//===- ConstantMoves.cpp - Constants that are moved or rounded ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight comes in as its model stores it. Between it and its quantizer may be
// a reshape, a transposition, a slice and a conversion.
//
//===----------------------------------------------------------------------===//

#include "ConstantEvaluation.h"
#include "ConstantTensor.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Numerics/Codec.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Threading.h"

#include <atomic>
#include <cmath>

using namespace mlir;

namespace blockscale {

/// Calls `compute` with each number of [0, size), on the context's threads.
template <typename FnTy>
static void forEachElement(MLIRContext *context, size_t size, FnTy compute) {
  constexpr size_t kRun = 1 << 14;
  parallelFor(context, 0, llvm::divideCeil(size, kRun), [&](size_t run) {
    for (size_t i = run * kRun, e = std::min(i + kRun, size); i < e; ++i)
      compute(i);
  });
}

/// Fills `result`: element `i` is element `getSource(i)` of `source`, whose
/// elements have the width of T.
template <typename T>
static void gather(MLIRContext *context, const ConstantTensor &source,
                   MutableArrayRef<T> result,
                   function_ref<int64_t(int64_t)> getSource) {
  forEachElement(context, result.size(),
                 [&](size_t i) { result[i] = source.getRaw<T>(getSource(i)); });
}

/// A constant of `type`, whose element `i` is element `getSource(i)` of
/// `source`; nothing where that is no constant, or has elements of another
/// width than one, two or four bytes.
static std::optional<ConstantResults>
gather(Value source, RankedTensorType type,
       function_ref<int64_t(int64_t)> getSource) {
  std::optional<ConstantTensor> constant = ConstantTensor::match(source);
  if (!constant || !type.hasStaticShape() ||
      !type.getElementType().isIntOrFloat())
    return std::nullopt;
  MLIRContext *context = type.getContext();
  ConstantBuilder result(type);
  switch (llvm::divideCeil(type.getElementTypeBitWidth(), 8)) {
  case 1:
    gather(context, *constant, result.getElements<uint8_t>(), getSource);
    break;
  case 2:
    gather(context, *constant, result.getElements<uint16_t>(), getSource);
    break;
  case 4:
    gather(context, *constant, result.getElements<uint32_t>(), getSource);
    break;
  default:
    return std::nullopt;
  }
  return ConstantResults{result.takeAttribute()};
}

/// The elements of `source`, which are not copied, as those of `type`.
static std::optional<ConstantResults> reshape(Value source,
                                              RankedTensorType type) {
  Attribute constant;
  if (!type.hasStaticShape() || !matchPattern(source, m_Constant(&constant)))
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant))
    return ConstantResults{
        DenseResourceElementsAttr::get(type, resource.getRawHandle())};
  if (auto dense = dyn_cast<DenseElementsAttr>(constant))
    return ConstantResults{dense.reshape(type)};
  return std::nullopt;
}

std::optional<ConstantResults> evaluate(tensor::CollapseShapeOp op) {
  return reshape(op.getSrc(), op.getResultType());
}

std::optional<ConstantResults> evaluate(tensor::ExpandShapeOp op) {
  return reshape(op.getSrc(), op.getResultType());
}

std::optional<ConstantResults> evaluate(tensor::ExtractSliceOp op) {
  auto isStatic = [](ArrayRef<int64_t> values) {
    return llvm::none_of(values, ShapedType::isDynamic);
  };
  if (!op.getSourceType().hasStaticShape() ||
      !isStatic(op.getStaticOffsets()) || !isStatic(op.getStaticSizes()) ||
      !isStatic(op.getStaticStrides()))
    return std::nullopt;
  SmallVector<int64_t> from = computeStrides(op.getSourceType().getShape());
  SmallVector<int64_t> sizes = computeStrides(op.getStaticSizes());
  return gather(op.getSource(), op.getResultType(), [&](int64_t i) {
    int64_t place = 0;
    for (auto [dim, index] : llvm::enumerate(delinearize(i, sizes)))
      place += from[dim] * (op.getStaticOffsets()[dim] +
                            index * op.getStaticStrides()[dim]);
    return place;
  });
}

std::optional<ConstantResults> evaluate(linalg::TransposeOp op) {
  auto source = dyn_cast<RankedTensorType>(op.getInput().getType());
  auto type = cast<RankedTensorType>(op.getInit().getType());
  if (!source || !source.hasStaticShape() || !type.hasStaticShape())
    return std::nullopt;
  SmallVector<int64_t> from = computeStrides(source.getShape());
  SmallVector<int64_t> to = computeStrides(type.getShape());
  return gather(op.getInput(), type, [&](int64_t i) {
    int64_t place = 0;
    for (auto [dim, index] : llvm::enumerate(delinearize(i, to)))
      place += from[op.getPermutation()[dim]] * index;
    return place;
  });
}

/// The elements of `source` as those of `type`, rounded to nearest even;
/// nothing if one is NaN, whose bits depend on what converts it.
static std::optional<ConstantResults> convert(Value source, Type type) {
  std::optional<ConstantTensor> x = ConstantTensor::match(source);
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto isKnown = [](Type element) {
    return element.isF32() || element.isBF16() || element.isF16();
  };
  if (!x || !tensor || !tensor.hasStaticShape() ||
      !isKnown(tensor.getElementType()) ||
      !isKnown(getElementTypeOrSelf(source)))
    return std::nullopt;
  std::atomic<bool> hasNan = false;
  ConstantBuilder result(tensor);
  auto fill = [&](auto elements, auto encode) {
    forEachElement(type.getContext(), elements.size(), [&](size_t i) {
      float value = x->getFloat(i);
      if (std::isnan(value))
        hasNan = true;
      elements[i] = encode(value);
    });
  };
  if (tensor.getElementType().isF32())
    fill(result.getElements<float>(), [](float value) { return value; });
  else if (tensor.getElementType().isBF16())
    fill(result.getElements<uint16_t>(), numerics::encodeBF16);
  else
    fill(result.getElements<uint16_t>(), [](float value) {
      return static_cast<uint16_t>(numerics::encodeF16Bits(value));
    });
  if (hasNan)
    return std::nullopt;
  return ConstantResults{result.takeAttribute()};
}

std::optional<ConstantResults> evaluate(arith::TruncFOp op) {
  if (!isNearest(op.getRoundingmode()))
    return std::nullopt;
  return convert(op.getIn(), op.getType());
}

std::optional<ConstantResults> evaluate(arith::ExtFOp op) {
  return convert(op.getIn(), op.getType());
}

} // namespace blockscale
