//===- CheckElements.cpp - Rules of ops about indices and divisors --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunTimeChecks.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace blockscale {

#define GEN_PASS_DEF_CHECKELEMENTS
#include "blockscale/Transforms/Passes.h.inc"

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

namespace {

/// An index that one loop of a linalg op moves: the loop's index, forward or
/// backward, from `begin` on.
struct MovingIndex {
  unsigned loop;
  bool isForward;
  OpFoldResult begin;
};

/// Checks the indices of ops that read or write an element, and divisors. In
/// the body of a linalg op, what holds for all of its iterations is asserted
/// once, before the op. What only the kernel of a device knows is asserted
/// there, and another number takes its place where it breaks the rule.
class ElementChecker {
public:
  ElementChecker(RunTimeChecks &checks, bool isDevice)
      : checks(checks), isDevice(isDevice) {}

  /// Checks that `count` elements from `index` on, an operand of `op`, lie in
  /// dimension `dim` of `memory`.
  void checkIndex(Operation *op, OpOperand &index, Value memory, int64_t dim,
                  int64_t count, StringRef name);

  /// Checks an integer division: one by zero, and one whose quotient is too
  /// large, end the process on the CPU.
  void checkDivision(Operation *op);

  /// Checks the step of a loop in the body of a linalg op; of other ones it is
  /// checked before (blockscale-check-sizes).
  void checkStep(scf::ForOp loop);

private:
  void begin(Operation *op);
  OpFoldResult getHost(Value value);
  std::optional<MovingIndex> findMoving(Value index);
  OpFoldResult getLoopSize(unsigned loop);
  bool isNotNegative(Value index);
  bool isBelow(Value index);
  void requireBefore(OpFoldResult found, CmpIPredicate relation,
                     OpFoldResult bound, const Twine &rule);
  void clamp(OpOperand &index);
  void replaceWhere(Value found, CmpIPredicate relation, int64_t bound,
                    OpOperand &number, int64_t other);
  void checkDivisor(Operation *op);
  void checkQuotient(Operation *op);

  RunTimeChecks &checks;
  bool isDevice;
  /// The linalg op around; null where there is none.
  linalg::LinalgOp body;
  /// Whether each of its iterations runs the op.
  bool isUnconditional = false;
  /// What indices have to be below: the size, less the further elements.
  OpFoldResult end;
  /// What is expected, without the relation.
  std::string subject, belowEnd;
};

} // namespace

/// `value` as a number before the linalg op around, which all iterations share;
/// null where it is none.
OpFoldResult ElementChecker::getHost(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return checks.constant(*number);
  if (!body || !body->isAncestor(value.getParentRegion()->getParentOp())) {
    bool isKnown = value.getType().isIndex() &&
                   (!isDevice || RunTimeChecks::isKnownToHost(value));
    return isKnown ? OpFoldResult(value) : OpFoldResult();
  }
  Operation *producer = value.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp>(producer) ||
      !value.getType().isIndex())
    return {};
  OpFoldResult left = getHost(producer->getOperand(0));
  OpFoldResult right = left ? getHost(producer->getOperand(1)) : left;
  if (!right)
    return {};
  if (isa<arith::AddIOp>(producer))
    return checks.add(left, right);
  return isa<arith::SubIOp>(producer) ? checks.sub(left, right)
                                      : checks.mul(left, right);
}

/// The number of iterations of a loop; null where no operand says it.
OpFoldResult ElementChecker::getLoopSize(unsigned loop) {
  for (OpOperand &operand : body->getOpOperands())
    if (isa<ShapedType>(operand.get().getType()))
      for (auto [dim, expr] :
           llvm::enumerate(body.getMatchingIndexingMap(&operand).getResults()))
        if (expr == getAffineDimExpr(loop, body->getContext()))
          return checks.getSize(operand.get(), dim);
  return {};
}

