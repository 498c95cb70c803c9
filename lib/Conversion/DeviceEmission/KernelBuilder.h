//===- KernelBuilder.h - Shorthand for kernel bodies ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELBUILDER_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELBUILDER_H

#include "Emission/Lanes.h"
#include "blockscale/Numerics/Warp.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace blockscale {

using numerics::kWarpThreads;

/// Bytes of a register, and of an i32.
inline constexpr int64_t kWordBytes = 4;
/// The mask of a whole warp.
inline constexpr uint32_t kAllLanes = 0xFFFFFFFF;

/// Builds the arithmetic of a kernel. Floating point ops carry no fast-math
/// flags: each is one IEEE rounding.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  emit::Lanes i32(uint32_t value) {
    return constant(getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  emit::Lanes i64(int64_t value) { return constant(getI64IntegerAttr(value)); }
  emit::Lanes f32(float value) {
    return constant(mlir::FloatAttr::get(getF32Type(), llvm::APFloat(value)));
  }
  emit::Lanes f64(double value) {
    return constant(mlir::FloatAttr::get(getF64Type(), llvm::APFloat(value)));
  }
  /// Vector constants of one value.
  emit::Lanes i32Splat(uint32_t value, int64_t size);
  emit::Lanes f32Splat(float value, int64_t size);
  /// The scalar `value` in every element of a vector.
  emit::Lanes splat(mlir::Value value, int64_t size);

  emit::Lanes bitcast(mlir::Type type, mlir::Value value) {
    return {*this, mlir::LLVM::BitcastOp::create(*this, type, value)};
  }
  emit::Lanes toBits(mlir::Value value) { return bitcast(getI32Type(), value); }
  emit::Lanes toFloat(mlir::Value bits) { return bitcast(getF32Type(), bits); }
  emit::Lanes zext32(mlir::Value value) {
    return {*this, mlir::arith::ExtUIOp::create(*this, getI32Type(), value)};
  }
  emit::Lanes toF64(mlir::Value value) {
    return {*this, mlir::arith::ExtFOp::create(*this, getF64Type(), value)};
  }
  emit::Lanes toF32(mlir::Value value) {
    return {*this, mlir::arith::TruncFOp::create(*this, getF32Type(), value)};
  }
  emit::Lanes zext64(mlir::Value value) {
    return {*this, mlir::arith::ExtUIOp::create(*this, getI64Type(), value)};
  }

  /// The magnitudes |x| of floats, NaN included.
  emit::Lanes abs(mlir::Value x) { return callIntrinsic("llvm.fabs", x); }
  /// The lesser and the greater of floats; of a number and NaN the number.
  emit::Lanes minNum(mlir::Value lhs, mlir::Value rhs) {
    return callIntrinsic("llvm.minnum", {lhs, rhs});
  }
  emit::Lanes maxNum(mlir::Value lhs, mlir::Value rhs) {
    return callIntrinsic("llvm.maxnum", {lhs, rhs});
  }
  /// The sum x * y + z, rounded once.
  emit::Lanes fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return {*this, mlir::LLVM::FMAOp::create(*this, x, y, z)};
  }

  emit::Lanes extract(mlir::Value vector, int64_t index);
  /// The elements of a vector, all of them.
  llvm::SmallVector<mlir::Value> extractAll(mlir::Value vector);
  /// A vector of the scalars `values`.
  emit::Lanes pack(mlir::ValueRange values);
  emit::Lanes pack(std::initializer_list<mlir::Value> values) {
    return pack(mlir::ValueRange(values));
  }
  emit::Lanes pack(llvm::ArrayRef<emit::Lanes> values) {
    return pack(mlir::ValueRange(llvm::to_vector_of<mlir::Value>(values)));
  }
  /// Elements [begin, begin + size) of a vector.
  emit::Lanes slice(mlir::Value vector, int64_t begin, int64_t size);

  /// `pointer` moved by `index` elements of `type`.
  mlir::Value offset(mlir::Value pointer, mlir::Type type, mlir::Value index);
  emit::Lanes load(mlir::Type type, mlir::Value pointer, unsigned alignment);
  void store(mlir::Value value, mlir::Value pointer, unsigned alignment);

  /// An i32 of which the optimizer does not know that it is `word`, nor that it
  /// is the same for another `cause`, where there is one: to compute something
  /// from it again takes fewer registers than to keep it.
  emit::Lanes hide(mlir::Value word, mlir::Value cause = {});
  /// An intrinsic of the type of its operands, by name: the conversion to NVVM
  /// makes library calls of some ops.
  emit::Lanes callIntrinsic(llvm::StringRef name, mlir::ValueRange operands);

private:
  emit::Lanes constant(mlir::TypedAttr value) {
    return {*this, mlir::arith::ConstantOp::create(*this, value)};
  }
};

/// `combine` of all values, with few steps one after the other.
mlir::Value
reduceInTree(mlir::ValueRange values,
             llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_KERNELBUILDER_H
