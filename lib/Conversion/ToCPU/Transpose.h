//===- Transpose.h - Rows of lanes as columns -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_TRANSPOSE_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_TRANSPOSE_H

#include "Emission/Lanes.h"

#include "llvm/ADT/SmallVector.h"

namespace blockscale::cpu {

using namespace emit;

/// The elements of `rows`, whose number is a power of two, column by column.
Lanes interleaveRows(llvm::ArrayRef<Lanes> rows);

/// The columns of as many rows as these have lanes, a power of two.
llvm::SmallVector<Lanes> transposeRows(llvm::ArrayRef<Lanes> rows);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_TRANSPOSE_H
