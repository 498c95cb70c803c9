//===- PanelQuantizer.h - Quantization in blocks of rows --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of several rows: columns and squares. An item is a panel of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELQUANTIZER_H

#include "CodeBuffer.h"
#include "PanelScales.h"
#include "QuantizeSpec.h"

namespace blockscale::cpu {

using namespace emit;

/// The number of items of a matrix of rows x cols elements.
mlir::Value countPanelItems(mlir::ImplicitLocOpBuilder &b, mlir::Value rows,
                            mlir::Value cols);

void emitPanelItems(const QuantizeSpec &spec, const ItemRange &range);

/// Emits the quantization of panels of one kernel.
class PanelQuantizer {
public:
  /// Allocates the buffers.
  explicit PanelQuantizer(const QuantizeSpec &spec);

  void emitPanel(const Panel &panel, const ScaleMatrix &scaleMatrix,
                 const GlobalFactors &global);

  void emitFree();

private:
  mlir::ImplicitLocOpBuilder &b;
  BandForm form;
  BandQuantizer band;
  CodeBuffer codes;
  PanelScales scales;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELQUANTIZER_H
