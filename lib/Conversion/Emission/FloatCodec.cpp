//===- FloatCodec.cpp - f32, bf16 and f16 in memory -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatCodec.h"
#include "blockscale/Numerics/Codec.h"

using namespace mlir;

namespace blockscale::emit {

Lanes emitEncodeFloat(Type type, Lanes x) {
  if (type.isF32())
    return toBits(x);
  return truncate(type.isBF16() ? numerics::encodeBF16Bits(x)
                                : numerics::encodeF16Bits(x),
                  16);
}

Lanes emitDecodeFloat(Type type, Lanes bits) {
  if (type.isF32())
    return toF32(bits);
  Lanes wide = extend(bits, 32);
  return type.isBF16() ? toF32(wide << 16) : numerics::decodeF16Bits(wide);
}

Lanes emitMagnitudeBits(Lanes bits) {
  unsigned width = bits.getElementType().getIntOrFloatBitWidth();
  return bits & ((uint64_t(1) << (width - 1)) - 1);
}

} // namespace blockscale::emit