/// Which loop moves `index`, if one does: the loop's index, which numbers that
/// all iterations share are added to or which is subtracted from one.
std::optional<MovingIndex> ElementChecker::findMoving(Value index) {
  Operation *producer = index.getDefiningOp();
  if (auto loop = dyn_cast_if_present<linalg::IndexOp>(producer)) {
    auto number = static_cast<unsigned>(loop.getDim());
    if (loop->getParentOp() != body || !getLoopSize(number))
      return std::nullopt;
    return MovingIndex{number, true, checks.constant(0)};
  }
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(producer))
    return std::nullopt;
  Value left = producer->getOperand(0), right = producer->getOperand(1);
  bool isSum = isa<arith::AddIOp>(producer);
  if (OpFoldResult number = getHost(right)) {
    std::optional<MovingIndex> moving = findMoving(left);
    if (moving)
      moving->begin = isSum ? checks.add(moving->begin, number)
                            : checks.sub(moving->begin, number);
    return moving;
  }
  OpFoldResult number = getHost(left);
  std::optional<MovingIndex> moving =
      number ? findMoving(right) : std::optional<MovingIndex>();
  if (!moving)
    return std::nullopt;
  moving->begin = isSum ? checks.add(number, moving->begin)
                        : checks.sub(number, moving->begin);
  moving->isForward ^= !isSum;
  return moving;
}

/// Asserts before the linalg op around, unless it has no iterations.
void ElementChecker::requireBefore(OpFoldResult found, CmpIPredicate relation,
                                   OpFoldResult bound, const Twine &rule) {
  // A number for which the relation holds.
  OpFoldResult good = relation == CmpIPredicate::sge
                          ? bound
                          : checks.sub(bound, checks.constant(1));
  for (unsigned loop = 0; loop < body.getNumLoops(); ++loop)
    if (OpFoldResult size = getLoopSize(loop))
      found = checks.chooseIfZero(size, good, found);
  checks.require(found, relation, bound, rule);
}

/// The index before it was cast to a wider type.
static Value stripCasts(Value index) {
  while (auto cast = index.getDefiningOp<arith::IndexCastOp>())
    index = cast.getIn();
  return index;
}

/// Whether `index` is proved to be 0 or more, or is asserted to be so once for
/// all iterations.
bool ElementChecker::isNotNegative(Value index) {
  OpFoldResult zero = checks.constant(0);
  if (RunTimeChecks::isProved(getAsOpFoldResult(index), CmpIPredicate::sge,
                              zero))
    return true;
  OpFoldResult host = getHost(index);
  if (host && isUnconditional) {
    requireBefore(host, CmpIPredicate::sge, zero,
                  subject + " to be at least 0");
    return true;
  }
  index = stripCasts(index);
  if (auto larger = index.getDefiningOp<arith::MaxSIOp>()) {
    auto isZeroOrMore = [](Value value) {
      std::optional<int64_t> number = getConstantIntValue(value);
      return number && *number >= 0;
    };
    return isZeroOrMore(larger.getLhs()) || isZeroOrMore(larger.getRhs());
  }
  if (auto smaller = index.getDefiningOp<arith::MinSIOp>())
    return isNotNegative(smaller.getLhs()) && isNotNegative(smaller.getRhs());
  std::optional<MovingIndex> moving = findMoving(index);
  if (!moving || !isUnconditional)
    return false;
  OpFoldResult least = moving->begin;
  if (!moving->isForward)
    least = checks.add(checks.sub(least, getLoopSize(moving->loop)),
                       checks.constant(1));
  requireBefore(least, CmpIPredicate::sge, zero, subject + " to be at least 0");
  return true;
}

/// Whether `index` is proved to be below the end, or is asserted to be so once
/// for all iterations.
bool ElementChecker::isBelow(Value index) {
  auto isProved = [&](OpFoldResult number) {
    return RunTimeChecks::isProved(number, CmpIPredicate::slt, end);
  };
  if (isProved(getAsOpFoldResult(index)))
    return true;
  OpFoldResult host = getHost(index);
  if (host && isProved(host))
    return true;
  if (host && isUnconditional) {
    requireBefore(host, CmpIPredicate::slt, end, belowEnd);
    return true;
  }
  index = stripCasts(index);
  if (auto smaller = index.getDefiningOp<arith::MinSIOp>())
    // One of the two is enough, so that none is asserted by itself.
    return llvm::any_of(smaller->getOperands(), [&](Value operand) {
      OpFoldResult number = getHost(operand);
      return number && isProved(number);
    });
  if (auto larger = index.getDefiningOp<arith::MaxSIOp>())
    return isBelow(larger.getLhs()) && isBelow(larger.getRhs());
  std::optional<MovingIndex> moving = findMoving(index);
  if (!moving || !isUnconditional)
    return false;
  OpFoldResult greatest = moving->begin;
  if (moving->isForward)
    greatest = checks.sub(checks.add(greatest, getLoopSize(moving->loop)),
                          checks.constant(1));
  requireBefore(greatest, CmpIPredicate::slt, end, belowEnd);
  return true;
}

