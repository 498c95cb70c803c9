//===- CheckSizes.cpp - Rules of ops about sizes --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's generate-runtime-verification is not used here, for three reasons.
// It has models of the ops of linalg, memref and tensor alone, and of those not
// of all. Its messages hold the text of the op and no number. And it asserts
// where the op stands, behind what is written already.
//
//===----------------------------------------------------------------------===//

#include "RunTimeChecks.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace blockscale {

#define GEN_PASS_DEF_CHECKSIZES
#include "blockscale/Transforms/Passes.h.inc"

/// Dimension `dim` of what `name` is, as messages have it.
static std::string getDimName(int64_t dim, const Twine &name) {
  return ("dimension " + Twine(dim) + " of " + name).str();
}

static std::string getOperandName(int64_t dim, unsigned operand) {
  return getDimName(dim, "operand " + Twine(operand));
}

static int64_t getRank(Value shaped) {
  return cast<ShapedType>(shaped.getType()).getRank();
}

static bool isRanked(Value value) {
  return isa<RankedTensorType, MemRefType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Ops on elements
//===----------------------------------------------------------------------===//

namespace {

/// The number of iterations of a loop, and the operand's dimension that says
/// it.
struct LoopSize {
  OpFoldResult size;
  std::string name;
};

/// The least and the greatest place that an indexing map asks for.
struct Places {
  OpFoldResult first, last;
};

} // namespace

/// The places of the remainder of what has `places` by `divisor`. Where that
/// leaves out numbers, or does not begin at 0, they may be fewer.
static Places getRemainders(const Places &places, int64_t divisor,
                            RunTimeChecks &checks) {
  OpFoldResult last = checks.constant(divisor - 1);
  if (isConstantIntValue(places.first, 0))
    last = checks.min(places.last, last);
  return Places{checks.constant(0), last};
}

/// The places of `expr` where each loop begins at 0. Where several terms of a
/// sum have one loop they may be fewer. Fails for a factor or divisor that is
/// no positive constant.
static FailureOr<Places> getPlaces(AffineExpr expr, ArrayRef<LoopSize> loops,
                                   RunTimeChecks &checks) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    OpFoldResult place = checks.constant(number.getValue());
    return Places{place, place};
  }
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    OpFoldResult size = loops[loop.getPosition()].size;
    if (!size)
      return failure();
    return Places{checks.constant(0), checks.sub(size, checks.constant(1))};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  FailureOr<Places> left = getPlaces(binary.getLHS(), loops, checks);
  if (failed(left))
    return failure();
  if (expr.getKind() == AffineExprKind::Add) {
    FailureOr<Places> right = getPlaces(binary.getRHS(), loops, checks);
    if (failed(right))
      return failure();
    return Places{checks.add(left->first, right->first),
                  checks.add(left->last, right->last)};
  }
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!factor ||
      (expr.getKind() != AffineExprKind::Mul && factor.getValue() <= 0))
    return failure();
  auto divide = [&](int64_t added) {
    auto quotient = [&](OpFoldResult number) {
      return checks.floorDiv(checks.add(number, checks.constant(added)),
                             factor.getValue());
    };
    return Places{quotient(left->first), quotient(left->last)};
  };
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return divide(0);
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return divide(factor.getValue() - 1);
  if (expr.getKind() == AffineExprKind::Mod)
    return getRemainders(*left, factor.getValue(), checks);
  OpFoldResult number = checks.constant(factor.getValue());
  Places places{checks.mul(left->first, number),
                checks.mul(left->last, number)};
  if (factor.getValue() < 0)
    std::swap(places.first, places.last);
  return places;
}

