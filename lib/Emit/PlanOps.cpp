//===- PlanOps.cpp - Ops as steps of a plan -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanBuilderImpl.h"

#include "blockscale/Conversion/AssertedNumber.h"
#include "blockscale/Emit/LaunchPlan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using blockscale::runtime::ParameterKind;
using Kind = blockscale::runtime::Expression::Op;
using Role = blockscale::runtime::PlanBuffer::Role;
using blockscale::runtime::Relation;

namespace blockscale::plan {

/// `expr`, whose dims, then symbols, are `operands`.
static Expression toExpression(AffineExpr expr, unsigned numDims,
                               ArrayRef<Expression> operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Expression a = toExpression(binary.getLHS(), numDims, operands);
  Expression b = toExpression(binary.getRHS(), numDims, operands);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return Expression::make(Kind::Add, a, b);
  case AffineExprKind::Mul:
    return Expression::make(Kind::Mul, a, b);
  case AffineExprKind::Mod:
    return Expression::make(Kind::Mod, a, b);
  case AffineExprKind::FloorDiv:
    return Expression::make(Kind::FloorDiv, a, b);
  default:
    return Expression::make(Kind::CeilDiv, a, b);
  }
}

/// The number of a name of the driver.
static uint32_t getNumber(ArrayRef<std::string_view> names,
                          std::string_view name) {
  return static_cast<uint32_t>(llvm::find(names, name) - names.begin());
}

LogicalResult Builder::evaluate(Block &block) {
  for (Operation &op : block)
    if (failed(copySelected(op)) ||
        (&op != &block.back() && failed(evaluate(&op))))
      return failure();
  return success();
}

LogicalResult Builder::evaluate(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::AddIOp sum) {
        const auto *pointer = find<PlanAddress>(sum.getLhs());
        const auto *bytes = find<Expression>(sum.getRhs());
        if (!pointer || !bytes)
          return evaluateBinary(op, Kind::Add);
        set(sum.getResult(),
            PlanAddress{pointer->buffer,
                        Expression::make(Kind::Add, pointer->offset, *bytes)});
        return success();
      })
      .Case<arith::SubIOp>([&](auto) { return evaluateBinary(op, Kind::Sub); })
      .Case<arith::MulIOp>([&](auto) { return evaluateBinary(op, Kind::Mul); })
      .Case<arith::CeilDivSIOp>(
          [&](auto) { return evaluateBinary(op, Kind::CeilDiv); })
      .Case<arith::CeilDivUIOp>(
          [&](auto) { return evaluateUnsigned(op, Kind::CeilDiv); })
      .Case<arith::FloorDivSIOp>(
          [&](auto) { return evaluateBinary(op, Kind::FloorDiv); })
      .Case<arith::DivUIOp>(
          [&](auto) { return evaluateUnsigned(op, Kind::FloorDiv); })
      .Case<arith::DivSIOp>([&](auto) { return evaluateQuotient(op); })
      .Case<arith::RemUIOp>(
          [&](auto) { return evaluateUnsigned(op, Kind::Mod); })
      .Case<arith::RemSIOp>([&](auto) { return evaluateRemainder(op); })
      .Case<arith::MinSIOp>([&](auto) { return evaluateBinary(op, Kind::Min); })
      .Case<arith::MinUIOp>(
          [&](auto) { return evaluateUnsigned(op, Kind::Min); })
      .Case<arith::MaxSIOp>([&](auto) { return evaluateBinary(op, Kind::Max); })
      .Case<arith::MaxUIOp>(
          [&](auto) { return evaluateUnsigned(op, Kind::Max); })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(
          [&](auto) { return evaluateCast(op); })
      .Case<LLVM::IntToPtrOp>([&](auto) { return forward(op); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](auto) { return evaluateLogic(op); })
      .Case([&](memref::ExtractAlignedPointerAsIndexOp pointer) {
        if (const View *view = find<View>(pointer.getSource())) {
          set(pointer.getResult(), PlanAddress{view->buffer, {}});
          return success();
        }
        return refuse(op);
      })
      .Case([&](memref::ExtractStridedMetadataOp o) {
        return evaluateMetadata(o);
      })
      .Case([&](affine::AffineApplyOp apply) {
        Expressions operands;
        if (failed(getExpressions(op, apply.getMapOperands(), operands)))
          return failure();
        AffineMap map = apply.getAffineMap();
        set(apply.getResult(),
            toExpression(map.getResult(0), map.getNumDims(), operands));
        return success();
      })
      .Case([&](arith::ConstantOp o) { return evaluateConstant(o); })
      .Case([&](arith::CmpIOp o) { return evaluateCompare(o); })
      .Case([&](cf::AssertOp o) { return evaluateAssert(o); })
      .Case([&](memref::GetGlobalOp o) { return evaluateGlobal(o); })
      .Case([&](memref::AllocOp o) { return evaluateAlloc(o); })
      .Case<memref::DeallocOp>([&](auto) { return success(); })
      .Case([&](memref::DimOp o) { return evaluateDim(o); })
      .Case<memref::CastOp>([&](auto) { return forward(op); })
      .Case<memref::CollapseShapeOp, memref::ExpandShapeOp>(
          [&](auto) { return evaluateReshape(op); })
      .Case([&](memref::ReinterpretCastOp o) { return evaluateReinterpret(o); })
      .Case([&](memref::SubViewOp o) { return evaluateSubview(o); })
      .Case([&](memref::StoreOp o) { return evaluateStore(o); })
      .Case([&](memref::CopyOp o) { return evaluateCopy(o); })
      .Case([&](AmaxOverRanksOp o) { return evaluateReduction(o); })
      .Case([&](gpu::LaunchFuncOp o) { return evaluateLaunch(o); })
      .Case([&](TensorMapOp o) { return evaluateTensorMap(o); })
      .Case([&](func::CallOp o) { return evaluateCall(o); })
      .Case([&](arith::SelectOp o) { return evaluateSelect(o); })
      .Case([&](scf::ForOp o) { return evaluateFor(o); })
      .Case([&](scf::IfOp o) { return evaluateIf(o); })
      .Default([&](auto) { return refuse(op); });
}

