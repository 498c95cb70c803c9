//===- GemmSchedule.cpp - Choice of a schedule ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmSchedule.h"
#include "GemmLayout.h"
#include "blockscale/Target/Gpu.h"

using namespace mlir;

namespace blockscale::sm100 {

GemmScheduleAttr chooseSchedule(MLIRContext *context, const GemmFormat &format,
                                int64_t cols, const target::Chip &chip) {
  constexpr int64_t rows = 128, narrow = 128, wide = 256, band = 8;
  bool isNarrow = !ShapedType::isDynamic(cols) && cols <= narrow;
  int64_t tileCols = isNarrow ? narrow : wide;
  return GemmScheduleAttr::get(
      context, rows, tileCols,
      SharedLayout::getMaxStages(format, rows, tileCols), band,
      target::findGpu(chip.gpu)->multiprocessors);
}

} // namespace blockscale::sm100
