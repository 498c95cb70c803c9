//===- WgmmaFormat.cpp - Formats that wgmma multiplies --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WgmmaFormat.h"

namespace blockscale::gemm {

std::optional<WgmmaFormat> WgmmaFormat::find(const Product &product) {
  std::optional<DecodedFormat> format = DecodedFormat::find(product);
  if (!format)
    return std::nullopt;
  return WgmmaFormat{*format};
}

/// Steps of a stage. Where a tile has few rows, steps are short and stages
/// small: one wait for two or four steps costs less, and copies, of which a
/// thread cannot begin many, bring longer rows of codes.
static int64_t chooseStageSteps(int64_t plainRows, int64_t scaledRows) {
  if (plainRows <= kManyTeamsRows && scaledRows == kWarpgroupRows)
    return 4;
  return plainRows <= 128 ? 2 : 1;
}

WgmmaSpec::WgmmaSpec(const WgmmaFormat &format, GemmScheduleAttr schedule,
                     const target::Chip &chip)
    : GemmSpec{format.getName(), format.block, /*stageElements=*/0, schedule},
      chip(&chip), format(format) {
  stageElements =
      chooseStageSteps(getPlainRows(), getScaledRows()) * kStepElements;
}

} // namespace blockscale::gemm