/// Each operand has the elements that its indexing map asks for.
static void checkLinalg(linalg::LinalgOp op, RunTimeChecks &checks) {
  SmallVector<LoopSize> loops(op.getNumLoops());
  auto forEachDim = [&](auto &&visit) {
    for (OpOperand &operand : op->getOpOperands())
      if (isRanked(operand.get()))
        for (auto [dim, expr] :
             llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
          visit(operand, dim, expr);
  };
  auto getSize = [&](OpOperand &operand, int64_t dim) {
    return checks.getSize(operand.get(), dim);
  };
  forEachDim([&](OpOperand &operand, int64_t dim, AffineExpr expr) {
    auto index = dyn_cast<AffineDimExpr>(expr);
    if (!index)
      return;
    LoopSize &loop = loops[index.getPosition()];
    OpFoldResult size = getSize(operand, dim);
    // A size that a type says is the one that is expected.
    if (!loop.size ||
        (getConstantIntValue(size) && !getConstantIntValue(loop.size)))
      loop = {size, getOperandName(dim, operand.getOperandNumber())};
  });
  forEachDim([&](OpOperand &operand, int64_t dim, AffineExpr expr) {
    std::string name = getOperandName(dim, operand.getOperandNumber());
    OpFoldResult size = getSize(operand, dim);
    if (auto index = dyn_cast<AffineDimExpr>(expr)) {
      const LoopSize &loop = loops[index.getPosition()];
      return checks.requireEqual(size, name, loop.size, loop.name);
    }
    FailureOr<Places> places = getPlaces(expr, loops, checks);
    if (failed(places))
      return;
    OpFoldResult needed = checks.add(places->last, checks.constant(1));
    // A loop without iterations reads nothing.
    for (const auto &[number, loop] : llvm::enumerate(loops))
      if (expr.isFunctionOfDim(number))
        needed = checks.chooseIfZero(loop.size, checks.constant(0), needed);
    checks.requireAtLeast(places->first, "the first place in " + name,
                          checks.constant(0), "0");
    checks.requireAtLeast(size, name, needed,
                          "what the loops of the op read or write");
  });
}

/// All operands have the same sizes.
static void checkElementwise(Operation *op, RunTimeChecks &checks) {
  OpOperand *first = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    if (!first) {
      first = &operand;
      continue;
    }
    for (int64_t dim = 0; dim < getRank(operand.get()); ++dim)
      checks.requireEqual(checks.getSize(operand.get(), dim),
                          getOperandName(dim, operand.getOperandNumber()),
                          checks.getSize(first->get(), dim),
                          getOperandName(dim, first->getOperandNumber()));
  }
}

//===----------------------------------------------------------------------===//
// Ops on shapes
//===----------------------------------------------------------------------===//

/// Requires that two values have the same sizes.
static void checkSameSizes(Value value, StringRef name, Value other,
                           StringRef otherName, RunTimeChecks &checks) {
  if (!isRanked(value) || !isRanked(other) || getRank(value) != getRank(other))
    return;
  for (int64_t dim = 0; dim < getRank(value); ++dim)
    checks.requireEqual(checks.getSize(value, dim), getDimName(dim, name),
                        checks.getSize(other, dim), getDimName(dim, otherName));
}

/// A size that only the type of the result says is that of the source.
static void checkCast(Operation *op, RunTimeChecks &checks) {
  Value source = op->getOperand(0), result = op->getResult(0);
  if (!isRanked(source) || !isRanked(result))
    return;
  auto type = cast<ShapedType>(result.getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(size))
      checks.requireEqual(checks.getSize(source, dim),
                          getDimName(dim, "the source"), checks.constant(size),
                          "");
}

/// The operand that is the offset of dimension `dim`, which is dynamic.
/// getIndexOfDynamicOffset counts from the destination of a
/// tensor.parallel_insert_slice.
static OpOperand &getOffsetOperand(OffsetSizeAndStrideOpInterface op,
                                   int64_t dim) {
  ptrdiff_t before = llvm::count_if(op.getStaticOffsets().take_front(dim),
                                    ShapedType::isDynamic);
  return op->getOpOperand(op.getOffsets().getBeginOperandIndex() + before);
}

/// Moves a part whose begin only the device knows to the nearest one that lies
/// in the whole, so that the kernel accesses no foreign memory: it begins at
/// `last` or before.
static void clampOffset(OffsetSizeAndStrideOpInterface op, int64_t dim,
                        OpFoldResult last, const Twine &limit,
                        RunTimeChecks &checks) {
  OpOperand &operand = getOffsetOperand(op, dim);
  Value found = operand.get();
  std::string name = "offset " + std::to_string(dim);
  OpFoldResult zero = checks.constant(0);
  checks.requireWhereRead(found, arith::CmpIPredicate::sge, zero,
                          name + " to be at least 0");
  checks.requireWhereRead(found, arith::CmpIPredicate::sle, last,
                          name + " to be at most " + limit);
  OpBuilder builder(findPlaceBefore(op));
  auto create = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(builder, op->getLoc(), number);
  };
  Value low =
      arith::MinSIOp::create(builder, op->getLoc(), found, create(last));
  operand.set(arith::MaxSIOp::create(builder, op->getLoc(), low, create(zero)));
}

