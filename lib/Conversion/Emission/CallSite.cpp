//===- CallSite.cpp - Sizes and checks before a kernel runs ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallSite.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale::emit {

Value toIndex(ImplicitLocOpBuilder &b, OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
}

static OpFoldResult getSize(ImplicitLocOpBuilder &b, Value memref,
                            int64_t dim) {
  int64_t size = cast<MemRefType>(memref.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return b.getIndexAttr(size);
  return getDim(b, memref, dim);
}

CallSite::Sizes CallSite::getSizes(Value logical) const {
  Value memref = lookup(logical);
  Sizes sizes;
  for (int64_t dim = 0; dim < getTensorType(logical).getRank(); ++dim)
    sizes.push_back(getSize(b, memref, dim));
  return sizes;
}

CallSite::Sizes CallSite::getDataSizes(Value data, Value other) const {
  Sizes sizes = getSizes(data);
  auto hidesSize = [](Value value) {
    RankedTensorType type = getTensorType(value);
    return type.isDynamicDim(type.getRank() - 1) && needsStorageForm(type);
  };
  Value source = hidesSize(data) ? other : data;
  sizes.back() = getAsOpFoldResult(getDataCols(b, source, operands));
  return sizes;
}

void CallSite::require(Value holds, const Twine &rule, Value found) {
  if (matchPattern(holds, m_One()))
    return;
  checks.push_back({holds, (opName + ": expected " + rule).str(), found});
}

void CallSite::requireMultiple(OpFoldResult size, int64_t divisor,
                               const Twine &what) {
  Value found = toIndex(b, size);
  Value holds = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, rem(b, found, divisor), getIndex(b, 0));
  require(holds, what + " to be a multiple of " + Twine(divisor), found);
}

void CallSite::requireSizes(const Twine &name, Value logical,
                            ArrayRef<OpFoldResult> sizes, const Twine &source) {
  Value memref = lookup(logical);
  if (!memref)
    return;
  RankedTensorType type = getTensorType(logical);
  bool isStored = needsStorageForm(type);
  for (auto [dim, expected] :
       llvm::enumerate(getStorageSizes(b, b.getLoc(), type, sizes))) {
    OpFoldResult found = getSize(b, memref, dim);
    // Sizes that types say are verified already.
    if (isEqualConstantIntOrValue(expected, found))
      continue;
    Value foundSize = toIndex(b, found);
    Value holds = b.createOrFold<arith::CmpIOp>(
        arith::CmpIPredicate::eq, foundSize, toIndex(b, expected));
    require(holds,
            "dimension " + Twine(dim) + " of " + name +
                (isStored ? " in memory" : "") + " to fit the shape of " +
                source,
            foundSize);
  }
}

void CallSite::requireGlobalSizes(const Twine &name, Value logical,
                                  ArrayRef<OpFoldResult> batch,
                                  const Twine &source) {
  auto type = logical ? dyn_cast<RankedTensorType>(logical.getType()) : Type();
  if (type && cast<RankedTensorType>(type).getRank() > 0)
    requireSizes(name, logical, batch, source);
}

Value CallSite::countItems(ArrayRef<OpFoldResult> sizes,
                           Value perMatrix) const {
  Value items = perMatrix;
  for (OpFoldResult size : sizes.drop_back(2))
    items = mul(b, items, toIndex(b, size));
  Value zero = getIndex(b, 0);
  Value isEmpty = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                toIndex(b, sizes.back()), zero);
  return b.createOrFold<arith::SelectOp>(isEmpty, zero, items);
}

} // namespace blockscale::emit