LogicalResult Builder::forward(Operation *op) {
  auto found = values.find(op->getOperand(0));
  if (found == values.end())
    return refuse(op, "has an operand that has no form");
  set(op->getResult(0), Symbolic(found->second));
  return success();
}

/// The bits of an integer; an index has 64.
static unsigned getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// An integer in another type; as a signed one, an i1 is 0 or -1.
LogicalResult Builder::evaluateCast(Operation *op) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (!from.isInteger(1)) {
    const auto *number = find<Expression>(op->getOperand(0));
    if (!number)
      return forward(op);
    if (to.isInteger(1)) {
      set(op->getResult(0), Expression::make(Kind::Mod, *number, 2));
      return success();
    }
    bool isUnsigned = isa<arith::IndexCastUIOp, arith::ExtUIOp>(op);
    if (isUnsigned && getWidth(from) < getWidth(to))
      requireNotNegative(op, *number);
    if (getWidth(from) > getWidth(to))
      requireWidth(op, *number);
    return forward(op);
  }
  std::optional<Expression> flag = getFlag(op->getOperand(0));
  if (!flag)
    return refuse(op, "has an operand that has no form");
  bool isSigned = isa<arith::ExtSIOp, arith::IndexCastOp>(op);
  set(op->getResult(0),
      isSigned ? Expression::make(Kind::Sub, 0, *flag) : *flag);
  return success();
}

/// Logic of i1, of which each is 0 or 1.
LogicalResult Builder::evaluateLogic(Operation *op) {
  std::optional<Expression> a = getFlag(op->getOperand(0));
  std::optional<Expression> b = getFlag(op->getOperand(1));
  if (!op->getResult(0).getType().isInteger(1) || !a || !b)
    return refuse(op);
  Expression sum = Expression::make(Kind::Add, *a, *b);
  set(op->getResult(0),
      isa<arith::AndIOp>(op)  ? Expression::make(Kind::Mul, *a, *b)
      : isa<arith::OrIOp>(op) ? Expression::make(Kind::Min, sum, 1)
                              : Expression::make(Kind::Mod, sum, 2));
  return success();
}

