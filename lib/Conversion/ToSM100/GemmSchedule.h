//===- GemmSchedule.h - Choice of a schedule --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSCHEDULE_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSCHEDULE_H

#include "GemmFormat.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::sm100 {

/// An op with this attribute has its schedule, and none is chosen.
inline constexpr llvm::StringLiteral kScheduleAttrName = "blockscale.schedule";

/// The schedule of a product of B with `cols` rows (N), which may be dynamic.
GemmScheduleAttr chooseSchedule(mlir::MLIRContext *context,
                                const GemmFormat &format, int64_t cols,
                                const target::Chip &chip);

} // namespace blockscale::sm100

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMSCHEDULE_H
