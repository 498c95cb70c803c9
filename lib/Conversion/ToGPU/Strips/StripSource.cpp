//===- StripSource.cpp - Where the x of strips comes from -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripSource.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale {

StripSource::StripSource(Value x) {
  int64_t begin = 0;
  for (Value part : getSideBySide(x)) {
    int64_t columns = cast<RankedTensorType>(part.getType()).getShape().back();
    parts.push_back({ElementSource(part), begin, columns});
    // Several parts have static numbers of columns.
    begin += columns;
  }
}

std::string StripSource::getName() const {
  if (parts.size() == 1)
    return getWhole().getName();
  std::string name = "_joined";
  for (const Part &part : parts)
    name += "_" + std::to_string(part.columns) + part.source.getName();
  return name;
}

int64_t StripSource::getBytes() const {
  int64_t bytes = 0;
  for (const Part &part : parts)
    bytes = std::max(bytes, part.source.getBytes());
  return bytes;
}

void StripSource::emitSizeAsserts(LaunchSite &site) const {
  ImplicitLocOpBuilder &b = site.b;
  Value first = site.lookup(getWhole().getSameSized().logical);
  for (const Part &part : parts) {
    part.source.emitSizeAsserts(site);
    Value other = site.lookup(part.source.getSameSized().logical);
    int64_t rank = cast<MemRefType>(other.getType()).getRank();
    for (int64_t dim = 0; other != first && dim < rank - 1; ++dim) {
      Value found = b.createOrFold<memref::DimOp>(other, dim);
      Value expected = b.createOrFold<memref::DimOp>(first, dim);
      Value holds = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                  found, expected);
      emit::createAssert(
          b,
          {holds, "expected tensors side by side to have as many rows", found});
    }
  }
}

SmallVector<Value> StripSource::getOperands(const LaunchSite &site) const {
  SmallVector<Value> operands;
  for (const Part &part : parts)
    llvm::append_range(operands, part.source.getOperands(site));
  return operands;
}

void StripSource::addSlots(KernelSignature &signature,
                           MutableArrayRef<Value> operands, int64_t xBytes,
                           int64_t widest) const {
  for (const Part &part : parts) {
    size_t count = part.countArguments();
    part.source.addSlots(signature, operands.take_front(count), xBytes, widest);
    operands = operands.drop_front(count);
  }
}

} // namespace blockscale