void Builder::requireNotNegative(Operation *op, ArrayRef<Expression> operands) {
  std::string text = op->getName().getStringRef().str() +
                     ": expected operands of the host that are 0 or more";
  for (const Expression &operand : operands)
    if (!isNotNegative(operand))
      addConstraint({{operand, Relation::GE, 0}, text});
}

void Builder::requireWidth(Operation *op, const Expression &number) {
  unsigned width = getWidth(op->getResult(0).getType());
  if (width >= 64 || number.getConstant())
    return;
  std::string text = op->getName().getStringRef().str() +
                     ": expected a number of " + std::to_string(width) +
                     " bits";
  int64_t largest = llvm::maxIntN(width);
  if (!isNotNegative(number))
    addConstraint({{number, Relation::GE, -largest - 1}, text});
  addConstraint({{number, Relation::LE, largest}, text});
}

LogicalResult Builder::evaluateBinary(Operation *op, Kind kind) {
  // An i1 is 0 or 1, which sums and signs are not of.
  if (op->getResult(0).getType().isInteger(1))
    return refuse(op);
  Expressions operands;
  if (failed(getExpressions(op, op->getOperands(), operands)))
    return failure();
  Expression result = Expression::make(kind, operands[0], operands[1]);
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    requireWidth(op, result);
  set(op->getResult(0), result);
  return success();
}

LogicalResult Builder::evaluateUnsigned(Operation *op, Kind kind) {
  Expressions operands;
  if (failed(getExpressions(op, op->getOperands(), operands)))
    return failure();
  requireNotNegative(op, operands);
  set(op->getResult(0), Expression::make(kind, operands[0], operands[1]));
  return success();
}

/// The part of a number that is not negative, and that which is not positive.
static std::pair<Expression, Expression> splitAtZero(const Expression &number) {
  return {Expression::make(Kind::Max, number, 0),
          Expression::make(Kind::Min, number, 0)};
}

/// A quotient that is rounded toward zero: down from 0 on, and up below.
LogicalResult Builder::evaluateQuotient(Operation *op) {
  Expressions operands;
  if (failed(getExpressions(op, op->getOperands(), operands)))
    return failure();
  const Expression &number = operands[0], &divisor = operands[1];
  Expression result = Expression::make(Kind::FloorDiv, number, divisor);
  if (!isNotNegative(number)) {
    auto [positive, negative] = splitAtZero(number);
    result = Expression::make(
        Kind::Add, Expression::make(Kind::FloorDiv, positive, divisor),
        Expression::make(Kind::CeilDiv, negative, divisor));
  }
  set(op->getResult(0), result);
  return success();
}

/// A remainder with the sign of what is divided.
LogicalResult Builder::evaluateRemainder(Operation *op) {
  Expressions operands;
  if (failed(getExpressions(op, op->getOperands(), operands)))
    return failure();
  const Expression &number = operands[0], &divisor = operands[1];
  Expression result = Expression::make(Kind::Mod, number, divisor);
  if (!isNotNegative(number)) {
    auto [positive, negative] = splitAtZero(number);
    Expression magnitude = Expression::make(Kind::Sub, 0, negative);
    result = Expression::make(Kind::Sub,
                              Expression::make(Kind::Mod, positive, divisor),
                              Expression::make(Kind::Mod, magnitude, divisor));
  }
  set(op->getResult(0), result);
  return success();
}

LogicalResult Builder::evaluateConstant(arith::ConstantOp op) {
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    // An i1 is true or false; 1 is not -1.
    bool isFlag = integer.getType().isInteger(1);
    set(op.getResult(), Expression(isFlag ? integer.getValue().getZExtValue()
                                          : integer.getInt()));
    return success();
  }
  auto number = dyn_cast<FloatAttr>(op.getValue());
  if (!number || !number.getType().isF32())
    return refuse(op);
  uint64_t bits = number.getValue().bitcastToAPInt().getZExtValue();
  set(op.getResult(), Float{std::nullopt, static_cast<uint32_t>(bits)});
  return success();
}

