//===- GemmFormat.cpp - Formats as tensor cores take them -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmFormat.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale::products {

std::optional<GemmFormat> GemmFormat::get(ElementFormat a, ElementFormat b,
                                          ScaleFormat scale,
                                          int64_t stageSteps) {
  using Kind = NVVM::MMABlockScaleKind;
  auto isKnown = [](ElementFormat format) {
    return format == ElementFormat::E2M1 ||
           (getFormatInfo(format).bits == 8 && !isFixedPoint(format));
  };
  if (!isKnown(a) || !isKnown(b))
    return std::nullopt;
  GemmFormat format{a, b, scale};
  if (scale == ScaleFormat::E4M3) {
    format.kind = Kind::MXF4NVF4;
    format.block = 16;
    format.stepElements = 64;
  } else {
    bool isPacked = a == ElementFormat::E2M1 && b == ElementFormat::E2M1;
    format.kind = isPacked ? Kind::MXF4 : Kind::MXF8F6F4;
    format.block = 32;
    format.stepElements = isPacked ? 64 : 32;
  }
  format.stepScales = format.stepElements / format.block;
  format.stageSteps = stageSteps;
  return format;
}

/// The format that operands of format `mine` are multiplied in beside those of
/// `other`.
static ElementFormat getMultiplied(ElementFormat mine, ElementFormat other,
                                   bool canPad) {
  int bits = getFormatInfo(mine).bits;
  bool isAlike = mine == ElementFormat::E2M1 && (other == mine || canPad);
  return bits == 8 || isAlike ? mine : ElementFormat::E4M3;
}

std::optional<GemmFormat> GemmFormat::find(const Product &product,
                                           int64_t stageSteps) {
  if (product.hasPlainOperand())
    return std::nullopt;
  RankedTensorType typeA = product.a.getType(), typeB = product.b.getType();
  auto a = getElementFormat(typeA.getElementType());
  auto b = getElementFormat(typeB.getElementType());
  // Maps of padded codes have rows of whole boxes, from which copies begin.
  bool canPad = product.groups != GroupDim::Columns &&
                stageSteps * kStepBytes == kPaddedRowBytes;
  canPad &= llvm::any_of(ArrayRef{typeA, typeB}, [](RankedTensorType type) {
    int64_t depth = type.getShape().back();
    return !ShapedType::isDynamic(depth) && depth % kPaddedRowBytes == 0;
  });
  Type scale = product.scaleA.getType().getElementType();
  return get(getMultiplied(a, b, canPad), getMultiplied(b, a, canPad),
             getScaleFormat(scale), stageSteps);
}

int64_t GemmFormat::getRowMultiple() const {
  if (isPadded(a) || isPadded(b))
    return kPaddedRowBytes;
  // cuTensorMapEncodeTiled, "globalStrides".
  return a == ElementFormat::E2M1 ? 2 * kCopyBytes : kCopyBytes;
}

std::string GemmFormat::getName() const {
  std::string name;
  for (ElementFormat operand : {a, b})
    name += std::string(getFormatInfo(operand).name) + "_";
  name += scale == ScaleFormat::E4M3 ? "e4m3" : "e8m0";
  return name + (hasLongSteps ? "_k96" : "");
}

} // namespace blockscale::products
