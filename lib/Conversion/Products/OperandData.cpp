//===- OperandData.cpp - Data of operands on their way --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandData.h"
#include "AlignedRows.h"
#include "Emission/OperandChecks.h"
#include "WidenKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::products {

Value atLeast(ImplicitLocOpBuilder &b, Value size, int64_t least) {
  return emit::max(b, size, emit::getIndex(b, least));
}

OperandData getData(const HostOperand &operand, int64_t bits) {
  LaunchSite &site = operand.site;
  Value rows = operand.rows, depth = emit::toIndex(site.b, operand.depth);
  if (operand.isMnMajor)
    std::swap(rows, depth);
  OperandData data = {site.lookup(operand.data), bits, operand.matrices, rows,
                      depth};
  data.inner = operand.inner;
  data.outer = operand.outer;
  return data;
}

OperandData getAlignedData(const HostOperand &operand, int64_t bits) {
  OperandData data = getData(operand, bits);
  Value allRows = emit::mul(operand.site.b, data.matrices, data.rows);
  OpFoldResult length = operand.depth;
  if (operand.isMnMajor)
    length = getAsOpFoldResult(data.depth);
  AlignedRows aligned =
      alignRows(operand.site, data.memory, bits, allRows, length);
  data.memory = aligned.memory;
  data.pitch = aligned.pitch;
  data.isWorkspace = aligned.isWorkspace;
  return data;
}

void addMap(LaunchSite &site, const GemmSpec &spec, OperandData &data,
            const MapBox &box) {
  ImplicitLocOpBuilder &b = site.b;
  requireAlignment(b, data.memory, box.isPadded ? 2 * kCopyBytes : kCopyBytes);
  Value elements = data.depth, rows = data.rows, matrices = data.matrices;
  if (spec.mayBeEmptySum && !data.pitch)
    elements = atLeast(b, elements, box.multiple);
  if (spec.groups != GroupDim::None)
    matrices = atLeast(b, matrices, 1);
  if (spec.hasRest())
    rows = atLeast(b, rows, 1);
  // Without K there are no rows, and without rows of results no elements.
  if (box.isMnMajor) {
    if (!data.pitch)
      elements = atLeast(b, elements, box.multiple);
    rows = atLeast(b, rows, 1);
  }
  Value bytes = data.bits < 8 ? emit::div(b, elements, 8 / data.bits)
                              : emit::mul(b, elements, data.bits / 8);
  Value pitch = data.pitch ? data.pitch : bytes;
  SmallVector<Value> dims = {box.isPadded ? elements : bytes, rows};
  SmallVector<Value> strides;
  SmallVector<int64_t> sizes = {box.rowBytes, box.rows};
  if (data.inner) {
    // Rows of a matrix are as many rows of memory apart.
    Value between = emit::mul(b, data.inner, pitch);
    dims.append({data.inner, data.outer});
    strides = {between, pitch, emit::mul(b, rows, between)};
  } else {
    dims.push_back(matrices);
    strides = {pitch, emit::mul(b, rows, pitch)};
  }
  sizes.resize(dims.size(), 1);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  data.map = TensorMapOp::create(
      b, pointer, getGlobalPointer(b, data.memory), dims, strides, sizes,
      box.isPadded ? MapElement::U4Padded : MapElement::UInt8,
      /*swizzle=*/box.rowBytes);
}

OperandData getScaledData(const HostOperand &operand,
                          const ScaledGemmSpec &spec, int64_t boxRows) {
  ImplicitLocOpBuilder &b = operand.site.b;
  const GemmFormat &format = spec.format;
  numerics::ElementFormat own = operand.isA ? format.a : format.b;
  numerics::ElementFormat stored = emit::getElementFormat(operand.data);
  int64_t bits = numerics::getFormatInfo(own).storageBits;
  OperandData data;
  if (stored == own) {
    data = getAlignedData(operand, bits);
  } else {
    data = getData(operand, bits);
    Value allRows = emit::mul(b, data.matrices, data.rows);
    data.memory = launchWiden(operand.site, data.memory, stored,
                              emit::mul(b, allRows, data.depth));
    data.isWorkspace = true;
  }
  addMap(operand.site, spec, data,
         {boxRows, format.getRowBytes(), format.getRowMultiple(),
          format.isPadded(own)});
  return data;
}

} // namespace blockscale::products
