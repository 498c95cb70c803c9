//===- RunTimeChecks.cpp - Rules that only run time decides ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunTimeChecks.h"
#include "Storage/StorageRules.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace blockscale {

std::string describe(Operation *op) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return ("@" + function.getName()).str();
  std::string text = op->getName().getStringRef().str();
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!place)
    return text;
  return (text + " at " + llvm::sys::path::filename(place.getFilename()) + ":" +
          Twine(place.getLine()) + ":" + Twine(place.getColumn()))
      .str();
}

Operation *findPlaceBefore(Operation *op) {
  // Between the ops of such a region nothing else may stand.
  Operation *around = op->getParentOp();
  return isa_and_present<scf::InParallelOp>(around) ? around : op;
}

void RunTimeChecks::begin(Operation *next, Operation *place) {
  op = next;
  place = findPlaceBefore(place);
  isInBody = place->getParentOfType<linalg::LinalgOp>() != nullptr;
  builder.setInsertionPoint(place);
}

bool isElementwise(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isa<ShapedType>(select.getCondition().getType());
  return OpTrait::hasElementwiseMappableTraits(op);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The tensor or memref whose sizes a result of an op has; null where the op
/// says none.
static Value getTwin(OpResult result) {
  Operation *op = result.getOwner();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return destination.getTiedOpOperand(result)->get();
  if (!isElementwise(op))
    return {};
  auto type = cast<ShapedType>(result.getType());
  for (Value operand : op->getOperands()) {
    auto operandType = dyn_cast<RankedTensorType>(operand.getType());
    if (operandType && operandType.getRank() == type.getRank())
      return operand;
  }
  return {};
}

/// The size of a dimension that an op has as an operand; null where it has
/// none.
static OpFoldResult getSizeOperand(Operation *op, int64_t dim) {
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return empty.getMixedSizes()[dim];
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return expand.getMixedOutputShape()[dim];
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    return expand.getMixedOutputShape()[dim];
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    return alloc.getMixedSizes()[dim];
  if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    return generate
        .getDynamicExtents()[generate.getType().getDynamicDimIndex(dim)];
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [i, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped[i] && dim-- == 0)
        return size;
  }
  return {};
}

OpFoldResult RunTimeChecks::getSize(Value shaped, int64_t dim) {
  auto type = cast<ShapedType>(shaped.getType());
  if (!type.isDynamicDim(dim))
    return builder.getIndexAttr(type.getDimSize(dim));
  auto found = sizes.find({shaped, dim});
  if (found != sizes.end())
    return found->second;
  OpFoldResult size;
  if (auto result = dyn_cast<OpResult>(shaped)) {
    Operation *producer = result.getOwner();
    if (isa<tensor::CastOp, memref::CastOp>(producer) &&
        isa<RankedTensorType, MemRefType>(producer->getOperand(0).getType()))
      size = getSize(producer->getOperand(0), dim);
    else if (Value twin = getTwin(result))
      size = getSize(twin, dim);
    else
      size = resolve(getSizeOperand(producer, dim));
  }
  if (!size)
    size = createSize(shaped, dim);
  sizes[{shaped, dim}] = size;
  return size;
}

/// The size that `size`, the size of another value, is known as.
OpFoldResult RunTimeChecks::resolve(OpFoldResult size) {
  auto value = dyn_cast_if_present<Value>(size);
  if (!value)
    return size;
  if (auto dim = value.getDefiningOp<tensor::DimOp>())
    if (auto index = dim.getConstantIndex();
        index && isa<RankedTensorType>(dim.getSource().getType()))
      return getSize(dim.getSource(), *index);
  if (auto dim = value.getDefiningOp<memref::DimOp>())
    if (auto index = dim.getConstantIndex();
        index && isa<MemRefType>(dim.getSource().getType()))
      return getSize(dim.getSource(), *index);
  if (std::optional<int64_t> number = getConstantIntValue(size))
    return builder.getIndexAttr(*number);
  return size;
}

namespace {

/// Keeps the ops that ask for sizes as they are made.
struct DimListener : public OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (isa<tensor::DimOp>(op))
      dims.push_back(cast<tensor::DimOp>(op));
  }
  SmallVector<tensor::DimOp> dims;
};

} // namespace

/// Whether memory will not tell a size: tiles of scales and pairs of codes hide
/// it.
static bool isHidden(Value shaped, int64_t dim) {
  auto type = dyn_cast<RankedTensorType>(shaped.getType());
  return type && needsStorageForm(type) && !isStoredDim(type, dim);
}

