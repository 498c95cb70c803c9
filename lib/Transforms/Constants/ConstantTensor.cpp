//===- ConstantTensor.cpp - Elements of constants, read and made ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantTensor.h"
#include "blockscale/Numerics/Codec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

/// Constants of more bytes become resources.
static constexpr size_t kMaxInlineBytes = 1024;

static unsigned getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

ConstantTensor::ConstantTensor(Attribute constant, Type type)
    : element(getElementTypeOrSelf(type)) {
  if (auto value = dyn_cast<FloatAttr>(constant); value && type.isF32()) {
    scalar = value.getValue().convertToFloat();
    count = 1;
    return;
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return;
  ConstantBytes raw(constant);
  size_t elementBytes = getElementBytes(tensor.getElementType());
  count = tensor.getNumElements();
  isSplat = raw.isSplat;
  bytes = raw.bytes;
  if (bytes.size() != (isSplat ? 1 : count) * elementBytes)
    count = -1;
}

FailureOr<std::optional<ConstantTensor>>
ConstantTensor::matchOptional(Value value) {
  if (!value)
    return std::optional<ConstantTensor>();
  std::optional<ConstantTensor> constant = match(value);
  if (!constant)
    return failure();
  return constant;
}

std::optional<ConstantTensor> ConstantTensor::match(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  ConstantTensor tensor(constant, value.getType());
  if (tensor.count < 0)
    return std::nullopt;
  return tensor;
}

float ConstantTensor::getFloat(int64_t index) const {
  if (bytes.empty())
    return scalar;
  if (element.isBF16())
    return numerics::decodeBF16(getRaw<uint16_t>(index));
  if (element.isF16())
    return numerics::decodeF16(getRaw<uint16_t>(index));
  return getRaw<float>(index);
}

void ConstantTensor::getFloats(int64_t first,
                               MutableArrayRef<float> floats) const {
  for (auto [i, value] : llvm::enumerate(floats))
    value = getFloat(first + i);
}

ConstantBuilder::ConstantBuilder(RankedTensorType type)
    : type(type),
      blob(HeapAsmResourceBlob::allocate(
          type.getNumElements() * getElementBytes(type.getElementType()),
          /*align=*/64)) {}

TypedAttr ConstantBuilder::takeAttribute() {
  ArrayRef<char> bytes = blob.getData();
  if (bytes.size() > kMaxInlineBytes)
    return DenseResourceElementsAttr::get(type, "blockscale_constant",
                                          std::move(blob));
  size_t elementBytes = getElementBytes(type.getElementType());
  ArrayRef<char> first = bytes.take_front(elementBytes);
  bool isSplat = !bytes.empty();
  for (size_t i = 0; i < bytes.size(); i += elementBytes)
    isSplat &= bytes.slice(i, elementBytes) == first;
  return DenseElementsAttr::getFromRawBuffer(type, isSplat ? first : bytes);
}

} // namespace blockscale
