//===- WgmmaFormat.cpp - Formats that wgmma multiplies --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WgmmaFormat.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscale::gemm {

std::optional<WgmmaFormat> WgmmaFormat::find(const Product &product) {
  if (!product.scaleA == !product.scaleB)
    return std::nullopt;
  bool isScaledA = static_cast<bool>(product.scaleA);
  Type element = (isScaledA ? product.a : product.b).getType().getElementType();
  Type plain = (isScaledA ? product.b : product.a).getType().getElementType();
  Type scale =
      (isScaledA ? product.scaleA : product.scaleB).getType().getElementType();
  numerics::ScaleFormat scaleFormat = getScaleFormat(scale);
  return WgmmaFormat{
      isScaledA,
      getElementFormat(element),
      scaleFormat,
      plain,
      numerics::getBlockFormat(scaleFormat).blockSize,
      isPrepacked((isScaledA ? product.a : product.b).getType())};
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

std::string WgmmaFormat::getName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  auto code = StringRef(numerics::getFormatInfo(element).name);
  if (isScaledA)
    os << code << "_" << plain;
  else
    os << plain << "_" << code;
  os << (scale == numerics::ScaleFormat::E4M3 ? "_e4m3" : "_e8m0");
  if (isPacked)
    os << "_packed";
  return name;
}

} // namespace blockscale::gemm