/// The size of what an op computes, from those of its operands where the op
/// tells how, behind the op.
OpFoldResult RunTimeChecks::createSize(Value shaped, int64_t dim) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(shaped);
  Location loc = shaped.getLoc();
  auto result = dyn_cast<OpResult>(shaped);
  if (result && isa<ReifyRankedShapedTypeOpInterface>(result.getOwner())) {
    DimListener listener;
    builder.setListener(&listener);
    FailureOr<OpFoldResult> size = reifyDimOfResult(
        builder, result.getOwner(), result.getResultNumber(), dim);
    builder.setListener(nullptr);
    for (tensor::DimOp created : listener.dims) {
      std::optional<int64_t> index = created.getConstantIndex();
      if (!index || created.getSource() == shaped)
        continue;
      if (isHidden(created.getSource(), *index))
        return {};
      OpFoldResult known = resolve(created.getResult());
      auto value = dyn_cast_if_present<Value>(known);
      if (value && value != created.getResult())
        created.getResult().replaceAllUsesWith(value);
    }
    if (succeeded(size))
      return resolve(*size);
  }
  if (isHidden(shaped, dim))
    return {};
  if (isa<MemRefType>(shaped.getType()))
    return memref::DimOp::create(builder, loc, shaped, dim).getResult();
  return tensor::DimOp::create(builder, loc, shaped, dim).getResult();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value RunTimeChecks::getValue(OpFoldResult number) {
  return getValueOrCreateConstantIndexOp(builder, op->getLoc(), number);
}

template <typename OpTy>
OpFoldResult RunTimeChecks::compute(OpFoldResult a, OpFoldResult b) {
  if (!a || !b)
    return {};
  return getAsOpFoldResult(
      builder.createOrFold<OpTy>(op->getLoc(), getValue(a), getValue(b)));
}

OpFoldResult RunTimeChecks::add(OpFoldResult a, OpFoldResult b) {
  return compute<arith::AddIOp>(a, b);
}
OpFoldResult RunTimeChecks::sub(OpFoldResult a, OpFoldResult b) {
  return compute<arith::SubIOp>(a, b);
}
OpFoldResult RunTimeChecks::mul(OpFoldResult a, OpFoldResult b) {
  return compute<arith::MulIOp>(a, b);
}

/// `number`, or the largest index where `isLarger`.
OpFoldResult RunTimeChecks::chooseLargest(Value isLarger, OpFoldResult number) {
  Value largest = getValue(constant(kLargestIndex));
  return getAsOpFoldResult(builder.createOrFold<arith::SelectOp>(
      op->getLoc(), isLarger, largest, getValue(number)));
}

OpFoldResult RunTimeChecks::addBounded(OpFoldResult a, OpFoldResult b) {
  OpFoldResult sum = add(a, b);
  if (!sum || isDevice || isConstantIntValue(a, 0) || isConstantIntValue(b, 0))
    return sum;
  return chooseLargest(
      builder.createOrFold<arith::CmpIOp>(op->getLoc(), CmpIPredicate::slt,
                                          getValue(sum), getValue(constant(0))),
      sum);
}

OpFoldResult RunTimeChecks::mulBounded(OpFoldResult a, OpFoldResult b) {
  bool isConstant = a && b && getConstantIntValue(a) && getConstantIntValue(b);
  if (!a || !b || isDevice || isConstant || isConstantIntValue(a, 1) ||
      isConstantIntValue(b, 1))
    return mul(a, b);
  Location loc = op->getLoc();
  // The high bits, and the sign of the low ones.
  auto whole =
      arith::MulUIExtendedOp::create(builder, loc, getValue(a), getValue(b));
  Value isHigh = arith::CmpIOp::create(builder, loc, CmpIPredicate::ne,
                                       whole.getHigh(), getValue(constant(0)));
  Value isNegative = arith::CmpIOp::create(
      builder, loc, CmpIPredicate::slt, whole.getLow(), getValue(constant(0)));
  return chooseLargest(
      arith::OrIOp::create(builder, loc, isHigh, isNegative).getResult(),
      whole.getLow());
}

OpFoldResult RunTimeChecks::floorDiv(OpFoldResult a, int64_t b) {
  return compute<arith::FloorDivSIOp>(a, constant(b));
}

OpFoldResult RunTimeChecks::min(OpFoldResult a, OpFoldResult b) {
  return compute<arith::MinSIOp>(a, b);
}
OpFoldResult RunTimeChecks::max(OpFoldResult a, OpFoldResult b) {
  return compute<arith::MaxSIOp>(a, b);
}

