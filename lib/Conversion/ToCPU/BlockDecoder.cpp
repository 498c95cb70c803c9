//===- BlockDecoder.cpp - Code that reads data and scales -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecoder.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;

namespace blockscale::cpu {

static bool isPacked(numerics::ElementFormat format) {
  return numerics::getFormatInfo(format).storageBits == 4;
}

Lanes emitLoadElements(ImplicitLocOpBuilder &b, Value data,
                       numerics::ElementFormat format, ValueRange row,
                       Value col, int64_t count) {
  if (!isPacked(format))
    return numerics::decodeBits(
        format, extend(loadLanes(b, data, append(row, col), count), 32));
  Lanes bytes = loadLanes(b, data, append(row, div(b, col, 2)), count / 2);
  Lanes codes = interleave(bytes & 0xF, bytes >> 4);
  return numerics::decodeBits(format, extend(codes, 32));
}

Lanes emitLoadElement(ImplicitLocOpBuilder &b, Value data,
                      numerics::ElementFormat format, ValueRange row,
                      Value col) {
  if (!isPacked(format))
    return numerics::decodeBits(
        format, extend(loadBits(b, data, append(row, col)), 32));
  Lanes byte = extend(loadBits(b, data, append(row, div(b, col, 2))), 32);
  Lanes isOdd = compare(arith::CmpIPredicate::ne, Lanes(b, rem(b, col, 2)), 0);
  return numerics::decodeBits(format, select(isOdd, byte >> 4, byte & 0xF));
}

/// Scales of a linear row that are decoded in a step.
static constexpr int64_t kScalesPerStep = 16;

Value allocateScaleRow(ImplicitLocOpBuilder &b, Value count) {
  return allocate(b, {ShapedType::kDynamic}, b.getF32Type(),
                  roundUp(b, count, numerics::kTileCols));
}

void emitDecodeScaleRow(ImplicitLocOpBuilder &b, const ScaleMatrix &scales,
                        numerics::ScaleFormat format, Value row, Value first,
                        Value count, Value values,
                        function_ref<Lanes(Lanes)> transform) {
  auto emitStep = [&](Value i, int64_t lanes) {
    Indices indices = scales.getIndices(row, add(b, first, i));
    Lanes bytes = loadLanes(b, scales.getMemRef(), indices, lanes);
    Lanes decoded = numerics::decodeScaleBits(format, extend(bytes, 32));
    storeLanes(toBits(transform ? transform(decoded) : decoded), values, i);
  };
  if (scales.isLinear())
    return emitUnitSteps(b, count, kScalesPerStep, emitStep);
  int64_t step = scales.beginsTile(first) ? numerics::kTileCols : 1;
  emitLoop(b, getIndex(b, 0), count, [&](Value i) { emitStep(i, step); }, step);
}

} // namespace blockscale::cpu
