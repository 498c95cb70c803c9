//===- QuantizeArguments.cpp - Arguments of a quantize kernel -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeArguments.h"
#include "DeviceEmission/ScaleStore.h"
#include "ThreadMapping.h"
#include "blockscale/Numerics/DataLayout.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

int64_t getAccessBytes(const target::Chip &chip) {
  return chip.hasWideGlobalAccess() ? 32 : 16;
}

int64_t getLoadBytes(const QuantizeSpec &spec, int64_t accessBytes) {
  // In a row without a tail, blocks are at least as wide as any access.
  if (spec.getTailElements() == 0)
    return accessBytes;
  return std::gcd(spec.rowElements * spec.getInputBytes(), accessBytes);
}

int64_t getDataStoreBytes(const QuantizeSpec &spec, int64_t accessBytes) {
  return spec.isPrepacked ? numerics::kFragmentThreadBytes
                          : std::gcd(spec.getRowBytes(), accessBytes);
}

int64_t getDecodedStoreBytes(const QuantizeSpec &spec, int64_t accessBytes) {
  return std::gcd(spec.getDecodedRowBytes(), accessBytes);
}

int64_t getScaleStoreBytes(const QuantizeSpec &spec, int64_t fragmentBlocks) {
  if (spec.groupedTiles)
    return kTileCols;
  return spec.swizzled ? fragmentBlocks
                       : std::gcd(spec.getBlocksPerRow(), fragmentBlocks);
}

GroupEnds getGroupEnds(KernelBuilder &b, const QuantizeSpec &spec,
                       const QuantizeOperands &arguments) {
  emit::Lanes extent = spec.groupDim == GroupDim::Columns
                           ? b.i64(spec.rowElements)
                           : arguments.rows;
  return {arguments.offsets, arguments.groups, extent, spec.getGroupUnit()};
}

void addQuantizeSlots(KernelSignature &signature, QuantizeOperands &operands,
                      const QuantizeSpec &spec, const target::Chip &chip) {
  int64_t accessBytes = getAccessBytes(chip);
  int64_t loadBytes = getLoadBytes(spec, accessBytes);
  int64_t fragmentBlocks = ThreadMapping(spec, chip).fragmentBlocks;
  if (spec.source->isMemory() && !spec.ownsRows())
    signature.add(operands.x, loadBytes);
  signature.add(operands.data, getDataStoreBytes(spec, accessBytes));
  signature.add(operands.scale, getScaleStoreBytes(spec, fragmentBlocks));
  if (spec.decoding)
    signature.add(operands.decoded, getDecodedStoreBytes(spec, accessBytes));
  signature.add(operands.global, spec.globalPrologue.getAlignment());
  signature.add(operands.storedAmax, sizeof(float));
  signature.add(operands.storedScale, sizeof(float));
  signature.add(operands.blockAmax, sizeof(float));
  signature.add(operands.rng, sizeof(int64_t));
  signature.add(operands.offsets, sizeof(int32_t));
  signature.add(operands.rows);
  if (spec.batched)
    signature.add(operands.matrices);
  signature.add(operands.groups);
  signature.add(operands.tiles);
  if (!spec.source->isMemory())
    spec.source->addSlots(signature, operands.inputs, loadBytes, accessBytes);
}

} // namespace blockscale
