//===- MmaSchedule.h - Choice of a schedule ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOMMA_MMASCHEDULE_H
#define BLOCKSCALE_LIB_CONVERSION_TOMMA_MMASCHEDULE_H

#include "MmaLayout.h"
#include "Products/DecodedSchedule.h"

namespace blockscale::gemm {

/// The schedules that the op can have, the best first. Sizes that are not known
/// are taken to be large.
llvm::SmallVector<RatedDecodedSchedule>
rateMmaSchedules(const Product &product, const DecodedFormat &format,
                 const target::Chip &chip);

/// Says at the op what was chosen, by which numbers, and what was next.
void remarkMmaSchedule(const Product &product,
                       llvm::ArrayRef<RatedDecodedSchedule> rated);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOMMA_MMASCHEDULE_H
