//===- QuantizeArguments.cpp - Arguments of a quantize kernel -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeArguments.h"
#include "DeviceEmission/ScaleStore.h"
#include "ThreadMapping.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

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
  return std::gcd(spec.getRowBytes(), accessBytes);
}

int64_t getScaleStoreBytes(const QuantizeSpec &spec, int64_t chunkBlocks) {
  if (spec.groupedTiles)
    return kTileCols;
  return spec.swizzled ? chunkBlocks
                       : std::gcd(spec.getBlocksPerRow(), chunkBlocks);
}

SmallVector<QuantizeArgument> getQuantizeArguments(MLIRContext *context,
                                                   const QuantizeSpec &spec,
                                                   const target::Chip &chip) {
  // NVPTX address space 1 is global memory.
  Type pointer = LLVM::LLVMPointerType::get(context, /*addressSpace=*/1);
  Type size = IntegerType::get(context, 64);
  Type f32 = Float32Type::get(context);
  int64_t accessBytes = getAccessBytes(chip);
  int64_t chunkBlocks = ThreadMapping(spec, chip).chunkBlocks;
  SmallVector<QuantizeArgument> arguments;
  if (spec.source->isMemory() && !spec.ownsRows())
    arguments.push_back(
        {&QuantizeOperands::x, pointer, getLoadBytes(spec, accessBytes)});
  arguments.push_back(
      {&QuantizeOperands::data, pointer, getDataStoreBytes(spec, accessBytes)});
  arguments.push_back({&QuantizeOperands::scale, pointer,
                       getScaleStoreBytes(spec, chunkBlocks)});
  if (spec.globalByValue)
    arguments.push_back({&QuantizeOperands::global, f32});
  else if (spec.globalKind != GlobalKind::Absent)
    arguments.push_back({&QuantizeOperands::global, pointer, sizeof(float)});
  if (spec.amaxIsGiven)
    arguments.push_back({&QuantizeOperands::blockAmax, pointer, sizeof(float)});
  if (spec.stochastic)
    arguments.push_back({&QuantizeOperands::rng, pointer, sizeof(int64_t)});
  if (spec.groupDim != GroupDim::None)
    arguments.push_back({&QuantizeOperands::offsets, pointer, sizeof(int32_t)});
  arguments.push_back({&QuantizeOperands::rows, size});
  if (spec.batched)
    arguments.push_back({&QuantizeOperands::matrices, size});
  if (spec.groupDim != GroupDim::None)
    arguments.push_back({&QuantizeOperands::groups, size});
  if (spec.groupedTiles)
    arguments.push_back({&QuantizeOperands::tiles, size});
  return arguments;
}

} // namespace blockscale
