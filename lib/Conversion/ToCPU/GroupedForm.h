//===- GroupedForm.h - Where groups and their scales lie --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantization with offsets is cut in pieces, each of one group, and these
// across the groups in whatever a walk takes. Where the scales have a grouped
// layout a piece is what one row or column of a group's tiles covers, so that a
// tile has one writer.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDFORM_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDFORM_H

#include "Emission/GroupLoop.h"
#include "QuantizeSpec.h"
#include "ScaleAddress.h"

namespace blockscale::cpu {

using namespace emit;

class GroupedForm {
public:
  /// Linear scales are cut in pieces of `pieceSize` elements, a multiple of the
  /// block.
  GroupedForm(const QuantizeSpec &spec, int64_t pieceSize);

  /// The groups, in blocks along the dimension.
  const GroupedDim &getDim() const { return dim; }

  bool hasLayout() const { return spec.hasLayout(); }
  bool isGroupedLayout() const { return spec.hasGroupTiles; }
  /// Whether groups run down the rows of x, of the data, of the scales.
  bool alongRows() const { return spec.groupDim == 0; }
  bool alongDataRows() const { return alongRows() != spec.transposed; }
  bool alongScaleRows() const { return form[0].dim == spec.groupDim; }

  /// A number of blocks along the groups in elements, and in scales.
  mlir::Value toElements(mlir::Value blocks) const;
  mlir::Value toScales(mlir::Value blocks) const;
  /// Elements of x across the groups.
  mlir::Value getAcross() const { return across; }
  mlir::Value getScaleRows() const { return scaleRows; }
  mlir::Value getScaleCols() const { return scaleCols; }

  /// An upper bound of the number of pieces of all groups, as large as the
  /// buffer of a grouped layout.
  mlir::Value getPieceCount() const;
  /// Tiles that a row or column of tiles of a group has.
  mlir::Value getTilesAcross() const;

  /// The scales of a group, addressed as those of the whole matrix.
  ScaleMatrix getScales(const Group &group) const;

private:
  const QuantizeSpec &spec;
  mlir::ImplicitLocOpBuilder &b;
  const ScaleForm &form;
  GroupedDim dim;
  mlir::Value across, scaleRows, scaleCols;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDFORM_H
