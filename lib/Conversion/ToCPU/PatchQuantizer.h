//===- PatchQuantizer.h - Quantization in blocks of rows --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of several rows: columns and squares. An item is a patch of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PATCHQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PATCHQUANTIZER_H

#include "CodeBuffer.h"
#include "Kernels.h"
#include "PatchScales.h"

namespace blockscale::cpu {

using namespace emit;

/// The number of items of a matrix of rows x cols elements.
mlir::Value countPatchItems(mlir::ImplicitLocOpBuilder &b, mlir::Value rows,
                            mlir::Value cols);

void emitPatchItems(QuantizeOp op, const ItemRange &range);

/// Emits the quantization of patches of one kernel.
class PatchQuantizer {
public:
  /// Allocates the buffers.
  PatchQuantizer(QuantizeOp op, const ItemRange &range);

  void emitPatch(const Patch &patch, const ScaleMatrix &scaleMatrix,
                 const GlobalFactors &global);

  void emitFree();

private:
  mlir::ImplicitLocOpBuilder &b;
  BandForm form;
  BandQuantizer band;
  CodeBuffer codes;
  PatchScales scales;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PATCHQUANTIZER_H
