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
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <variant>

namespace blockscale::plan {

using runtime::Expression;
using runtime::PlanAddress;
using runtime::PlanBuffer;
using runtime::PlanCondition;
using runtime::PlanFunction;
using runtime::PlanStep;
using runtime::PlanTensorMap;
using Expressions = std::vector<Expression>;

/// A memref: all of a buffer, or a part of it.
struct View {
  size_t buffer;
  Expressions sizes;
  /// The distance of neighbours along each dimension, in elements.
  Expressions strides;
  /// The number of the first element.
  Expression offset;

  /// All of a buffer, row by row.
  static View getWhole(size_t buffer, Expressions sizes);
};

/// Whether its elements are a run of memory, row by row. The stride of a
/// dimension of one element is of no consequence.
bool isRun(const View &view);

/// The strides of an array of these sizes without gaps, row by row.
Expressions getRowMajorStrides(const Expressions &sizes);

/// The bits of an f32, or the number of a scalar argument.
struct Float {
  std::optional<size_t> scalar;
  uint32_t bits = 0;
};

/// What a value of the host stands for.
using Symbolic = std::variant<Expression, View, PlanAddress, Float,
                              PlanCondition, PlanTensorMap>;

/// Evaluates the ops of one function; PlanOps.cpp has the ops, and
/// PlanControlFlow.cpp those with regions.
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
  void addReuse(mlir::func::FuncOp function);
  mlir::FailureOr<Expressions> evaluateResultSizes(mlir::func::FuncOp function);

  llvm::LogicalResult evaluate(mlir::Block &block);
  llvm::LogicalResult evaluate(mlir::Operation *op);
  llvm::LogicalResult evaluateBinary(mlir::Operation *op, Expression::Op kind);
  /// An op on unsigned numbers, which expressions have where none is negative.
  llvm::LogicalResult evaluateUnsigned(mlir::Operation *op,
                                       Expression::Op kind);
  llvm::LogicalResult evaluateQuotient(mlir::Operation *op);
  llvm::LogicalResult evaluateRemainder(mlir::Operation *op);
  llvm::LogicalResult evaluateCast(mlir::Operation *op);
  llvm::LogicalResult evaluateLogic(mlir::Operation *op);
  llvm::LogicalResult evaluateAssert(mlir::cf::AssertOp op);
  llvm::LogicalResult evaluateCompare(mlir::arith::CmpIOp op);
  llvm::LogicalResult evaluateConstant(mlir::arith::ConstantOp op);
  llvm::LogicalResult evaluateGlobal(mlir::memref::GetGlobalOp op);
  llvm::LogicalResult evaluateAlloc(mlir::memref::AllocOp op);
  llvm::LogicalResult evaluateDim(mlir::memref::DimOp op);
  llvm::LogicalResult evaluateReshape(mlir::Operation *op);
  llvm::LogicalResult evaluateReinterpret(mlir::memref::ReinterpretCastOp op);
  llvm::LogicalResult
  evaluateMetadata(mlir::memref::ExtractStridedMetadataOp op);
  llvm::LogicalResult evaluateSubview(mlir::memref::SubViewOp op);
  llvm::LogicalResult evaluateStore(mlir::memref::StoreOp op);
  llvm::LogicalResult evaluateCopy(mlir::memref::CopyOp op);
  llvm::LogicalResult evaluateReduction(AmaxOverRanksOp op);
  llvm::LogicalResult evaluateLaunch(mlir::gpu::LaunchFuncOp op);
  llvm::LogicalResult evaluateTensorMap(TensorMapOp op);
  llvm::LogicalResult evaluateCall(mlir::func::CallOp op);
  llvm::LogicalResult evaluateSelect(mlir::arith::SelectOp op);
  llvm::LogicalResult selectBuffer(mlir::arith::SelectOp op,
                                   const PlanCondition &condition);
  /// Copies the buffers that are selected in the block of `user` to their
  /// places if it is the first to take them.
  llvm::LogicalResult copySelected(mlir::Operation &user);
  llvm::LogicalResult evaluateFor(mlir::scf::ForOp op);
  llvm::LogicalResult evaluateIf(mlir::scf::IfOp op);

  /// A variable that begins as 0, named after what it is.
  Expression addVariable(llvm::StringRef stem, bool isNotNegative = false);
  bool isNotNegative(const Expression &expression) const;
  /// Adds a constraint to those that hold before anything runs, or to the steps
  /// where loops and branches decide about it.
  void addConstraint(runtime::PlanConstraint constraint);
  /// Constrains the operands of `op` to numbers that are the same with a sign
  /// and without.
  void requireNotNegative(mlir::Operation *op,
                          llvm::ArrayRef<Expression> operands);
  /// Constrains what `op` gives to the numbers of its type.
  void requireWidth(mlir::Operation *op, const Expression &number);
  /// An i1 as a condition, and as 0 or 1.
  mlir::FailureOr<PlanCondition> getCondition(mlir::Operation *op,
                                              mlir::Value value);
  std::optional<Expression> getFlag(mlir::Value value);
  /// Memory of these sizes, row by row, for elements as `type` has them.
  mlir::FailureOr<View> addWorkspace(mlir::Operation *op, mlir::MemRefType type,
                                     Expressions sizes);
  /// The place of a value that loops carry or branches give: memory for one
  /// like `view`, which is named by `op` in errors.
  mlir::FailureOr<View> addCarried(mlir::Operation *op, const View &view,
                                   mlir::MemRefType type);
  /// Where a view begins.
  PlanAddress getAddress(const View &view) const;
  /// Adds a copy of all of `from` to `to` to `steps`.
  llvm::LogicalResult addCopy(mlir::Operation *op, const View &from,
                              const View &to, std::vector<PlanStep> &steps);
  llvm::LogicalResult carryOn(mlir::scf::ForOp op,
                              llvm::ArrayRef<Symbolic> carried);
  /// Whether loops or branches decide its value.
  bool usesVariables(const Expression &expression) const {
    std::optional<size_t> largest = expression.getLargestDim();
    return largest && *largest >= plan.dims.size();
  }
  void add(PlanStep step) { steps->push_back(std::move(step)); }
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
  /// Constants, and values of the host in their places.
  llvm::LogicalResult
  getMixedExpressions(mlir::Operation *op,
                      llvm::ArrayRef<mlir::OpFoldResult> operands,
                      Expressions &expressions);

  const std::vector<runtime::PlanKernel> &kernels;
  PlanFunction plan;
  llvm::DenseMap<mlir::Value, Symbolic> values;
  llvm::StringMap<size_t> constants;
  /// Selected buffers that nothing has taken yet, and when the first one is.
  llvm::SmallVector<std::pair<mlir::arith::SelectOp, PlanCondition>> selected;
  /// The numbers of dims and variables that may be negative: those of integer
  /// arguments, unless a constraint says otherwise, and those that loops and
  /// branches compute.
  llvm::SmallDenseSet<size_t> mayBeNegative;
  /// What @NAME__result_sizes stores, by position.
  Expressions stored;
  /// Where steps go: those of the function, or of the loop or branch.
  std::vector<PlanStep> *steps = &plan.steps;
  /// The branches around what is evaluated.
  size_t numBranches = 0;
  /// The calls around what is evaluated.
  llvm::SmallVector<mlir::func::FuncOp> callees;
};

} // namespace blockscale::plan

#endif // BLOCKSCALE_LIB_EMIT_PLANBUILDERIMPL_H
