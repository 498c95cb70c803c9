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
                                          ScaleFormat scale,
                                          int64_t stageSteps) {
  using Kind = NVVM::MMABlockScaleKind;
  auto isKnown = [](ElementFormat format) {
    return format == ElementFormat::E2M1 ||
           (getFormatInfo(format).bits == 8 && !isFixedPoint(format));
  };
  if (!isKnown(a) || !isKnown(b))
    return std::nullopt;
  GemmFormat format{a, b, scale};
  if (scale == ScaleFormat::E4M3) {
    format.kind = Kind::MXF4NVF4;
    format.block = 16;
    format.stepElements = 64;
  } else {
    bool isPacked = a == ElementFormat::E2M1 && b == ElementFormat::E2M1;
    format.kind = isPacked ? Kind::MXF4 : Kind::MXF8F6F4;
    format.block = 32;
    format.stepElements = isPacked ? 64 : 32;
  }
  format.stepScales = format.stepElements / format.block;
  format.stageSteps = stageSteps;
  return format;
}

std::string GemmFormat::getName() const {
  std::string name;
  for (ElementFormat operand : {a, b})
    name += std::string(getFormatInfo(operand).name) + "_";
  name += scale == ScaleFormat::E4M3 ? "e4m3" : "e8m0";
  return name + (hasLongSteps ? "_k96" : "");
}

} // namespace blockscale::gemm
