//===- PlanBuilderImpl.h - State of a plan under construction ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_EMIT_PLANBUILDERIMPL_H
#define BLOCKSCALE_LIB_EMIT_PLANBUILDERIMPL_H

#include "PlanBuilder.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <variant>

namespace blockscale::plan {

using runtime::Expression;
using runtime::PlanAddress;
using runtime::PlanBuffer;
using runtime::PlanConstraint;
using runtime::PlanFunction;
using runtime::PlanTensorMap;
using Expressions = std::vector<Expression>;

/// A memref without gaps: all of a buffer, or a part of it.
struct View {
  size_t buffer;
  Expressions sizes;
  /// The number of the first element; nullopt for all of a buffer.
  std::optional<Expression> offset = std::nullopt;
};

/// The bits of an f32, or the number of a scalar argument.
struct Float {
  std::optional<size_t> scalar;
  uint32_t bits = 0;
};

/// What a value of the host stands for.
using Symbolic = std::variant<Expression, View, PlanAddress, Float,
                              PlanConstraint, PlanTensorMap>;

/// Evaluates the ops of one function; PlanOps.cpp has the ops.
class Builder {
public:
  explicit Builder(const std::vector<runtime::PlanKernel> &kernels)
      : kernels(kernels) {}

  mlir::FailureOr<PlanFunction> build(mlir::func::FuncOp function,
                                      mlir::FunctionType signature);

private:
  llvm::LogicalResult addArgument(mlir::BlockArgument argument,
                                  mlir::Type type);
  llvm::LogicalResult addResult(mlir::BlockArgument argument, mlir::Type type,
                                unsigned number,
                                llvm::ArrayRef<Expression> sizes);
  /// A buffer of elements as `type` has them, whose name, role and shape are
  /// given; its memory is `memref`. None where plans have no such elements.
  std::optional<size_t> addBuffer(PlanBuffer::Role role, std::string name,
                                  mlir::Type type, mlir::MemRefType memref,
                                  Expressions shape);
  mlir::FailureOr<Expressions> evaluateResultSizes(mlir::func::FuncOp function);

  llvm::LogicalResult evaluate(mlir::Block &block);
  llvm::LogicalResult evaluate(mlir::Operation *op);
  llvm::LogicalResult evaluateBinary(mlir::Operation *op, Expression::Op kind);
  llvm::LogicalResult evaluateAssert(mlir::cf::AssertOp op);
  llvm::LogicalResult evaluateCompare(mlir::arith::CmpIOp op);
  llvm::LogicalResult evaluateConstant(mlir::arith::ConstantOp op);
  llvm::LogicalResult evaluateGlobal(mlir::memref::GetGlobalOp op);
  llvm::LogicalResult evaluateAlloc(mlir::memref::AllocOp op);
  llvm::LogicalResult evaluateDim(mlir::memref::DimOp op);
  llvm::LogicalResult evaluateView(mlir::Operation *op);
  llvm::LogicalResult evaluateSubview(mlir::memref::SubViewOp op);
  llvm::LogicalResult evaluateStore(mlir::memref::StoreOp op);
  llvm::LogicalResult evaluateCopy(mlir::memref::CopyOp op);
  llvm::LogicalResult evaluateLaunch(mlir::gpu::LaunchFuncOp op);
  llvm::LogicalResult evaluateTensorMap(TensorMapOp op);
  llvm::LogicalResult evaluateCall(mlir::func::CallOp op);
  llvm::LogicalResult forward(mlir::Operation *op);

  llvm::LogicalResult refuse(mlir::Operation *op,
                             const llvm::Twine &what = "has no form") {
    return op->emitOpError() << what << " in a launch plan";
  }
  template <typename T>
  const T *find(mlir::Value value) const {
    auto found = values.find(value);
    return found == values.end() ? nullptr : std::get_if<T>(&found->second);
  }
  void set(mlir::Value value, Symbolic symbolic) {
    values.insert_or_assign(value, std::move(symbolic));
  }
  /// The sizes of `type`; those of dynamic dimensions come from `dynamic`, in
  /// order.
  Expressions getSizes(mlir::ShapedType type,
                       llvm::ArrayRef<Expression> dynamic);
  llvm::LogicalResult getExpressions(mlir::Operation *op,
                                     mlir::ValueRange operands,
                                     Expressions &expressions);

  const std::vector<runtime::PlanKernel> &kernels;
  PlanFunction plan;
  llvm::DenseMap<mlir::Value, Symbolic> values;
  llvm::StringMap<size_t> constants;
  /// What @NAME__result_sizes stores, by position.
  Expressions stored;
  /// The calls around what is evaluated.
  llvm::SmallVector<mlir::func::FuncOp> callees;
};

} // namespace blockscale::plan

#endif // BLOCKSCALE_LIB_EMIT_PLANBUILDERIMPL_H
