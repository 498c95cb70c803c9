//===- ScaleForm.h - What a scale tensor counts -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_SCALEFORM_H
#define BLOCKSCALE_IR_SCALEFORM_H

#include <array>
#include <cstdint>

namespace blockscale {

/// What one matrix dimension of a scale tensor counts: units of `divisor`
/// elements of matrix dimension `dim` (0 or 1) of the quantized tensor.
struct ScaleExtent {
  unsigned dim;
  int64_t divisor;
};

/// What the two matrix dimensions of a scale tensor count.
using ScaleForm = std::array<ScaleExtent, 2>;

} // namespace blockscale

#endif // BLOCKSCALE_IR_SCALEFORM_H