OpFoldResult RunTimeChecks::constant(int64_t number) {
  return builder.getIndexAttr(number);
}

OpFoldResult RunTimeChecks::chooseIfZero(OpFoldResult condition, OpFoldResult a,
                                         OpFoldResult b) {
  if (!condition || !a || !b)
    return {};
  if (isProved(condition, CmpIPredicate::sgt, constant(0)))
    return b;
  Location loc = op->getLoc();
  Value isZero = builder.createOrFold<arith::CmpIOp>(
      loc, CmpIPredicate::eq, getValue(condition), getValue(constant(0)));
  return getAsOpFoldResult(builder.createOrFold<arith::SelectOp>(
      loc, isZero, getValue(a), getValue(b)));
}

bool RunTimeChecks::isProved(OpFoldResult left, CmpIPredicate relation,
                             OpFoldResult right) {
  if (!left || !right)
    return false;
  std::optional<int64_t> a = getConstantIntValue(left);
  std::optional<int64_t> b = getConstantIntValue(right);
  if (a && b)
    return arith::applyCmpPredicate(relation, APInt(64, *a, true),
                                    APInt(64, *b, true));
  using Set = ValueBoundsConstraintSet;
  Set::ComparisonOperator comparison;
  switch (relation) {
  case CmpIPredicate::eq:
    comparison = Set::EQ;
    break;
  case CmpIPredicate::sge:
    comparison = Set::GE;
    break;
  case CmpIPredicate::sgt:
    comparison = Set::GT;
    break;
  case CmpIPredicate::sle:
    comparison = Set::LE;
    break;
  case CmpIPredicate::slt:
    comparison = Set::LT;
    break;
  default:
    return false;
  }
  if (left == right)
    return comparison != Set::LT && comparison != Set::GT;
  auto isIndex = [](OpFoldResult number) {
    auto value = dyn_cast<Value>(number);
    return !value || value.getType().isIndex();
  };
  return isIndex(left) && isIndex(right) &&
         Set::compare(left, comparison, right);
}

/// Whether the host of a device computes with `op`.
static bool isHostArithmetic(Operation *op) {
  return isa<affine::AffineApplyOp, arith::AddIOp, arith::AndIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::CmpIOp,
             arith::ConstantOp, arith::DivSIOp, arith::DivUIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::FloorDivSIOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::MaxSIOp, arith::MaxUIOp,
             arith::MinSIOp, arith::MinUIOp, arith::MulIOp, arith::OrIOp,
             arith::RemSIOp, arith::RemUIOp, arith::SelectOp, arith::SubIOp,
             arith::TruncIOp, arith::XOrIOp>(op);
}

bool RunTimeChecks::isKnownToHost(OpFoldResult number) {
  auto value = dyn_cast<Value>(number);
  if (!value)
    return true;
  SmallVector<Value> worklist{value};
  llvm::SmallDenseSet<Value> seen{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!next.getType().isIntOrIndex())
      return false;
    Operation *producer = next.getDefiningOp();
    if (!producer) {
      auto argument = cast<BlockArgument>(next);
      Operation *parent = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::ForOp>(parent);
      bool isNumber =
          isa<func::FuncOp>(parent) && argument.getOwner()->isEntryBlock();
      if (!isNumber && (!loop || argument != loop.getInductionVar()))
        return false;
      continue;
    }
    if (isa<tensor::DimOp, memref::DimOp>(producer))
      continue;
    if (!isHostArithmetic(producer))
      return false;
    for (Value operand : producer->getOperands())
      if (seen.insert(operand).second)
        worklist.push_back(operand);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

void RunTimeChecks::require(OpFoldResult found, CmpIPredicate relation,
                            OpFoldResult bound, const Twine &rule) {
  if (found && bound && isForHost(found, bound))
    requireWhereRead(found, relation, bound, rule);
}

/// Whether the host asserts a relation of two numbers where ops are inserted.
bool RunTimeChecks::isForHost(OpFoldResult found, OpFoldResult bound) const {
  return !isDevice ||
         (!isInBody && isKnownToHost(found) && isKnownToHost(bound));
}

void RunTimeChecks::requireWhereRead(OpFoldResult found, CmpIPredicate relation,
                                     OpFoldResult bound, const Twine &rule) {
  if (!found || !bound || isProved(found, relation, bound))
    return;
  std::tuple key(found.getOpaqueValue(), static_cast<unsigned>(relation),
                 bound.getOpaqueValue());
  bool isEntry = builder.getInsertionBlock() == &function.getBody().front();
  if (isEntry ? !known.insert(key).second : known.contains(key))
    return;
  Location loc = op->getLoc();
  Value number = getValue(found), limit;
  std::optional<int64_t> known = getConstantIntValue(bound);
  if (known && !number.getType().isIndex())
    limit = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(number.getType(), *known));
  else
    limit = getValue(bound);
  Value holds = arith::CmpIOp::create(builder, loc, relation, number, limit);
  auto check = cf::AssertOp::create(
      builder, loc, holds, (describe(op) + ": expected " + rule).str());
  if (isForHost(found, bound))
    asserts.push_back(check);
}