LogicalResult Builder::evaluateCompare(arith::CmpIOp op) {
  Expressions operands;
  if (failed(getExpressions(op, op.getOperands(), operands)))
    return failure();
  bool isFlag = op.getLhs().getType().isInteger(1);
  bool isUnsigned = op.getPredicate() >= arith::CmpIPredicate::ult;
  bool isEquality = op.getPredicate() <= arith::CmpIPredicate::ne;
  if (isUnsigned)
    requireNotNegative(op, operands);
  // As a signed number, true is below false.
  if (isFlag && !isUnsigned && !isEquality)
    std::swap(operands[0], operands[1]);
  // The relations in the order of the predicates, unsigned ones last.
  constexpr Relation relations[] = {
      Relation::EQ, Relation::NE, Relation::LT, Relation::LE, Relation::GT,
      Relation::GE, Relation::LT, Relation::LE, Relation::GT, Relation::GE};
  Relation relation = relations[static_cast<unsigned>(op.getPredicate())];
  set(op.getResult(), PlanCondition{operands[0], relation, operands[1]});
  return success();
}

LogicalResult Builder::evaluateAssert(cf::AssertOp op) {
  const auto *constant = find<Expression>(op.getArg());
  if (constant && constant->getConstant() == 1)
    return success();
  FailureOr<PlanCondition> condition = getCondition(op, op.getArg());
  if (failed(condition))
    return failure();
  // Sizes of results are expressions, which can be those that they must fit.
  if (condition->relation == runtime::Relation::EQ &&
      condition->left.getText() == condition->right.getText())
    return success();
  runtime::PlanConstraint constraint{*condition, toPlanText(op.getMsg())};
  // What is found stands on the left, and what is expected of it on the right.
  auto found = op->getAttrOfType<IntegerAttr>(kFoundAttrName);
  if (found && constraint.relation == runtime::Relation::EQ &&
      constraint.right.getConstant() == found.getInt())
    std::swap(constraint.left, constraint.right);
  addConstraint(std::move(constraint));
  return success();
}

void Builder::addConstraint(runtime::PlanConstraint constraint) {
  // Only what every call does is known to hold before anything runs.
  bool isAlways = steps == &plan.steps && !usesVariables(constraint.left) &&
                  !usesVariables(constraint.right);
  if (!isAlways) {
    add(std::move(constraint));
    return;
  }
  // What an earlier constraint says is not said again.
  bool isKnown = llvm::any_of(plan.constraints, [&](const auto &known) {
    return known.relation == constraint.relation &&
           known.left.getText() == constraint.left.getText() &&
           known.right.getText() == constraint.right.getText();
  });
  if (isKnown)
    return;
  std::optional<size_t> dim = constraint.left.getDim();
  if (dim && constraint.relation == Relation::GE &&
      isNotNegative(constraint.right))
    mayBeNegative.erase(*dim);
  plan.constraints.push_back(std::move(constraint));
}

LogicalResult Builder::evaluateGlobal(memref::GetGlobalOp op) {
  MemRefType type = op.getType();
  auto [found, isNew] = constants.try_emplace(op.getName(), 0);
  if (isNew) {
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        op, op.getNameAttr());
    auto content = dyn_cast_if_present<ElementsAttr>(
        global ? global.getConstantInitValue() : Attribute());
    if (!content || !global.getConstant())
      return refuse(op);
    std::vector<uint8_t> data;
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(content)) {
      ArrayRef<char> bytes = resource.getData();
      data.assign(bytes.begin(), bytes.end());
    } else if (type.getElementType().isInteger(1) &&
               isa<DenseElementsAttr>(content)) {
      // Memory has a byte for each of what MLIR packs into bits.
      for (bool element : cast<DenseElementsAttr>(content).getValues<bool>())
        data.push_back(element);
    } else if (auto dense = dyn_cast<DenseElementsAttr>(content)) {
      ArrayRef<char> bytes = dense.getRawData();
      int64_t copies = dense.isSplat() ? dense.getNumElements() : 1;
      for (int64_t i = 0; i < copies; ++i)
        data.insert(data.end(), bytes.begin(), bytes.end());
    } else {
      return refuse(op);
    }
    std::optional<size_t> buffer = addBuffer(
        Role::Constant, "constant" + std::to_string(constants.size() - 1),
        RankedTensorType::get(type.getShape(), type.getElementType()), type,
        getSizes(type, {}));
    if (!buffer)
      return refuse(op);
    plan.buffers[*buffer].data = std::move(data);
    found->second = *buffer;
  }
  set(op.getResult(), View::getWhole(found->second, getSizes(type, {})));
  return success();
}

