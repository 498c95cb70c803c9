//===- OperandData.cpp - Data of operands with scales ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandData.h"
#include "AlignedRows.h"
#include "Emission/OperandChecks.h"
#include "ScaledClauses.h"
#include "WidenKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::gemm {

OperandData getOperandData(LaunchSite &site, Value data,
                           numerics::ElementFormat format, Value matrices,
                           Value rows, OpFoldResult depth) {
  ImplicitLocOpBuilder &b = site.b;
  numerics::ElementFormat stored = emit::getElementFormat(data);
  Value memory = site.lookup(data);
  Value allRows = emit::mul(b, matrices, rows);
  Value elements = emit::toIndex(b, depth);
  if (stored != format) {
    memory = launchWiden(site, memory, stored, emit::mul(b, allRows, elements));
    return {memory,
            format,
            matrices,
            rows,
            elements,
            /*pitch=*/Value(),
            /*isWorkspace=*/true};
  }
  AlignedRows aligned =
      alignRows(site, memory, numerics::getFormatInfo(format).storageBits,
                allRows, depth);
  return {aligned.memory, format,        matrices,           rows,
          elements,       aligned.pitch, aligned.isWorkspace};
}

Value atLeast(ImplicitLocOpBuilder &b, Value size, int64_t least) {
  return emit::max(b, size, emit::getIndex(b, least));
}

Value createDataMap(LaunchSite &site, const ScaledGemmSpec &spec,
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
  int64_t rowBytes = spec.format.getRowBytes();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return TensorMapOp::create(
      b, pointer, getGlobalPointer(b, data.memory), dims, strides,
      ArrayRef<int64_t>{rowBytes, boxRows, 1},
      isPadded ? MapElement::U4Padded : MapElement::UInt8, rowBytes);
}

} // namespace blockscale::gemm
