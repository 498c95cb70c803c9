//===- CodeBuffer.h - Codes on their way to memory --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes lie in the order of x, padding included, until they are stored without
// it: rows as they are, one at a time, or transposed, all of a panel at once,
// so that what a row of the result gets is contiguous.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_CODEBUFFER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_CODEBUFFER_H

#include "BandQuantizer.h"
#include "Panel.h"

namespace blockscale::cpu {

using namespace emit;

class CodeBuffer {
public:
  /// `data` has the elements of x, or their transpose.
  CodeBuffer(mlir::ImplicitLocOpBuilder &b, mlir::Value data,
             const BandForm &form, bool transposed);

  /// The row of the buffer that the codes of row `row` of the panel go to, with
  /// those of the rows that share bytes with it.
  BufferRow getRow(mlir::Value row) const;

  /// Stores row `row` of the panel, whose codes are complete, unless data is
  /// transposed.
  void emitRowDone(const Panel &panel, mlir::Value row);
  /// Stores the panel, whose codes are all complete, if data is transposed.
  void emitPanelDone(const Panel &panel);

  void emitFree();

private:
  void emitTransposeRows(mlir::Value firstCol, mlir::Value rows);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Value data;
  BandForm form;
  bool transposed;
  mlir::Value buffer;
  /// A few rows of the transposed buffer.
  mlir::Value columns;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_CODEBUFFER_H
