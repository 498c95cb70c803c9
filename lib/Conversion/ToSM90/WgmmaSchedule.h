//===- WgmmaSchedule.h - Choice of a schedule -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMASCHEDULE_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMASCHEDULE_H

#include "Products/DecodedSchedule.h"
#include "WgmmaFormat.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::gemm {

/// The schedules that the op can have, the best first. Sizes that are not known
/// are taken to be large.
llvm::SmallVector<RatedDecodedSchedule>
rateWgmmaSchedules(const Product &product, const WgmmaFormat &format,
                   const target::Chip &chip);

/// Says at the op what was chosen, by which numbers, and what was next.
void remarkWgmmaSchedule(const Product &product, const WgmmaFormat &format,
                         llvm::ArrayRef<RatedDecodedSchedule> rated);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMASCHEDULE_H
