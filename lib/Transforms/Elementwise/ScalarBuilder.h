//===- ScalarBuilder.h - Arithmetic that is written out ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_SCALARBUILDER_H
#define BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_SCALARBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace blockscale {

/// Scalar arithmetic, each op of which is one rounding.
class ScalarBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value f32(float value) {
    return mlir::arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  mlir::Value f64(double value) {
    return mlir::arith::ConstantOp::create(*this, getF64FloatAttr(value));
  }
  mlir::Value i32(uint32_t value) {
    return mlir::arith::ConstantOp::create(
        *this, getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  mlir::Value i64(uint64_t value) {
    return mlir::arith::ConstantOp::create(
        *this, getI64IntegerAttr(static_cast<int64_t>(value)));
  }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return mlir::math::FmaOp::create(*this, x, y, z);
  }
  mlir::Value toBits(mlir::Value value) {
    return mlir::arith::BitcastOp::create(*this, getI32Type(), value);
  }
  mlir::Value toFloat(mlir::Value bits) {
    return mlir::arith::BitcastOp::create(*this, getF32Type(), bits);
  }
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_SCALARBUILDER_H
