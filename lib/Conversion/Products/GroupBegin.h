//===- GroupBegin.h - Where groups of K may begin ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GROUPBEGIN_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GROUPBEGIN_H

#include "DeviceEmission/KernelBuilder.h"
#include "Emission/Lanes.h"

namespace blockscale::gemm {

/// Stops the kernel where a group of K with `count` steps (i32) has its first
/// codes, at byte `firstByte` of a row, inside of the 16 bytes at whose
/// multiples copies of tiles begin: blocks of NVFP4 have 8 bytes of codes.
void emitCheckGroupBegin(KernelBuilder &b, emit::Lanes firstByte,
                         mlir::Value count);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GROUPBEGIN_H
