//===- ProductEpilogue.cpp - From sums to a product's results -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductEpilogue.h"
#include "Emission/FloatCodec.h"
#include "Emission/KernelOperands.h"

using namespace mlir;

namespace blockscale::cpu {

static Type getElement(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

/// The product of the global scales for `count` results of a row, one f32 where
/// they share it; null if both are absent.
static Value emitFactor(ImplicitLocOpBuilder &b,
                        const ProductEpilogue &epilogue, const ResultRow &place,
                        int64_t count) {
  const GlobalFactor &a = epilogue.a;
  Indices rowOfA = a.extent == GlobalExtent::Row
                       ? append(place.element, place.row)
                       : place.element;
  Value left = loadGlobal(b, a.value, rowOfA);
  Value right = epilogue.b.extent == GlobalExtent::Row
                    ? toF32(loadLanes(b, epilogue.b.value,
                                      append(place.element, place.col), count))
                    : loadGlobal(b, epilogue.b.value, place.element);
  if (!left || !right)
    return left ? left : right;
  Lanes rightLanes(b, right);
  return broadcast(Lanes(b, left), rightLanes) * rightLanes;
}

static Lanes loadBias(ImplicitLocOpBuilder &b, Value bias,
                      const ResultRow &place, int64_t count) {
  bool isPerElement = cast<MemRefType>(bias.getType()).getRank() > 1;
  Indices indices = isPerElement ? place.element : Indices();
  indices.push_back(place.col);
  return emitDecodeFloat(getElement(bias), loadLanes(b, bias, indices, count));
}

void emitStoreResults(ImplicitLocOpBuilder &b, const ProductEpilogue &epilogue,
                      Lanes sums, const ResultRow &place) {
  Type type = getElement(epilogue.result);
  Value factor = emitFactor(b, epilogue, place, sums.getCount());
  bool rounds = epilogue.scalesAfterRounding && factor && !type.isF32();
  auto round = [&](Lanes x) {
    return rounds ? emitDecodeFloat(type, emitEncodeFloat(type, x)) : x;
  };
  Lanes y = round(sums);
  if (factor) {
    Lanes lanes(b, factor);
    if (!isa<VectorType>(factor.getType()))
      lanes = broadcast(lanes, y);
    y = round(y * round(lanes));
  }
  if (epilogue.bias)
    y = y + loadBias(b, epilogue.bias, place, sums.getCount());
  storeLanes(emitEncodeFloat(type, y), epilogue.result,
             append(place.prefix, {place.row, place.col}));
}

} // namespace blockscale::cpu