LogicalResult Builder::evaluateAlloc(memref::AllocOp op) {
  MemRefType type = op.getType();
  Expressions dynamic;
  if (!type.getLayout().isIdentity())
    return refuse(op);
  if (failed(getExpressions(op, op.getDynamicSizes(), dynamic)))
    return failure();
  for (Expression &size : dynamic) {
    if (usesVariables(size))
      return refuse(op,
                    "of a size that a loop or a branch decides has no form");
    // A branch that does not run may have differences below 0 as sizes.
    if (numBranches > 0 && StringRef(size.getText()).contains('-'))
      size = Expression::make(Kind::Max, size, 0);
  }
  FailureOr<View> view = addWorkspace(op, type, getSizes(type, dynamic));
  if (failed(view))
    return failure();
  set(op.getResult(), std::move(*view));
  return success();
}

LogicalResult Builder::evaluateDim(memref::DimOp op) {
  const View *view = find<View>(op.getSource());
  std::optional<int64_t> dim = op.getConstantIndex();
  if (!view || !dim || *dim >= static_cast<int64_t>(view->sizes.size()))
    return refuse(op);
  set(op.getResult(), Expression(view->sizes[*dim]));
  return success();
}

/// Another shape of the same memory.
LogicalResult Builder::evaluateReshape(Operation *op) {
  const View *source = find<View>(op->getOperand(0));
  auto type = cast<MemRefType>(op->getResult(0).getType());
  if (!source)
    return refuse(op);
  View view{source->buffer, {}, {}, source->offset};
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    for (const auto &group : collapse.getReassociationIndices()) {
      Expressions sizes;
      // Neighbours of the whole group are those along its last dimension, or
      // along the one before where it has only one element.
      Expression stride = source->strides[group.back()];
      for (int64_t dim : llvm::reverse(group)) {
        stride = source->strides[dim];
        if (source->sizes[dim].getConstant() != 1)
          break;
      }
      for (int64_t dim : group)
        sizes.push_back(source->sizes[dim]);
      view.sizes.push_back(runtime::multiply(sizes));
      view.strides.push_back(stride);
    }
    set(op->getResult(0), std::move(view));
    return success();
  }
  auto expand = cast<memref::ExpandShapeOp>(op);
  Expressions dynamic;
  if (failed(getExpressions(op, expand.getOutputShape(), dynamic)))
    return failure();
  view.sizes = getSizes(type, dynamic);
  view.strides.resize(view.sizes.size());
  for (auto [group, stride] :
       llvm::zip_equal(expand.getReassociationIndices(), source->strides)) {
    Expression inner = stride;
    for (int64_t dim : llvm::reverse(group)) {
      view.strides[dim] = inner;
      inner = runtime::multiply({inner, view.sizes[dim]});
    }
  }
  set(op->getResult(0), std::move(view));
  return success();
}

/// Sizes, strides and offset that the op names, in the buffer of its source.
LogicalResult Builder::evaluateReinterpret(memref::ReinterpretCastOp op) {
  const View *source = find<View>(op.getSource());
  if (!source)
    return refuse(op);
  View view{source->buffer, {}, {}, {}};
  Expressions offset;
  if (failed(getMixedExpressions(op, op.getMixedSizes(), view.sizes)) ||
      failed(getMixedExpressions(op, op.getMixedStrides(), view.strides)) ||
      failed(getMixedExpressions(op, op.getMixedOffsets(), offset)))
    return failure();
  view.offset = offset.front();
  set(op.getResult(), std::move(view));
  return success();
}

