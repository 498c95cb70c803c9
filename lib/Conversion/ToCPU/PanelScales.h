//===- PanelScales.h - Scales of a panel on their way to memory -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scales of a panel are collected a band a row, and then stored in the form
// that the result has: as they are, with rows repeated, or transposed; linear
// or in tiles, which get their padding here.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELSCALES_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELSCALES_H

#include "BandQuantizer.h"
#include "Panel.h"
#include "ScaleAddress.h"
#include "blockscale/IR/ScaleForm.h"

namespace blockscale::cpu {

using namespace emit;

class PanelScales {
public:
  /// Allocates the buffers for a result of form `scaleForm`, whose blocks have
  /// `blockRows` rows.
  PanelScales(mlir::ImplicitLocOpBuilder &b, const ScaleForm &scaleForm,
              int64_t blockRows);

  /// Columns of x that have a scale byte of their own here.
  static int64_t getScaleCols(const ScaleForm &scaleForm);

  /// The row of the buffer that the scales of band `band` of the panel go to.
  BufferRow getBand(mlir::Value band) const { return {buffer, band}; }

  /// Stores the scales of the panel to `scales`, once all of them are complete.
  void emitPanelDone(const Panel &panel, const ScaleMatrix &scales);

  void emitFree();

private:
  /// Rows and columns of the scale result.
  struct Extents {
    mlir::Value rows;
    mlir::Value cols;
  };

  void emitClearPadding(const Panel &panel);
  void emitTranspose();
  /// `count` scales of a row of the result, from those of the panel.
  Lanes emitLoad(mlir::Value row, mlir::Value col, int64_t count) const;
  void emitStoreLinear(const ScaleMatrix &scales, const Extents &first,
                       const Extents &extents);
  void emitStoreTiles(const ScaleMatrix &scales, const Extents &first,
                      const Extents &extents);

  mlir::ImplicitLocOpBuilder &b;
  ScaleForm form;
  /// Sizes of the buffer, and the rows of the result for each of its rows.
  int64_t bands, width, repeats;
  mlir::Value buffer;
  /// A buffer of the same scales, one column after the other; null unless the
  /// result needs it.
  mlir::Value transposed;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELSCALES_H
