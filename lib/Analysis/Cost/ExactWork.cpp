//===- ExactWork.cpp - Bytes and FLOP of ops, as memory holds them --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpWork.h"

#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/ScaleSweep.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using blockscale::target::Unit;

namespace blockscale {

//===----------------------------------------------------------------------===//
// FLOP
//===----------------------------------------------------------------------===//

// FLOP of f32 lanes for each element. Divisions and conversions between formats
// count as one or none, as they cost less or more elsewhere.

static constexpr double kGlobalScaleFlops = 1;
static constexpr double kDequantizeFlops = 1;
/// The multiplication by 1/4 and four rounds of sums.
static constexpr double kHadamardFlops = 5;
/// The error of an element under one scale: the multiplications there and back
/// and the difference.
static constexpr double kErrorFlops = 3;
/// An error, squared and added.
static constexpr double kTrialFlops = kErrorFlops + 2;
/// An error, multiplied by a row of a Hessian of 16 x 16 and added.
static constexpr double kHessianTrialFlops =
    kTrialFlops + 2 * numerics::kSweepBlock;

static double getQuantizeFlops(QuantizeOp op) {
  double amax = op.getBlockAmax() ? 0 : kAmaxFlops;
  if (isFourOverSix(op.getEffectiveRecipe()))
    return amax + 2 * kTrialFlops;
  return amax + kQuantizeFlops - kAmaxFlops;
}

Unit getProductUnit(Type a, Type b) {
  if (isa<BFloat16Type, Float16Type>(a) || isa<BFloat16Type, Float16Type>(b))
    return Unit::Bf16;
  bool isFp4 = isa<Float4E2M1FNType>(a) && isa<Float4E2M1FNType>(b);
  return isFp4 ? Unit::Fp4 : Unit::Fp8;
}

/// What makes up the FLOP of an op: those of one element of a value, or of one
/// element of `value` and place of dimension `dim` of `other`.
struct Flops {
  Value value;
  double perElement;
  Unit unit = Unit::F32;
  Value other = {};
  int64_t dim = 0;
};

template <typename ProductOp>
static Flops getProductFlops(ProductOp op) {
  return {op.getA(), 2,
          getProductUnit(op.getA().getType().getElementType(),
                         op.getB().getType().getElementType()),
          op.getB(), getProductDims(op, /*ofB=*/true).rows};
}

/// The FLOP of `op`; nothing for an op that only moves elements.
static std::optional<Flops> getFlops(Operation *op) {
  using Result = std::optional<Flops>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<AmaxOp, AmaxPartsOp>(
          [](auto op) -> Result { return Flops{op.getX(), kAmaxFlops}; })
      .Case([](GlobalScaleOp op) -> Result {
        return Flops{op.getAmax(), kGlobalScaleFlops};
      })
      .Case([](HadamardOp op) -> Result {
        return Flops{op.getX(), kHadamardFlops};
      })
      .Case([](ScaleSweepOp op) -> Result {
        double trial = op.getHessian() ? kHessianTrialFlops : kTrialFlops;
        return Flops{op.getX(), numerics::kSweepCandidates * trial};
      })
      .Case([](QuantizeOp op) -> Result {
        return Flops{op.getX(), getQuantizeFlops(op)};
      })
      .Case([](DequantizeOp op) -> Result {
        return Flops{op.getData(), kDequantizeFlops};
      })
      .Case<ScaledMMOp, ScaledGroupedMMOp>(
          [](auto op) -> Result { return getProductFlops(op); })
      .Default([](Operation *) { return std::nullopt; });
}

static llvm::Error addFlops(Operation *op, ShapeEvaluator &sizes, Work &work) {
  std::optional<Flops> flops = getFlops(op);
  if (!flops)
    return llvm::Error::success();
  auto shape = sizes.getShape(flops->value);
  if (!shape)
    return shape.takeError();
  double count = flops->perElement;
  for (int64_t size : *shape)
    count *= size;
  if (flops->other) {
    auto other = sizes.getShape(flops->other);
    if (!other)
      return other.takeError();
    count *= (*other)[flops->dim];
  }
  work.flopsOf(flops->unit) += count;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The ends of the groups that `value` has the scales of, by the op that makes
/// it or by one that reads it. An argument of a kernel's body may be what the
/// body yields.
static Value findGroupOffsets(Value value) {
  if (Value offsets = getGroupOffsets(value.getDefiningOp()))
    return offsets;
  for (Operation *user : value.getUsers())
    if (Value offsets = getGroupOffsets(user))
      return offsets;
  auto argument = dyn_cast<BlockArgument>(value);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(value.getParentBlock()->getParentOp())
                    : KernelOp();
  if (!kernel || argument.getArgNumber() < kernel.getInputs().size())
    return {};
  Operation *yield = kernel.getBody().front().getTerminator();
  unsigned number = argument.getArgNumber() - kernel.getInputs().size();
  return getGroupOffsets(yield->getOperand(number).getDefiningOp());
}

/// `type` with the number of groups that the offsets of `value` have, where its
/// layout leaves it to them; one group where nothing says it.
static llvm::Expected<RankedTensorType>
withGroups(RankedTensorType type, Value value, ShapeEvaluator &sizes) {
  if (!hasDynamicGroups(type))
    return type;
  int64_t groups = 1;
  if (Value offsets = findGroupOffsets(value)) {
    auto shape = sizes.getShape(offsets);
    if (!shape)
      return shape.takeError();
    groups = std::max<int64_t>(shape->front(), 1);
  }
  LayoutAttr layout = getLayout(type);
  return type.cloneWithEncoding(LayoutAttr::get(
      type.getContext(), layout.getKind(), groups, layout.getDim()));
}

static llvm::Expected<double> getStoredBytes(Value value,
                                             ShapeEvaluator &sizes) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  auto shape = sizes.getShape(value);
  if (!shape)
    return shape.takeError();
  llvm::Expected<RankedTensorType> known =
      withGroups(type.clone(*shape), value, sizes);
  if (!known)
    return known.takeError();
  auto stored = cast<RankedTensorType>(getStorageType(*known));
  double bytes = stored.getElementTypeBitWidth() / 8.0;
  for (int64_t size : stored.getShape())
    bytes *= size;
  return bytes;
}

llvm::Error addStoredBytes(ArrayRef<Value> values, ShapeEvaluator &sizes,
                           Work &work) {
  for (Value value : values) {
    llvm::Expected<double> bytes = getStoredBytes(value, sizes);
    if (!bytes)
      return bytes.takeError();
    work.bytes += *bytes;
  }
  return llvm::Error::success();
}

llvm::Expected<Work> getExactWork(Operation *op, ShapeEvaluator &sizes) {
  Work work;
  llvm::SmallSetVector<Value, 8> moved;
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    // Block arguments are logical at every stage; an operand may be several.
    llvm::SmallPtrSet<Value, 8> operands;
    for (auto [operand, argument] :
         llvm::zip_equal(kernel.getOperands(), kernel.getBody().getArguments()))
      if (operands.insert(operand).second)
        moved.insert(argument);
    for (Operation &each : kernel.getBody().front())
      if (llvm::Error error = addFlops(&each, sizes, work))
        return error;
  } else {
    moved.insert_range(op->getOperands());
    moved.insert_range(op->getResults());
    if (llvm::Error error = addFlops(op, sizes, work))
      return error;
  }
  if (llvm::Error error = addStoredBytes(moved.getArrayRef(), sizes, work))
    return error;
  return work;
}

} // namespace blockscale