/// A part, with gaps or without.
LogicalResult Builder::evaluateSubview(memref::SubViewOp op) {
  const View *source = find<View>(op.getSource());
  Expressions offsets, sizes, strides;
  if (!source)
    return refuse(op);
  if (failed(getMixedExpressions(op, op.getMixedOffsets(), offsets)) ||
      failed(getMixedExpressions(op, op.getMixedSizes(), sizes)) ||
      failed(getMixedExpressions(op, op.getMixedStrides(), strides)))
    return failure();
  View view{source->buffer, {}, {}, source->offset};
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, stride] : llvm::enumerate(source->strides)) {
    view.offset = Expression::make(Kind::Add, view.offset,
                                   runtime::multiply({offsets[dim], stride}));
    if (dropped.test(dim))
      continue;
    view.sizes.push_back(sizes[dim]);
    view.strides.push_back(runtime::multiply({strides[dim], stride}));
  }
  set(op.getResult(), std::move(view));
  return success();
}

LogicalResult Builder::evaluateMetadata(memref::ExtractStridedMetadataOp op) {
  const View *source = find<View>(op.getSource());
  if (!source)
    return refuse(op);
  // What is set moves what was found.
  View view = *source;
  set(op.getBaseBuffer(), View{view.buffer, {}, {}, {}});
  set(op.getOffset(), view.offset);
  for (auto [value, size] : llvm::zip_equal(op.getSizes(), view.sizes))
    set(value, size);
  for (auto [value, stride] : llvm::zip_equal(op.getStrides(), view.strides))
    set(value, stride);
  return success();
}

/// A store, which is supported of a size in @NAME__result_sizes only.
LogicalResult Builder::evaluateStore(memref::StoreOp op) {
  const auto *value = find<Expression>(op.getValueToStore());
  const auto *index = op.getIndices().size() == 1
                          ? find<Expression>(op.getIndices()[0])
                          : nullptr;
  bool isInBounds = index && index->getConstant() &&
                    *index->getConstant() >= 0 &&
                    *index->getConstant() < static_cast<int64_t>(stored.size());
  if (!value || !isInBounds || find<View>(op.getMemRef()))
    return refuse(op);
  stored[*index->getConstant()] = *value;
  return success();
}

/// A copy of a run of bytes; blockscale-expand-copies makes loops of others.
LogicalResult Builder::evaluateCopy(memref::CopyOp op) {
  const View *from = find<View>(op.getSource());
  const View *to = find<View>(op.getTarget());
  if (!from || !to)
    return refuse(op);
  return addCopy(op, *from, *to, *steps);
}

LogicalResult Builder::evaluateReduction(AmaxOverRanksOp op) {
  const View *view = find<View>(op.getAmax());
  if (!view)
    return refuse(op);
  if (!isRun(*view))
    return refuse(op, "of a buffer with gaps has no form");
  add(runtime::PlanReduction{getAddress(*view), runtime::multiply(view->sizes),
                             runtime::ReductionKind::Max});
  return success();
}