/// The part lies in `whole`: its first element, and its last one.
static void checkPart(OffsetSizeAndStrideOpInterface op, Value whole,
                      StringRef wholeName, RunTimeChecks &checks) {
  OpFoldResult zero = checks.constant(0), one = checks.constant(1);
  for (auto [dim, range] : llvm::enumerate(llvm::zip_equal(
           op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides()))) {
    auto [offset, size, stride] = range;
    std::string offsetName = "offset " + std::to_string(dim);
    std::string sizeName = "size " + std::to_string(dim);
    std::string wholeDim = getDimName(dim, wholeName);
    OpFoldResult extent = checks.getSize(whole, dim);
    checks.requireAtLeast(offset, offsetName, zero, "");
    checks.requireAtLeast(size, sizeName, zero, "");
    checks.requireAtMost(size, sizeName, extent, wholeDim);
    OpFoldResult length = size;
    std::optional<int64_t> step = getConstantIntValue(stride);
    if (step != 1) {
      checks.requireAtLeast(stride, "stride " + Twine(dim), one, "");
      // A longer stride reaches as far as one of the whole length.
      OpFoldResult reach = step && getConstantIntValue(extent)
                               ? stride
                               : checks.min(stride, checks.max(extent, one));
      length = checks.add(checks.mul(checks.sub(size, one), reach), one);
      length = checks.chooseIfZero(size, zero, length);
    }
    // Offset and length are not added where the sum could overflow.
    if (getConstantIntValue(offset))
      checks.requireAtMost(checks.add(offset, length),
                           "the end of the part in dimension " + Twine(dim),
                           extent, wholeDim);
    else if (OpFoldResult last = checks.sub(extent, length);
             last && checks.isForDevice(offset)) {
      std::optional<int64_t> limit = getConstantIntValue(last);
      clampOffset(op, dim, last,
                  limit ? std::to_string(*limit)
                        : wholeDim + " without the part",
                  checks);
    } else {
      checks.requireAtMost(offset, offsetName, last,
                           wholeDim + " without the part");
    }
  }
}

/// What is inserted has the sizes of the part.
static void checkInserted(OffsetSizeAndStrideOpInterface op, Value source,
                          const llvm::SmallBitVector &dropped,
                          RunTimeChecks &checks) {
  int64_t dim = 0;
  for (auto [i, size] : llvm::enumerate(op.getMixedSizes())) {
    if (dropped[i])
      continue;
    checks.requireEqual(checks.getSize(source, dim),
                        getDimName(dim, "the source"), size,
                        "size " + Twine(i));
    ++dim;
  }
}

/// The argument of the function, and its dimension, that `size` is the size of;
/// null where it is another number.
static std::pair<BlockArgument, int64_t> getArgumentDim(OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!isa_and_present<tensor::DimOp, memref::DimOp>(op) ||
      !isRanked(op->getOperand(0)))
    return {};
  auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
  auto dim = getConstantIntValue(op->getOperand(1));
  bool isOfFunction = argument && dim && argument.getOwner()->isEntryBlock() &&
                      isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isOfFunction ? std::pair(argument, *dim)
                      : std::pair<BlockArgument, int64_t>();
}

/// Whether `sizes` are those of a tensor that memory has: all dynamic
/// dimensions of one argument, each once, and constants.
static bool areOfArgument(ArrayRef<OpFoldResult> sizes, int64_t bytes) {
  constexpr int64_t kMostBytesOfConstants = 1 << 15;
  BlockArgument argument;
  llvm::SmallBitVector seen;
  for (OpFoldResult size : sizes) {
    if (std::optional<int64_t> number = getConstantIntValue(size)) {
      if (llvm::MulOverflow(bytes, std::max<int64_t>(*number, 1), bytes))
        return false;
      continue;
    }
    auto [owner, dim] = getArgumentDim(size);
    if (!owner || (argument && owner != argument))
      return false;
    argument = owner;
    seen.resize(cast<ShapedType>(owner.getType()).getRank());
    if (seen.test(dim))
      return false;
    seen.set(dim);
  }
  if (!argument || bytes > kMostBytesOfConstants)
    return false;
  auto type = cast<ShapedType>(argument.getType());
  return llvm::all_of(llvm::enumerate(type.getShape()), [&](auto each) {
    return ShapedType::isDynamic(each.value()) ? seen.test(each.index())
                                               : each.value() != 0;
  });
}

