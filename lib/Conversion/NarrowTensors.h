//===- NarrowTensors.h - Elements of f4 and f6 tensors ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_NARROWTENSORS_H
#define BLOCKSCALE_LIB_CONVERSION_NARROWTENSORS_H

#include "mlir/IR/Operation.h"

namespace blockscale {

/// Whether memory holds the elements of a tensor of `type` as codes in bytes
/// (f6) or in halves of bytes (f4), in row-major order.
bool isStoredAsCodes(mlir::Type type);

/// Lets ops of linalg and tensor below `root` that read or make elements of f4
/// and f6 tensors do so in bytes with one code each. Memory has two codes of f4
/// in a byte, which linalg ops take apart and put together:
///
///   %y = linalg.generic ins(%x : tensor<8x6xf4E2M1FN>) ..
///        ^bb0(%in: f4E2M1FN, ..)
/// becomes
///   %bytes = builtin.unrealized_conversion_cast %x to tensor<8x3xi8>
///   %codes = linalg.generic ins(%bytes : tensor<8x3xi8>) .. -> tensor<8x6xi8>
///   %y = linalg.generic ins(%codes : tensor<8x6xi8>) ..
///        ^bb0(%byte: i8, ..)
///          %code = arith.trunci %byte : i8 to i4
///          %in = arith.bitcast %code : i4 to f4E2M1FN
///
/// blockscale-materialize-storage removes the casts, which are between a type
/// and its storage form. Kernels are not entered.
void expandNarrowTensors(mlir::Operation *root);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_NARROWTENSORS_H
