//===- RowProgramPlan.h - Kernels of norms ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_ANALYSIS_FUSION_ROWPROGRAMPLAN_H
#define BLOCKSCALE_LIB_ANALYSIS_FUSION_ROWPROGRAMPLAN_H

#include "FusionDraft.h"

namespace blockscale {

/// Whether `value`, a tensor, has the elements that a row program computes.
bool isOfRowProgram(mlir::Value value, FusionDraft &draft);

/// Plans a kernel for each row program of `function` ("RowProgram.h"), with
/// what quantizes its result, or computes parts of its amax, where kernels may
/// have that.
void planRowPrograms(mlir::FunctionOpInterface function, FusionDraft &draft);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_FUSION_ROWPROGRAMPLAN_H