/// A constant, or the name of what is none.
static std::string getText(OpFoldResult number, const Twine &name) {
  std::optional<int64_t> constant =
      number ? getConstantIntValue(number) : std::nullopt;
  return constant ? std::to_string(*constant) : name.str();
}

void RunTimeChecks::requireEqual(OpFoldResult found, const Twine &name,
                                 OpFoldResult bound, const Twine &boundName) {
  if (!found || !bound)
    return;
  // What the call has is found; what the type has is expected.
  if (getConstantIntValue(found) && !getConstantIntValue(bound))
    return require(bound, CmpIPredicate::eq, found,
                   boundName + " to be " + getText(found, name));
  require(found, CmpIPredicate::eq, bound,
          name + " to be " + getText(bound, boundName));
}

void RunTimeChecks::requireAtLeast(OpFoldResult found, const Twine &name,
                                   OpFoldResult bound, const Twine &boundName) {
  if (getConstantIntValue(found) && bound && !getConstantIntValue(bound))
    return require(bound, CmpIPredicate::sle, found,
                   boundName + " to be at most " + getText(found, name));
  require(found, CmpIPredicate::sge, bound,
          name + " to be at least " + getText(bound, boundName));
}

void RunTimeChecks::requireAtMost(OpFoldResult found, const Twine &name,
                                  OpFoldResult bound, const Twine &boundName) {
  if (getConstantIntValue(found) && bound && !getConstantIntValue(bound))
    return require(bound, CmpIPredicate::sge, found,
                   boundName + " to be at least " + getText(found, name));
  require(found, CmpIPredicate::sle, bound,
          name + " to be at most " + getText(bound, boundName));
}

Value RunTimeChecks::findOverflow(Value number, Value divisor, unsigned width) {
  Location loc = op->getLoc();
  APInt least = APInt::getSignedMinValue(width);
  if (auto constant = getConstantIntValue(number);
      constant && *constant != least.getSExtValue())
    return {};
  Type type = number.getType();
  auto getNumber = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  Value isLeast = builder.createOrFold<arith::CmpIOp>(loc, CmpIPredicate::eq,
                                                      number, getNumber(least));
  return builder.createOrFold<arith::SelectOp>(loc, isLeast, divisor,
                                               getNumber(APInt(width, 1)));
}

//===----------------------------------------------------------------------===//
// Hoisting
//===----------------------------------------------------------------------===//

/// Whether `op` may run earlier than it stands, if its operands are known.
static bool isMovable(Operation *op) {
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return type.isIntOrIndex(); });
}

/// Collects the ops of `block` that compute `value` and may move, in order, and
/// the last one that may not.
static void collectSlice(Value value, Block *block,
                         llvm::SetVector<Operation *> &slice,
                         Operation *&last) {
  Operation *producer = value.getDefiningOp();
  if (!producer || producer->getBlock() != block || slice.contains(producer))
    return;
  if (!isMovable(producer)) {
    if (!last || last->isBeforeInBlock(producer))
      last = producer;
    return;
  }
  for (Value operand : producer->getOperands())
    collectSlice(operand, block, slice, last);
  slice.insert(producer);
}

void RunTimeChecks::hoist() {
  Block *entry = &function.getBody().front();
  // Behind the last assertion, so that they stay in order.
  Operation *place = nullptr;
  for (cf::AssertOp check : asserts) {
    if (check->getBlock() != entry)
      continue;
    llvm::SetVector<Operation *> slice;
    Operation *last = place;
    collectSlice(check.getArg(), entry, slice, last);
    auto move = [&](Operation *moved) {
      if (!last)
        moved->moveBefore(entry, entry->begin());
      else if (last->isBeforeInBlock(moved))
        moved->moveAfter(last);
      else
        return;
      last = moved;
    };
    llvm::for_each(slice, move);
    move(check);
    place = check;
  }
}

} // namespace blockscale
