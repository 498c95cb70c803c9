//===- FusionLegality.cpp - What may run as one kernel --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/FusionLegality.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Recipe.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

raw_ostream &operator<<(raw_ostream &os, const FusionObstacle &obstacle) {
  return os << "(" << obstacle.clause << "): expected " << obstacle.expected
            << ", but got " << obstacle.found;
}

Diagnostic &operator<<(Diagnostic &diag, const FusionObstacle &obstacle) {
  return diag << llvm::to_string(obstacle);
}

/// Why a kernel that reads `x` once cannot make several results of it.
static std::optional<FusionObstacle> findElementObstacle(RankedTensorType x) {
  if (x.getElementType().isBF16())
    return std::nullopt;
  return FusionObstacle{"one_read_c1", "x of bf16", llvm::to_string(x)};
}

std::optional<FusionObstacle> findOneReadObstacle(QuantizeOp op) {
  if (auto obstacle = findElementObstacle(op.getX().getType()))
    return obstacle;
  if (numerics::isFourOverSix(op.getArithmetic()))
    return FusionObstacle{"one_read_c2", "a recipe without 4over6",
                          stringifyRecipe(op.getEffectiveRecipe()).str()};
  if (op.getBlockAmax())
    return FusionObstacle{"one_read_c2", "computed block amaxes", "block_amax"};
  GlobalOperand global = op.getGlobalOperand();
  if (global.extent == GlobalExtent::Row)
    return FusionObstacle{
        "one_read_c4", "one global value for the tensor, each matrix or group",
        llvm::to_string(global.value.getType())};
  return std::nullopt;
}

std::optional<FusionObstacle> findOneReadObstacle(AmaxPartsOp op) {
  return findElementObstacle(op.getX().getType());
}

std::optional<FusionObstacle> findOneReadObstacle(AmaxOp op) {
  if (auto obstacle = findElementObstacle(op.getX().getType()))
    return obstacle;
  if (op.getOffsets() && op.getGroupDim() != 0)
    return FusionObstacle{"one_read_c3", "amaxes of groups of rows",
                          "group_dim " + llvm::to_string(op.getGroupDim())};
  if (op.isPerRow())
    return FusionObstacle{"one_read_c4",
                          "one amax for the tensor or each matrix",
                          llvm::to_string(op.getAmax().getType())};
  return std::nullopt;
}

/// Whether computing `value` takes one of `ops`, which are in `block`.
static bool needsOneOf(Value value, ArrayRef<AmaxOp> ops, Block *block) {
  llvm::SetVector<Operation *> needed;
  auto insert = [&](Value operand) {
    Operation *definition = operand.getDefiningOp();
    if (definition && definition->getBlock() == block)
      needed.insert(definition);
  };
  insert(value);
  for (size_t i = 0; i < needed.size(); ++i)
    needed[i]->walk([&](Operation *inside) {
      llvm::for_each(inside->getOperands(), insert);
    });
  return llvm::any_of(ops, [&](AmaxOp op) { return needed.contains(op); });
}

std::optional<FusionObstacle> findOnePassObstacle(QuantizeOp op,
                                                  ArrayRef<AmaxOp> amaxes) {
  for (Value operand : op->getOperands().drop_front()) {
    if (!needsOneOf(operand, amaxes, op->getBlock()))
      continue;
    bool isScale = operand == op.getGlobalScale();
    bool isAmax = operand == op.getGlobalAmax();
    return FusionObstacle{"one_pass_c1", "operands that need no amax of x",
                          isScale  ? "global_scale"
                          : isAmax ? "global_amax"
                                   : "another"};
  }
  return std::nullopt;
}

/// Whether types of two members fit one kernel.
static bool isSameButRows(Type type, Type other) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto otherTensor = dyn_cast<RankedTensorType>(other);
  if (!tensor || !otherTensor)
    return type == other;
  // The shapes follow from the attributes and that of x.
  return tensor.getElementType() == otherTensor.getElementType() &&
         tensor.getEncoding() == otherTensor.getEncoding() &&
         tensor.getRank() == otherTensor.getRank();
}

