//===- RowPairs.cpp - Products of pairs of bf16 of a row ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPairs.h"
#include "blockscale/Conversion/BF16Products.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Codes of an i16 word.
static constexpr int64_t kCodesPerWord = 4, kBitsOfCode = 4;

/// Lanes of a sum.
static constexpr int64_t kSumLanes = kBF16Words / 2;

bool RowPairs::suits(const ProductNumbers &numbers, Type elementOfA,
                     numerics::ElementFormat format) {
  return numbers.mayBePairs(elementOfA) && !numerics::isFixedPoint(format);
}

RowPairs::RowPairs(ImplicitLocOpBuilder &b, numerics::ElementFormat format,
                   Value depth)
    : b(b), format(format), hasProducts(CpuFunction::createHasBF16Products(b)),
      addProducts(CpuFunction::createAddBF16Products(b)),
      decode(CpuFunction::createDecodeToBF16(b, format)),
      ordered(allocate(b, {ShapedType::kDynamic}, b.getI16Type(), depth)) {}

void RowPairs::emitFree() { memref::DeallocOp::create(b, ordered); }

int64_t RowPairs::getStepElements() const {
  return packed() ? 2 * kBF16Bytes : kBF16Bytes;
}

Value RowPairs::createZeroSum() const {
  auto type = VectorType::get({kSumLanes}, b.getF32Type());
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

void RowPairs::emitOrder(Value numbersOfRow, Value first) {
  Lanes bits = loadLanes(b, numbersOfRow, first, getStepElements());
  Lanes words = truncate(bits >> 16, 16);
  if (!packed())
    return storeLanes(orderUnpacked(words), ordered, first);
  for (auto [code, part] :
       llvm::enumerate(splitByResidue(words, kCodesPerWord)))
    storeLanes(part, ordered, {add(b, first, getIndex(b, code * kBF16Words))});
}

Lanes RowPairs::emitAddStep(Lanes bytes, Value first, Lanes scales,
                            Lanes sum) const {
  SmallVector<Lanes> elements;
  if (packed()) {
    Lanes words = bitcastLanes(bytes, b.getI16Type());
    for (int64_t code = 0; code < kCodesPerWord; ++code)
      elements.push_back(
          decode.emitCall(b, Value(words >> (code * kBitsOfCode))));
  } else {
    auto [low, high] = splitHalves(decode.emitCall(b, Value(bytes)));
    elements = {low, high};
  }
  Lanes partial(b, createZeroSum());
  for (auto [i, element] : llvm::enumerate(elements)) {
    Lanes row = loadLanes(
        b, ordered, {add(b, first, getIndex(b, i * kBF16Words))}, kBF16Words);
    partial = addProducts.emitCall(b, {partial, row, element});
  }
  Lanes factors = repeatLanes(scales, kSumLanes / scales.getCount());
  return Lanes(b, vector::FMAOp::create(b, partial, factors, sum));
}

} // namespace blockscale::cpu
