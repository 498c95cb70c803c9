//===- GemmMaps.cpp - Tensor maps of operands -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmMaps.h"
#include "GemmClauses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::gemm {

/// Maps have no empty dimensions; of what is empty nothing is loaded.
static Value atLeast(ImplicitLocOpBuilder &b, Value size, int64_t least) {
  return emit::max(b, size, emit::getIndex(b, least));
}

Value createDataMap(LaunchSite &site, const Tcgen05Spec &spec,
                    const OperandData &data, int64_t boxRows) {
  ImplicitLocOpBuilder &b = site.b;
  bool isPadded = spec.format.isPadded(data.format);
  bool isPacked = data.format == numerics::ElementFormat::E2M1;
  requireAlignment(b, data.memory, isPadded ? 2 * kCopyBytes : kCopyBytes);

  Value elements = data.depth, rows = data.rows, matrices = data.matrices;
  if (spec.mayBeEmptySum && !data.pitch)
    elements = atLeast(b, elements, getRowMultiple(spec.format));
  if (spec.groups != GroupDim::None)
    matrices = atLeast(b, matrices, 1);
  if (spec.hasRest())
    rows = atLeast(b, rows, 1);
  Value bytes = isPacked ? emit::div(b, elements, 2) : elements;
  Value dims[] = {isPadded ? elements : bytes, rows, matrices};
  Value pitch = data.pitch ? data.pitch : bytes;
  Value strides[] = {pitch, emit::mul(b, rows, pitch)};
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return TensorMapOp::create(
      b, pointer, getGlobalPointer(b, data.memory), dims, strides,
      ArrayRef<int64_t>{kRowBytes, boxRows, 1},
      isPadded ? MapElement::U4Padded : MapElement::UInt8, kRowBytes);
}

Value createScaleMap(LaunchSite &site, const Tcgen05Spec &spec, Value scale) {
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
