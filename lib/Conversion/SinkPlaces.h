//===- SinkPlaces.h - Parts that begin at elements of memory ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_SINKPLACES_H
#define BLOCKSCALE_LIB_CONVERSION_SINKPLACES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscale {

/// Lets kernels compute for themselves where the parts of buffers begin that
/// they access, if elements of memory say so: kernels of row quantizers those
/// that they write to, and plain loops all. What computes a place stands before
/// the kernel then, marked as DevicePlaces.h says, with the assertions about
/// it:
///
///   %p = memref.load %position[] : memref<i64>
///   %part = memref.subview %cache[%p, 0] [1, 64] [1, 1]
///   ...
///   blockscale.kernel ... outs(%part)
/// becomes
///   ...
///   %p = memref.load %position[] {blockscale.place} : memref<i64>
///   %part = memref.subview %cache[%p, 0] [1, 64] [1, 1] {blockscale.place}
///   blockscale.kernel ... outs(%part)
///
/// A loop has indices in place of the part. A copy becomes one:
///
///   %p = memref.load %position[] : memref<i64>
///   %part = memref.subview %cache[%p, 0] [1, 64] [1, 1]
///   memref.copy %x, %part
/// becomes
///   %p = memref.load %position[] {blockscale.place} : memref<i64>
///   scf.parallel (%i, %j) = ... {
///     %a = memref.load %x[%i, %j]
///     memref.store %a, %cache[%p + %i, %j]
///
/// The elements are those of arguments that the function does not write to, so
/// that they are the same wherever they are read.
void sinkPlaces(mlir::func::FuncOp function);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_SINKPLACES_H
