//===- BlockDecoder.cpp - Code that reads data and scales -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecoder.h"
#include "CodecEmitter.h"

using namespace mlir;

namespace blockscale::cpu {

static bool isPacked(numerics::ElementFormat format) {
  return numerics::getFormatInfo(format).storageBits == 4;
}

Lanes emitLoadElements(ImplicitLocOpBuilder &b, Value data,
                       numerics::ElementFormat format, ValueRange row,
                       Value col, int64_t count) {
  if (!isPacked(format))
    return emitDecode(format,
                      extend(loadLanes(b, data, append(row, col), count), 32));
  Lanes bytes = loadLanes(b, data, append(row, div(b, col, 2)), count / 2);
  Lanes codes = interleave(bytes & 0xF, bytes >> 4);
  return emitDecode(format, extend(codes, 32));
}

Lanes emitLoadElement(ImplicitLocOpBuilder &b, Value data,
                      numerics::ElementFormat format, ValueRange row,
                      Value col) {
  if (!isPacked(format))
    return emitDecode(format, extend(loadBits(b, data, append(row, col)), 32));
  Lanes byte = extend(loadBits(b, data, append(row, div(b, col, 2))), 32);
  Lanes isOdd = compare(arith::CmpIPredicate::ne, Lanes(b, rem(b, col, 2)), 0);
  return emitDecode(format, select(isOdd, byte >> 4, byte & 0xF));
}

void emitDecodeScaleRow(ImplicitLocOpBuilder &b, const ScaleMatrix &scales,
                        numerics::ScaleFormat format, Value row, Value first,
                        Value count, Value values,
                        function_ref<Lanes(Lanes)> transform) {
  emitLoop(b, getIndex(b, 0), count, [&](Value i) {
    Indices indices = scales.getIndices(row, add(b, first, i));
    Lanes byte = extend(loadBits(b, scales.getMemRef(), indices), 32);
    Lanes scale = emitDecodeScale(format, byte);
    storeBits(toBits(transform ? transform(scale) : scale), values, i);
  });
}

} // namespace blockscale::cpu
