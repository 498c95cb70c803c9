//===- GlobalPrologue.cpp - Global values that kernels compute ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalPrologue.h"
#include "DeviceEmission/AmaxRaise.h"
#include "DeviceEmission/DeviceCode.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// Bytes of an access to parts, and the numbers that it has.
static constexpr int64_t kPartAccessBytes = 16;
static constexpr int64_t kPartsPerAccess = kPartAccessBytes / kWordBytes;

LogicalResult verifyChain(QuantizeOp quantize) {
  if (GlobalChain::find(quantize).isEmpty() ||
      quantize.getX().getType().getShape().back() != 0)
    return success();
  return quantize.emitOpError("expected elements where the kernel computes its "
                              "global operand, but got ")
         << quantize.getX().getType();
}

GlobalPrologue::GlobalPrologue(GlobalChain chain) {
  if (chain.amax)
    parts = chain.amax.getX().getType().getDimSize(1);
  if (!chain.scale)
    return;
  recipe = chain.scale.getArithmetic();
  givesScale = chain.takesScale;
  kind = chain.scale.getAmaxKind();
}

int64_t GlobalPrologue::getAlignment() const {
  return parts == 0 ? kWordBytes : kPartAccessBytes;
}

std::string GlobalPrologue::getName() const {
  std::string name;
  if (recipe)
    name += givesScale
                ? "_from_amax"
                : "_and_" + std::string(numerics::getName(*recipe)) + "_scale";
  if (parts != 0)
    name += "_of_" + std::to_string(parts);
  return name;
}

/// The largest of the parts, of which each thread has some.
Lanes GlobalPrologue::emitAmax(KernelBuilder &b, Lanes thread, int64_t warps,
                               Value source) const {
  if (parts == 0)
    return b.load(b.getF32Type(), source, sizeof(float));
  int64_t perRound = warps * kWarpThreads * kPartsPerAccess;
  Lanes first = thread * kPartsPerAccess;
  SmallVector<Value> words;
  for (int64_t at = 0; at < parts; at += perRound)
    llvm::append_range(words, llvm::to_vector_of<Value>(emitLoadWords(
                                  b,
                                  b.offset(source, b.getI32Type(),
                                           first + static_cast<uint32_t>(at)),
                                  kPartAccessBytes, kPartAccessBytes)));
  Lanes largest(b, reduceInTree(words, [&](Value x, Value y) -> Value {
                  return maxUnsigned(Lanes(b, x), Lanes(b, y));
                }));
  Value partial = createSharedArray(b, "amax", b.getI32Type(), warps);
  return b.toFloat(emitBlockMaximum(b, largest, thread, warps, partial));
}

GlobalPrologue::Values GlobalPrologue::emit(KernelBuilder &b, Lanes thread,
                                            Lanes block, int64_t warps,
                                            const Operands &operands) const {
  Lanes amax = emitAmax(b, thread, warps, operands.source);
  Lanes scale = amax;
  if (recipe)
    scale = numerics::getDecodeScale(*recipe, numerics::readGlobal(kind, amax));
  Values values{givesScale ? scale : amax, scale};
  if (!operands.storedAmax && !operands.storedScale)
    return values;
  Lanes isFirst = isBelow(thread, 1) & isBelow(block, 1);
  for (gpu::Dimension dim : {gpu::Dimension::y, gpu::Dimension::z})
    isFirst = isFirst & isBelow(Lanes(b, gpu::BlockIdOp::create(b, dim)), 1);
  emit::emitIf(b, isFirst, [&] {
    if (operands.storedAmax)
      b.store(amax, operands.storedAmax, sizeof(float));
    if (operands.storedScale)
      b.store(scale, operands.storedScale, sizeof(float));
  });
  return values;
}

} // namespace blockscale
