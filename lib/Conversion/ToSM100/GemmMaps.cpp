//===- GemmMaps.cpp - Tensor maps of scales -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmMaps.h"
#include "GemmLayout.h"
#include "Products/OperandData.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::gemm {

/// Dimensions of a tile of scales in memory.
static constexpr int64_t kScaleTileRank = std::size(numerics::kTileShape);

Value createScaleMap(LaunchSite &site, const ScaledGemmSpec &spec,
                     Value scale) {
  ImplicitLocOpBuilder &b = site.b;
  Value memory = site.lookup(scale);
  requireAlignment(b, memory, kCopyBytes);
  constexpr int64_t quarters = kTileBytes / kRowBytes;
  Value rows = emit::getIndex(b, quarters);
  int64_t leading =
      cast<MemRefType>(memory.getType()).getRank() - kScaleTileRank;
  for (int64_t dim = 0; dim < leading; ++dim)
    rows = emit::mul(b, rows, emit::getDim(b, memory, dim));
  Value row = emit::getIndex(b, kRowBytes);
  Value dims[] = {row, atLeast(b, rows, 1)};
  return TensorMapOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()),
      getGlobalPointer(b, memory), dims, ValueRange{row},
      ArrayRef<int64_t>{kRowBytes, spec.format.getScaleTiles() * quarters},
      MapElement::UInt8, /*swizzle=*/0);
}

} // namespace blockscale::gemm