/// Whether some thread of a kernel waits for the launch before.
static bool waits(gpu::GPUFuncOp kernel) {
  return kernel
      ->walk([](NVVM::GriddepcontrolOp op) {
        return op.getKind() == NVVM::GridDepActionKind::wait
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Builder::evaluateLaunch(gpu::LaunchFuncOp op) {
  if (op.getAsyncToken() || !op.getAsyncDependencies().empty())
    return refuse(op, "that is asynchronous has no form");
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(op, op.getKernel());
  if (!kernel)
    return op.emitOpError("expected a kernel of the module, but got ")
           << op.getKernel();
  runtime::PlanLaunch launch;
  auto described = llvm::find_if(kernels, [&](const runtime::PlanKernel &each) {
    return each.name == toPlanText(kernel.getName());
  });
  if (described == kernels.end())
    return refuse(op);
  launch.kernel = described - kernels.begin();
  launch.isProgrammatic = op->hasAttr(kProgrammaticAttrName);
  if (launch.isProgrammatic && !waits(kernel))
    return op.emitOpError("expected a kernel with 'nvvm.griddepcontrol wait' "
                          "of a launch with ")
           << kProgrammaticAttrName << ", but got " << op.getKernel();
  Expressions sizes;
  SmallVector<Value> operands = {op.getGridSizeX(),  op.getGridSizeY(),
                                 op.getGridSizeZ(),  op.getBlockSizeX(),
                                 op.getBlockSizeY(), op.getBlockSizeZ()};
  if (op.hasClusterSize())
    operands.append(
        {op.getClusterSizeX(), op.getClusterSizeY(), op.getClusterSizeZ()});
  if (failed(getExpressions(op, operands, sizes)))
    return failure();
  sizes.resize(9, Expression(1));
  for (size_t i = 0; i < 3; ++i) {
    launch.grid[i] = sizes[i];
    launch.block[i] = sizes[3 + i];
    launch.cluster[i] = sizes[6 + i];
  }
  if (Value shared = op.getDynamicSharedMemorySize()) {
    const auto *bytes = find<Expression>(shared);
    if (!bytes)
      return refuse(op, "has an operand that has no form");
    launch.sharedBytes = *bytes;
  }
  for (auto [i, operand] : llvm::enumerate(op.getKernelOperands())) {
    std::optional<ParameterKind> kind = getParameterKind(kernel, i);
    const auto *value = find<Expression>(operand);
    const auto *pointer = find<PlanAddress>(operand);
    const auto *number = find<Float>(operand);
    const auto *map = find<PlanTensorMap>(operand);
    bool isMap = kind == ParameterKind::TensorMap;
    if (!kind || (!value && !pointer && !number && !map) || isMap != !!map)
      return refuse(op, "has an operand that has no form");
    runtime::PlanParameter parameter;
    parameter.kind = *kind;
    if (value)
      parameter.value = *value;
    if (number) {
      parameter.scalar = number->scalar;
      parameter.bits = number->bits;
    }
    if (map)
      parameter.map = *map;
    if (pointer) {
      parameter.address = *pointer;
      int64_t &alignment = plan.buffers[pointer->buffer].alignment;
      if (auto attribute = kernel.getArgAttrOfType<IntegerAttr>(
              i, LLVM::LLVMDialect::getAlignAttrName()))
        alignment = std::max(alignment, attribute.getInt());
    }
    launch.parameters.push_back(std::move(parameter));
  }
  add(std::move(launch));
  return success();
}

/// The name of the swizzle of rows of `bytes` bytes.
static std::string getSwizzleName(uint64_t bytes) {
  return bytes == 0 ? "NONE" : std::to_string(bytes) + "B";
}

LogicalResult Builder::evaluateTensorMap(TensorMapOp op) {
  const auto *pointer = find<PlanAddress>(op.getAddress());
  if (!pointer)
    return refuse(op, "has an operand that has no form");
  bool isPadded = op.getElement() == MapElement::U4Padded;
  PlanTensorMap map;
  map.address = *pointer;
  map.element = getNumber(runtime::kTensorElementNames,
                          isPadded ? "16U4_ALIGN16B" : "UINT8");
  map.box.assign(op.getBox().begin(), op.getBox().end());
  map.elementStrides.assign(map.box.size(), 1);
  map.swizzle =
      getNumber(runtime::kSwizzleNames, getSwizzleName(op.getSwizzle()));
  map.l2Promotion = getNumber(runtime::kPromotionNames, "256B");
  if (failed(getExpressions(op, op.getDims(), map.dims)) ||
      failed(getExpressions(op, op.getStrides(), map.strides)))
    return failure();
  // cuTensorMapEncodeTiled, "globalAddress".
  int64_t &alignment = plan.buffers[pointer->buffer].alignment;
  alignment = std::max<int64_t>(alignment, isPadded ? 32 : 16);
  set(op.getResult(), std::move(map));
  return success();
}

/// A call, evaluated as if the callee's body stood in its place.
LogicalResult Builder::evaluateCall(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock() ||
      llvm::is_contained(callees, callee))
    return refuse(op);
  callees.push_back(callee);
  auto bind = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip_equal(from, to))
      if (auto found = values.find(source); found != values.end())
        set(target, Symbolic(found->second));
  };
  bind(op.getOperands(), callee.getArguments());
  Block &body = callee.getBody().front();
  if (failed(evaluate(body)))
    return failure();
  bind(body.getTerminator()->getOperands(), op.getResults());
  callees.pop_back();
  return success();
}

} // namespace blockscale::plan
