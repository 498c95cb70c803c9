//===- GemmFormat.cpp - Formats as tensor cores take them -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmFormat.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale::gemm {

std::optional<GemmFormat> GemmFormat::get(ElementFormat a, ElementFormat b,
                                          ScaleFormat scale) {
  using Kind = NVVM::MMABlockScaleKind;
  using Block = NVVM::Tcgen05MMABlockScale;
  auto isKnown = [](ElementFormat format) {
    return format == ElementFormat::E2M1 ||
           (getFormatInfo(format).bits == 8 && !isFixedPoint(format));
  };
  if (!isKnown(a) || !isKnown(b))
    return std::nullopt;
  GemmFormat format{a, b, scale};
  if (scale == ScaleFormat::E4M3) {
    format.kind = Kind::MXF4NVF4;
    format.blockScale = Block::BLOCK16;
    format.block = 16;
    format.stepElements = 64;
  } else {
    bool isPacked = a == ElementFormat::E2M1 && b == ElementFormat::E2M1;
    format.kind = isPacked ? Kind::MXF4 : Kind::MXF8F6F4;
    format.blockScale = Block::BLOCK32;
    format.block = 32;
    format.stepElements = isPacked ? 64 : 32;
  }
  format.stepScales = format.stepElements / format.block;
  return format;
}

/// The format of an operand. The kinds of 4 bits have fewer bits for it, but
/// the same place.
static uint32_t getOperandCode(const GemmFormat &format,
                               ElementFormat operand) {
  if (format.kind != NVVM::MMABlockScaleKind::MXF8F6F4)
    return 1;
  switch (operand) {
  case ElementFormat::E4M3:
    return 0;
  case ElementFormat::E5M2:
    return 1;
  case ElementFormat::E2M3:
    return 3;
  case ElementFormat::E3M2:
    return 4;
  default:
    return 5; // E2M1
  }
}

uint32_t GemmFormat::getDescriptor(int64_t rows, int64_t cols,
                                   int64_t step) const {
  // Which scales of a word of four the step takes.
  auto scaleId = static_cast<uint32_t>(step * stepScales % kTileCols);
  uint32_t hasE8M0 = scale == ScaleFormat::E8M0;
  return scaleId << 4 | getOperandCode(*this, a) << 7 |
         getOperandCode(*this, b) << 10 |
         static_cast<uint32_t>(cols >> 3) << 17 | hasE8M0 << 23 |
         static_cast<uint32_t>(rows >> 4) << 24 | scaleId << 29;
}

std::string GemmFormat::getName() const {
  std::string name;
  for (ElementFormat operand : {a, b})
    name += std::string(getFormatInfo(operand).name) + "_";
  return name + (scale == ScaleFormat::E4M3 ? "e4m3" : "e8m0");
}

} // namespace blockscale::gemm