std::optional<FusionObstacle> findGroupObstacle(ArrayRef<Operation *> first,
                                                ArrayRef<Operation *> ops) {
  auto getXType = [](Operation *op) {
    return cast<RankedTensorType>(op->getOperand(0).getType());
  };
  RankedTensorType expected = getXType(first.front());
  RankedTensorType found = getXType(ops.front());
  int64_t columns = expected.getShape().back();
  if (expected.getRank() != 2 || expected.isDynamicDim(1))
    return FusionObstacle{"group_c1",
                          "x of rank 2 with a static number of columns",
                          llvm::to_string(expected)};
  if (found.getRank() != 2 || found.getShape().back() != columns)
    return FusionObstacle{"group_c1",
                          "x of " + std::to_string(columns) + " columns",
                          llvm::to_string(found)};
  auto getNames = [](ArrayRef<Operation *> of) {
    return llvm::join(
        llvm::map_range(
            of, [](Operation *op) { return op->getName().getStringRef(); }),
        ", ");
  };
  if (getNames(first) != getNames(ops))
    return FusionObstacle{"group_c2", getNames(first), getNames(ops)};
  for (auto [a, b] : llvm::zip_equal(first, ops)) {
    if (a->getAttrDictionary() != b->getAttrDictionary())
      return FusionObstacle{"group_c3", llvm::to_string(a->getAttrDictionary()),
                            llvm::to_string(b->getAttrDictionary())};
    auto getTypes = [](Operation *op) {
      SmallVector<Type> types(op->getOperandTypes());
      llvm::append_range(types, op->getResultTypes());
      return types;
    };
    for (auto [type, other] : llvm::zip_equal(getTypes(a), getTypes(b)))
      if (!isSameButRows(type, other))
        return FusionObstacle{"group_c3", llvm::to_string(type),
                              llvm::to_string(other)};
  }
  return std::nullopt;
}

std::optional<FusionObstacle> findBesideObstacle(Operation *op) {
  auto x = cast<RankedTensorType>(op->getOperand(0).getType());
  if (x.getRank() != 2 || x.getDimSize(1) == 0)
    return FusionObstacle{"beside_c1", "x of rank 2 with columns",
                          llvm::to_string(x)};
  if (isa<AmaxOp, AmaxPartsOp>(op))
    return FusionObstacle{"beside_c2",
                          isa<AmaxOp>(op) ? "ops that clear no memory before"
                                          : "ops of which CTAs have no part "
                                            "of their own",
                          "'" + llvm::to_string(op->getName()) + "'"};
  return std::nullopt;
}

/// A number that is known to divide `size`: 1 where it is dynamic.
static int64_t getDivisor(int64_t size) {
  return ShapedType::isDynamic(size) ? 1 : size;
}

/// Why TransformerEngine has no kernel of the transform.
static std::optional<FusionObstacle> findSizeObstacle(HadamardOp op) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  int64_t columns = getDivisor(x.getShape().back());
  bool isGrouped = llvm::any_of(op->getUsers(), [](Operation *user) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    return quantize &&
           (quantize.getOffsets() || quantize->hasAttr(kGroupAttrName));
  });
  int64_t multiple = isGrouped ? 128 : 64;
  int64_t rows = 1;
  for (int64_t size : x.getShape().drop_back())
    // The number of rows is a product. Where a size is dynamic, only what
    // divides the other ones is known to divide it.
    rows = rows * getDivisor(size) % multiple;
  if (rows != 0 || columns % 128 != 0)
    return FusionObstacle{"rht_c2",
                          "rows and columns of x to be multiples of " +
                              std::to_string(multiple) + " and 128",
                          llvm::to_string(x)};
  return std::nullopt;
}

std::optional<FusionObstacle> findTransformObstacle(HadamardOp op,
                                                    TransformSizes sizes) {
  if (op.getDim() != 0)
    return FusionObstacle{"rht_c1", "groups down the columns of x (dim 0)",
                          "dim " + llvm::to_string(op.getDim())};
  if (sizes == TransformSizes::TE)
    if (std::optional<FusionObstacle> obstacle = findSizeObstacle(op))
      return obstacle;
  for (Operation *user : op->getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    auto amax = dyn_cast<AmaxOp>(user);
    auto parts = dyn_cast<AmaxPartsOp>(user);
    bool takesRegisters = user->getBlock() == op->getBlock() &&
                          ((quantize && !findOneReadObstacle(quantize)) ||
                           (amax && !findOneReadObstacle(amax)) ||
                           (parts && !findOneReadObstacle(parts)));
    if (!takesRegisters && !isa<tensor::DimOp>(user))
      return FusionObstacle{"rht_c3",
                            "all uses to be quantizations or amaxes of its "
                            "block that can share a kernel",
                            "'" + llvm::to_string(user->getName()) + "'"};
  }
  return std::nullopt;
}

} // namespace blockscale