/// A tensor of these sizes that the op makes has less than 2^63 bytes. Launch
/// plans of a device check that of all buffers.
static void checkBytes(ArrayRef<OpFoldResult> sizes, Type element,
                       RunTimeChecks &checks) {
  int64_t width = element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : sizeof(int64_t);
  bool isStatic = llvm::all_of(sizes, [](OpFoldResult size) {
    return getConstantIntValue(size).has_value();
  });
  if (checks.isOfDevice() || isStatic || areOfArgument(sizes, width))
    return;
  OpFoldResult bytes = checks.constant(width);
  for (OpFoldResult size : sizes)
    bytes = checks.mulBounded(bytes, size);
  checks.require(bytes, CmpIPredicate::slt, checks.constant(kLargestIndex),
                 "the result to have less than 2^63 bytes");
}

static void checkPad(tensor::PadOp op, RunTimeChecks &checks) {
  constexpr int64_t kSmallPadding = 1 << 16;
  SmallVector<OpFoldResult> sizes;
  bool isSmall = true;
  for (auto [dim, low, high] :
       llvm::enumerate(op.getMixedLowPad(), op.getMixedHighPad())) {
    checks.requireAtLeast(low, "low " + Twine(dim), checks.constant(0), "");
    checks.requireAtLeast(high, "high " + Twine(dim), checks.constant(0), "");
    OpFoldResult padded = checks.addBounded(
        checks.addBounded(low, checks.getSize(op.getSource(), dim)), high);
    sizes.push_back(padded);
    for (OpFoldResult added : {low, high})
      isSmall &=
          getConstantIntValue(added).value_or(kLargestIndex) <= kSmallPadding;
    int64_t size = op.getResultType().getDimSize(dim);
    if (ShapedType::isDynamic(size))
      continue;
    checks.requireEqual(padded, getDimName(dim, "the padded source"),
                        checks.constant(size), "");
  }
  // The source, which memory has, is far from the limit.
  if (!isSmall)
    checkBytes(sizes, op.getResultType().getElementType(), checks);
}

static void checkConcat(tensor::ConcatOp op, RunTimeChecks &checks) {
  auto along = static_cast<int64_t>(op.getDim());
  OpFoldResult total = checks.constant(0);
  Value first = op.getInputs().front();
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    total = checks.add(total, checks.getSize(input, along));
    for (int64_t dim = 0; dim < getRank(input); ++dim)
      if (dim != along)
        checks.requireEqual(checks.getSize(input, dim),
                            getOperandName(dim, number),
                            checks.getSize(first, dim), getOperandName(dim, 0));
  }
  for (auto [dim, size] : llvm::enumerate(op.getResultType().getShape())) {
    if (ShapedType::isDynamic(size))
      continue;
    bool isAlong = static_cast<int64_t>(dim) == along;
    checks.requireEqual(isAlong ? total : checks.getSize(first, dim),
                        isAlong ? "the sum of dimension " +
                                      std::to_string(dim) + " of the operands"
                                : getOperandName(dim, 0),
                        checks.constant(size), "");
  }
}

/// Sizes are not negative.
static void checkNotNegative(ArrayRef<OpFoldResult> sizes,
                             RunTimeChecks &checks) {
  for (auto [dim, size] : llvm::enumerate(sizes))
    checks.requireAtLeast(size, "size " + Twine(dim), checks.constant(0), "");
}

/// The sizes of what an op makes, of which `sizes` are operands.
static void checkMade(Operation *op, ArrayRef<OpFoldResult> sizes,
                      RunTimeChecks &checks) {
  checkNotNegative(sizes, checks);
  Value result = op->getResult(0);
  SmallVector<OpFoldResult> known;
  for (int64_t dim = 0; dim < getRank(result); ++dim)
    known.push_back(checks.getSize(result, dim));
  if (llvm::all_of(known, [](OpFoldResult size) { return bool(size); }))
    checkBytes(known, getElementTypeOrSelf(result), checks);
}

