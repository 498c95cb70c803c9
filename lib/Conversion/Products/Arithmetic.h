//===- Arithmetic.h - Sizes and places in kernels ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ARITHMETIC_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ARITHMETIC_H

#include "DeviceEmission/KernelBuilder.h"
#include "Emission/Lanes.h"

namespace blockscale::products {

/// An i32 without sign, widened to i64.
inline emit::Lanes toI64(KernelBuilder &b, mlir::Value value) {
  return emit::Lanes(b, b.zext64(value));
}

/// The quotient x / y of numbers without signs.
inline emit::Lanes divide(KernelBuilder &b, emit::Lanes x, emit::Lanes y) {
  return {b, b.createOrFold<mlir::arith::DivUIOp>(x, y)};
}

/// The quotient ceil(value / divisor) of an i32.
inline emit::Lanes emitCeilDiv(KernelBuilder &b, mlir::Value value,
                               int64_t divisor) {
  emit::Lanes x(b, value);
  return divide(b, x + (divisor - 1), x.like(divisor));
}

/// An i64 that is the size of something, which is below 2^31, as i32.
inline mlir::Value narrowSize(mlir::ImplicitLocOpBuilder &b, mlir::Value size) {
  return mlir::arith::TruncIOp::create(b, b.getI32Type(), size);
}

/// Bytes of an element.
inline int64_t getByteSize(mlir::Type type) {
  return type.getIntOrFloatBitWidth() / 8;
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ARITHMETIC_H