/// Moves an index that only the device knows to the nearest element, so that
/// the kernel reads and writes no foreign memory:
///
///   tensor.extract %x[%i]
/// becomes
///   %low = arith.maxsi %i, %c0
///   tensor.extract %x[arith.minsi(%low, %last)]
void ElementChecker::clamp(OpOperand &index) {
  OpFoldResult one = checks.constant(1);
  if (body)
    requireBefore(end, CmpIPredicate::sge, one,
                  "elements to read or write where " + subject + " points");
  else
    checks.require(end, CmpIPredicate::sge, one,
                   "elements to read or write where " + subject + " points");
  OpBuilder builder(index.getOwner());
  Location loc = index.getOwner()->getLoc();
  auto create = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(builder, loc, number);
  };
  OpFoldResult last = checks.sub(end, one);
  Value low = arith::MaxSIOp::create(builder, loc, index.get(),
                                     create(checks.constant(0)));
  index.set(arith::MinSIOp::create(builder, loc, low, create(last)));
}

/// Looks at the body around `op`. What is asserted next stands before that.
void ElementChecker::begin(Operation *op) {
  body = op->getParentOfType<linalg::LinalgOp>();
  isUnconditional = body && op->getBlock() == body.getBlock();
  checks.begin(op, body ? body.getOperation() : op);
}

void ElementChecker::checkIndex(Operation *op, OpOperand &index, Value memory,
                                int64_t dim, int64_t count, StringRef name) {
  begin(op);
  end = checks.sub(checks.getSize(memory, dim), checks.constant(count - 1));
  if (!end)
    return;
  subject = name.str();
  std::optional<int64_t> limit = getConstantIntValue(end);
  belowEnd = subject + " to be below " +
             (limit ? std::to_string(*limit)
                    : "the size of dimension " + std::to_string(dim));
  bool isDone = isNotNegative(index.get());
  isDone &= isBelow(index.get());
  if (isDone)
    return;
  Value found = index.get();
  if (isDevice && (body || !RunTimeChecks::isKnownToHost(found)))
    clamp(index);
  checks.begin(op, op);
  checks.requireWhereRead(found, CmpIPredicate::sge, checks.constant(0),
                          subject + " to be at least 0");
  checks.requireWhereRead(found, CmpIPredicate::slt, end, belowEnd);
}

/// Checks all indices of an op, from `indices` on, into `memory`. The last
/// dimensions are those of a vector of sizes `vector`.
static void checkIndices(Operation *op, MutableOperandRange indices,
                         Value memory, ArrayRef<int64_t> vector,
                         ElementChecker &checker) {
  if (!isa<RankedTensorType, MemRefType>(memory.getType()))
    return;
  size_t rank = indices.size();
  for (auto [dim, index] : llvm::enumerate(indices)) {
    bool isVector = dim + vector.size() >= rank;
    checker.checkIndex(op, index, memory, dim,
                       isVector ? vector[dim + vector.size() - rank] : 1,
                       "index " + std::to_string(dim));
  }
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

/// Whether `divisor` was made another number than zero:
/// arith.select (%x == 0), constant, %x.
static bool isMadeNotZero(Value divisor) {
  auto choice = divisor.getDefiningOp<arith::SelectOp>();
  if (!choice)
    return false;
  auto compare = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  auto number = getConstantIntValue(choice.getTrueValue());
  return compare && number && *number != 0 &&
         compare.getPredicate() == CmpIPredicate::eq &&
         compare.getLhs() == choice.getFalseValue() &&
         matchPattern(compare.getRhs(), m_Zero());
}

/// Lets `op` read `other` in the place of a number that breaks a rule and that
/// only a kernel has:
///
///   arith.divsi %a, %b
/// becomes
///   %isZero = arith.cmpi eq, %b, %c0
///   arith.divsi %a, arith.select(%isZero, %c1, %b)
void ElementChecker::replaceWhere(Value found, CmpIPredicate relation,
                                  int64_t bound, OpOperand &number,
                                  int64_t other) {
  if (!isDevice || (!body && RunTimeChecks::isKnownToHost(found)))
    return;
  OpBuilder builder(number.getOwner());
  Location loc = number.getOwner()->getLoc();
  auto create = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(found.getType(), value));
  };
  Value isBroken =
      arith::CmpIOp::create(builder, loc, relation, found, create(bound));
  number.set(arith::SelectOp::create(builder, loc, isBroken, create(other),
                                     number.get()));
}

