//===- FusionRecord.h - What is written down about kernels ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_KERNELS_FUSIONRECORD_H
#define BLOCKSCALE_LIB_TRANSFORMS_KERNELS_FUSIONRECORD_H

#include "blockscale/Analysis/Fusion/FusionChoice.h"

namespace blockscale {

/// Writes `choice` to the attribute `blockscale.fusion` of a kernel of that
/// form, and says why in a remark of the category `gpu-fusion`.
void recordChoice(KernelOp kernel, const FusionChoice &choice);

/// Says of an op that has a plain kernel why, in a remark of the same category.
void remarkPlain(mlir::Operation *op, llvm::StringRef text);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_KERNELS_FUSIONRECORD_H