/// The sizes of each group multiply to the size that they are made of.
template <typename OpTy>
static void checkExpand(OpTy op, RunTimeChecks &checks) {
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  checkNotNegative(sizes, checks);
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    OpFoldResult product = checks.constant(1);
    std::string name;
    for (int64_t part : group) {
      product = checks.mulBounded(product, sizes[part]);
      name += (name.empty() ? "" : " * ") + getDimName(part, "the result");
    }
    checks.requireEqual(product, name, checks.getSize(op.getSrc(), dim),
                        getDimName(dim, "the source"));
  }
}

template <typename OpTy>
static void checkDim(OpTy op, RunTimeChecks &checks) {
  if (!isRanked(op.getSource()))
    return;
  checks.requireAtLeast(op.getIndex(), "the dimension", checks.constant(0), "");
  checks.requireAtMost(op.getIndex(), "the dimension",
                       checks.constant(getRank(op.getSource()) - 1), "");
}

/// Loops go forward.
static void checkSteps(ArrayRef<OpFoldResult> steps, RunTimeChecks &checks) {
  for (OpFoldResult step : steps)
    checks.require(step, CmpIPredicate::sge, checks.constant(1), kStepRule);
}

static SmallVector<OpFoldResult> getShape(ValueRange dynamic, ShapedType type) {
  Builder b(type.getContext());
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(b.getIndexAttr(size));
      continue;
    }
    sizes.push_back(dynamic.front());
    dynamic = dynamic.drop_front();
  }
  return sizes;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void check(Operation *op, RunTimeChecks &checks) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return checkLinalg(linalgOp, checks);
  if (isElementwise(op))
    return checkElementwise(op, checks);
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::CastOp, memref::CastOp>(
          [&](auto) { checkCast(op, checks); })
      .Case([&](tensor::ExtractSliceOp slice) {
        checkPart(slice, slice.getSource(), "the source", checks);
      })
      .Case([&](memref::SubViewOp slice) {
        checkPart(slice, slice.getSource(), "the source", checks);
      })
      .Case<tensor::InsertSliceOp, tensor::ParallelInsertSliceOp>(
          [&](auto slice) {
            checkPart(slice, slice.getDest(), "the destination", checks);
            checkInserted(slice, slice.getSource(), slice.getDroppedDims(),
                          checks);
          })
      .Case([&](tensor::PadOp pad) { checkPad(pad, checks); })
      .Case([&](tensor::ConcatOp concat) { checkConcat(concat, checks); })
      .Case<tensor::ExpandShapeOp, memref::ExpandShapeOp>(
          [&](auto expand) { checkExpand(expand, checks); })
      .Case<tensor::EmptyOp, memref::AllocOp, memref::AllocaOp>(
          [&](auto empty) { checkMade(op, empty.getMixedSizes(), checks); })
      .Case([&](bufferization::AllocTensorOp alloc) {
        if (!alloc.getCopy())
          checkMade(op, getShape(alloc.getDynamicSizes(), alloc.getType()),
                    checks);
      })
      .Case([&](tensor::GenerateOp generate) {
        checkMade(op,
                  getShape(generate.getDynamicExtents(), generate.getType()),
                  checks);
      })
      .Case([&](tensor::SplatOp splat) {
        checkMade(op, getShape(splat.getDynamicSizes(), splat.getType()),
                  checks);
      })
      .Case<tensor::DimOp, memref::DimOp>(
          [&](auto dim) { checkDim(dim, checks); })
      .Case([&](memref::CopyOp copy) {
        checkSameSizes(copy.getTarget(), "the target", copy.getSource(),
                       "the source", checks);
      })
      .Case([&](bufferization::MaterializeInDestinationOp copy) {
        checkSameSizes(copy.getDest(), "the destination", copy.getSource(),
                       "the source", checks);
      })
      .Case<scf::ForOp, scf::ForallOp, scf::ParallelOp>([&](auto loop) {
        checkSteps(
            *cast<LoopLikeOpInterface>(loop.getOperation()).getLoopSteps(),
            checks);
      });
}

namespace {

struct CheckSizesPass : public impl::CheckSizesBase<CheckSizesPass> {
  using CheckSizesBase::CheckSizesBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    RunTimeChecks checks(function, device);
    SmallVector<Operation *> ops;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      // What a body computes is of elements.
      return isa<linalg::LinalgOp>(op) ? WalkResult::skip()
                                       : WalkResult::advance();
    });
    for (Operation *op : ops) {
      checks.begin(op, op);
      check(op, checks);
    }
    checks.hoist();
  }
};

} // namespace
} // namespace blockscale