void ElementChecker::checkDivisor(Operation *op) {
  OpOperand &operand = op->getOpOperand(1);
  Value divisor = operand.get();
  std::optional<int64_t> known = getConstantIntValue(divisor);
  OpFoldResult zero = checks.constant(0);
  bool isRight =
      known ? *known != 0
            : isMadeNotZero(divisor) ||
                  RunTimeChecks::isProved(divisor, CmpIPredicate::sgt, zero);
  if (isRight)
    return;
  constexpr StringLiteral rule = "another divisor than 0";
  OpFoldResult host = getHost(divisor);
  if (host && isUnconditional)
    return requireBefore(host, CmpIPredicate::ne, zero, rule);
  checks.begin(op, op);
  checks.requireWhereRead(divisor, CmpIPredicate::ne, zero, rule);
  replaceWhere(divisor, CmpIPredicate::eq, 0, operand, 1);
}

void ElementChecker::checkQuotient(Operation *op) {
  OpOperand &operand = op->getOpOperand(1);
  Value divisor = operand.get();
  Type type = divisor.getType();
  std::optional<int64_t> known = getConstantIntValue(divisor);
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  bool mayBeMinusOne =
      known ? *known == -1
            : !RunTimeChecks::isProved(divisor, CmpIPredicate::sge,
                                       checks.constant(0));
  if (!mayBeMinusOne || width < 2 || width > 64)
    return;
  checks.begin(op, op);
  Value found = checks.findOverflow(op->getOperand(0), divisor, width);
  if (!found)
    return;
  checks.requireWhereRead(found, CmpIPredicate::ne, checks.constant(-1),
                          "another divisor of the smallest number than -1");
  replaceWhere(found, CmpIPredicate::eq, -1, operand, 1);
}

void ElementChecker::checkDivision(Operation *op) {
  if (!op->getOperand(1).getType().isIntOrIndex())
    return;
  begin(op);
  checkDivisor(op);
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
    checkQuotient(op);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ElementChecker::checkStep(scf::ForOp loop) {
  begin(loop);
  if (!body)
    return;
  checks.begin(loop, loop);
  Value step = loop.getStep();
  checks.requireWhereRead(step, CmpIPredicate::sge, checks.constant(1),
                          kStepRule);
  replaceWhere(step, CmpIPredicate::slt, 1, loop.getStepMutable(), 1);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks a read or write of a vector that says of dimensions that it stays
/// within them.
template <typename OpTy>
static void checkTransfer(OpTy op, ElementChecker &checker) {
  MutableOperandRange indices = op.getIndicesMutable();
  if (!isa<RankedTensorType, MemRefType>(op.getBase().getType()) ||
      op.getMask())
    return;
  for (auto [number, expr] :
       llvm::enumerate(op.getPermutationMap().getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !op.isDimInBounds(number))
      continue;
    unsigned position = dim.getPosition();
    checker.checkIndex(op, indices[position], op.getBase(), position,
                       op.getVectorType().getDimSize(number),
                       "index " + std::to_string(position));
  }
}

namespace {

struct CheckElementsPass : public impl::CheckElementsBase<CheckElementsPass> {
  using CheckElementsBase::CheckElementsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    RunTimeChecks checks(function, device);
    ElementChecker checker(checks, device);
    SmallVector<Operation *> ops;
    function->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](tensor::ExtractOp o) {
            checkIndices(o, o.getIndicesMutable(), o.getTensor(), {}, checker);
          })
          .Case([&](tensor::InsertOp o) {
            checkIndices(o, o.getIndicesMutable(), o.getDest(), {}, checker);
          })
          .Case<memref::LoadOp, memref::StoreOp>([&](auto o) {
            checkIndices(o, o.getIndicesMutable(), o.getMemRef(), {}, checker);
          })
          .Case<vector::LoadOp, vector::StoreOp>([&](auto o) {
            checkIndices(o, o.getIndicesMutable(), o.getBase(),
                         o.getVectorType().getShape(), checker);
          })
          .Case<vector::TransferReadOp, vector::TransferWriteOp>(
              [&](auto o) { checkTransfer(o, checker); })
          .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
              [&](auto) { checker.checkDivision(op); })
          .Case([&](scf::ForOp loop) { checker.checkStep(loop); });
    checks.hoist();
  }
};

} // namespace
} // namespace blockscale
