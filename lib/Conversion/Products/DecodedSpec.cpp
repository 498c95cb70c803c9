//===- DecodedSpec.cpp - Kernels that decode an operand -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedSpec.h"

namespace blockscale::products {

// Products share A.
DecodedTile::DecodedTile(const DecodedSpec &spec)
    : plainRows(spec.getPlainRows()), scaledRows(spec.getScaledRows()),
      plainOwners(spec.format.isScaledA ? spec.products : 1),
      scaledOwners(spec.format.isScaledA ? 1 : spec.products),
      plainRowsOfEach(plainRows / plainOwners),
      scaledRowsOfEach(scaledRows / scaledOwners),
      bandsOfEach(llvm::divideCeil(scaledRowsOfEach, kTileRows)) {}

DecodedLayout::DecodedLayout(const DecodedSpec &spec, int64_t scaleTiles,
                             int64_t sumPart) {
  DecodedTile tile(spec);
  plainBytes = spec.getPlainSteps() * tile.plainRows * kPlainStepBytes;
  codeBytes =
      spec.getStageSteps() * tile.scaledRows * spec.format.getCodeBytes();
  scaleBytes =
      spec.format.hasScales ? tile.scaledOwners * scaleTiles * kTileBytes : 0;
  // What is swizzled comes first: its stages begin at multiples of 1024.
  plain = take(spec.schedule.getStages() * plainBytes);
  codes = take(spec.getCodeStages() * codeBytes);
  scales = take(spec.getCodeStages() * scaleBytes);
  bool isScaledA = spec.format.isScaledA;
  sumRows = isScaledA ? tile.scaledRows : sumPart;
  sumCols = isScaledA ? sumPart : tile.scaledRows;
  // Threads of a warp store sums of eight rows with scales and of four plain
  // ones, two apart, to different banks. A first operand without scales leaves
  // memory for another stage instead.
  sumPitch = sumCols + (isScaledA && spec.format.hasScales ? 8 : 4);
  sumBytes = sumRows * sumPitch * kWordBytes;
}

double countOperandBytes(const AssumedSizes &sizes,
                         const DecodedFormat &format) {
  double scaledRows = format.isScaledA ? sizes.rows : sizes.cols;
  double plainRows = format.isScaledA ? sizes.cols : sizes.rows;
  double scaledBytes = format.getBits() / 8.0;
  if (format.hasScales)
    scaledBytes += 1.0 / static_cast<double>(format.block);
  return sizes.matrices * sizes.depth *
         (scaledRows * scaledBytes + plainRows * 2);
}

} // namespace blockscale::products
