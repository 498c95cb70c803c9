//===- CallSite.cpp - Sizes and checks before a kernel runs ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallSite.h"
#include "AssertedSizes.h"
#include "blockscale/Analysis/RowMoves.h"
#include "blockscale/Conversion/AssertedNumber.h"
#include "blockscale/Transforms/StoredDim.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;

namespace blockscale::emit {

Value toIndex(ImplicitLocOpBuilder &b, OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
}

/// Whether operands of the site are tensors, before they are in memory.
static bool isTensor(Value operand) {
  return isa<RankedTensorType>(operand.getType());
}

/// The logical sizes of a tensor, from the operands of the op that makes it;
/// none where that op does not say them.
static std::optional<CallSite::Sizes> reifySizes(ImplicitLocOpBuilder &b,
                                                 Value tensor) {
  auto result = dyn_cast<OpResult>(tensor);
  auto op = result
                ? dyn_cast<ReifyRankedShapedTypeOpInterface>(result.getOwner())
                : ReifyRankedShapedTypeOpInterface();
  ReifiedRankedShapedTypeDims shapes;
  if (!op || failed(op.reifyResultShapes(b, shapes)))
    return std::nullopt;
  return CallSite::Sizes(shapes[result.getResultNumber()]);
}

/// The size of dimension `dim` of the memory that a tensor will have.
static OpFoldResult getStoredSize(ImplicitLocOpBuilder &b, Value tensor,
                                  int64_t dim) {
  // Canonicalization asks the source of a cast instead, without the mark.
  while (auto op = tensor.getDefiningOp<tensor::CastOp>()) {
    if (!isa<RankedTensorType>(op.getSource().getType()))
      break;
    tensor = op.getSource();
  }
  RankedTensorType type = getTensorType(tensor);
  int64_t size = cast<RankedTensorType>(getStorageType(type)).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return b.getIndexAttr(size);
  bool needsGroups = hasDynamicGroups(type);
  Value offsets = getGroupOffsets(tensor.getDefiningOp());
  if (offsets || !needsGroups)
    if (std::optional<CallSite::Sizes> sizes = reifySizes(b, tensor)) {
      OpFoldResult groups;
      if (needsGroups)
        groups = tensor::getMixedSize(b, b.getLoc(), offsets, 0);
      return getStorageSizes(b, b.getLoc(), type, *sizes, groups)[dim];
    }
  // Tiles of a dynamic number of groups have no size that follows from the
  // type, so that it is asked of their storage form.
  if (needsGroups) {
    auto tiles = UnrealizedConversionCastOp::create(
        b, b.getLoc(), getStorageType(type), tensor);
    return tensor::DimOp::create(b, tiles.getResult(0), dim).getResult();
  }
  // The number of tiles of all groups is asked by a dimension that does not
  // fold.
  if (getGroupedLayout(type))
    dim = type.isDynamicDim(0) ? 0 : 1;
  auto op = tensor::DimOp::create(b, tensor, dim);
  // Memory has rows of packed data as they are.
  int64_t fromEnd = type.getRank() - dim;
  if (hasLayout(type) ? fromEnd <= 2 : needsStorageForm(type) && fromEnd == 1)
    op->setAttr(kStoredDimAttrName, b.getUnitAttr());
  return op.getResult();
}

static OpFoldResult getSize(ImplicitLocOpBuilder &b, Value memref,
                            int64_t dim) {
  if (isTensor(memref))
    return getStoredSize(b, memref, dim);
  int64_t size = cast<MemRefType>(memref.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(size))
    return b.getIndexAttr(size);
  return Value(getDim(b, memref, dim));
}

/// The sizes of a result of `padding`, or of a transform of it, that no memory
/// holds.
static CallSite::Sizes getPaddedSizes(const CallSite &site, PadGroupsOp padding,
                                      Value result) {
  CallSite::Sizes groups = site.getSizes(padding.getOffsets());
  if (result == padding.getEnds())
    return groups;
  CallSite::Sizes sizes = site.getSizes(padding.getX());
  sizes.front() =
      getPaddedRows(site.b, site.b.getLoc(), sizes.front(), groups.front(),
                    static_cast<int64_t>(padding.getUnit()));
  return sizes;
}

/// The sizes of what `join` lays together, whose last one is static.
static CallSite::Sizes getJoinedSizes(const CallSite &site,
                                      tensor::ConcatOp join) {
  CallSite::Sizes sizes = site.getSizes(join.getInputs().front());
  sizes.back() = site.b.getIndexAttr(join.getResultType().getShape().back());
  return sizes;
}

CallSite::Sizes CallSite::getSizes(Value logical) const {
  if (Value source = getGatheredSource(logical)) {
    Sizes sizes = getSizes(source);
    applyPermutationToVector(sizes, getPermutation(logical.getDefiningOp()));
    return sizes;
  }
  Value memref = lookup(logical);
  if (!memref) {
    while (auto hadamard = logical.getDefiningOp<HadamardOp>())
      logical = hadamard.getX();
    if (auto join = logical.getDefiningOp<tensor::ConcatOp>())
      return getJoinedSizes(*this, join);
    return getPaddedSizes(*this, logical.getDefiningOp<PadGroupsOp>(), logical);
  }
  Sizes sizes;
  for (int64_t dim = 0; dim < getTensorType(logical).getRank(); ++dim)
    sizes.push_back(getSize(b, memref, dim));
  return sizes;
}

CallSite::Sizes CallSite::getDataSizes(Value data, Value other) const {
  Sizes sizes = getSizes(data);
  auto hidesSize = [](Value value) {
    RankedTensorType type = getTensorType(value);
    return type.isDynamicDim(type.getRank() - 1) && needsStorageForm(type);
  };
  Value source = hidesSize(data) ? other : data;
  if (!isTensor(lookup(source))) {
    sizes.back() = getAsOpFoldResult(getDataCols(b, source, operands));
    return sizes;
  }
  // What makes a tensor knows its size, however it is packed.
  for (Value value : {data, other})
    if (std::optional<Sizes> made = reifySizes(b, lookup(value))) {
      sizes.back() = made->back();
      return sizes;
    }
  RankedTensorType type = getTensorType(source);
  int64_t dim = type.getRank() - 1;
  if (!type.isDynamicDim(dim)) {
    sizes.back() = b.getIndexAttr(type.getDimSize(dim));
    return sizes;
  }
  sizes.back() = getStoredSize(b, lookup(source), dim);
  if (isa<Float4E2M1FNType>(type.getElementType()))
    sizes.back() = getAsOpFoldResult(mul(b, toIndex(b, sizes.back()), 2));
  return sizes;
}

/// Whether the rule about the memory `memory` of a value is checked elsewhere.
/// Blocks of prepacked data are counted where a kernel reads them; other
/// operands of a product are checked once, where they are tensors still.
static bool isCheckedElsewhere(Value logical, Value memory) {
  bool isPrepackedData = isPrepacked(logical.getType());
  if (isTensor(memory) || isPrepackedData)
    return isTensor(memory) && isPrepackedData;
  return isa<BlockArgument>(logical) &&
         llvm::any_of(logical.getUsers(), [](Operation *user) {
           return user->hasAttr(kSizesAssertedAttrName);
         });
}

void createAssert(ImplicitLocOpBuilder &b, const CallSite::Check &check) {
  if (matchPattern(check.holds, m_One()))
    return;
  auto op = cf::AssertOp::create(b, check.holds, check.rule);
  if (std::optional<int64_t> found = getConstantIntValue(check.found))
    op->setAttr(kFoundAttrName, b.getIndexAttr(*found));
}

void CallSite::require(Value holds, const Twine &rule, Value found) {
  if (matchPattern(holds, m_One()))
    return;
  checks.push_back({holds, (opName + ": expected " + rule).str(), found});
}

void CallSite::requireMultiple(OpFoldResult size, int64_t divisor,
                               const Twine &what) {
  Value found = toIndex(b, size);
  Value holds = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, rem(b, found, divisor), getIndex(b, 0));
  require(holds, what + " to be a multiple of " + Twine(divisor), found);
}

void CallSite::requireBelow(OpFoldResult size, int64_t bound,
                            const Twine &what) {
  Value found = toIndex(b, size);
  Value holds = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, found,
                                              getIndex(b, bound));
  require(holds, what + " to be below " + Twine(bound), found);
}

void CallSite::requireSizes(const Twine &name, Value logical,
                            ArrayRef<OpFoldResult> sizes, const Twine &source,
                            OpFoldResult groups) {
  if (Value gathered = getGatheredSource(logical)) {
    Sizes inMemory(sizes);
    applyPermutationToVector(inMemory, invertPermutationVector(getPermutation(
                                           logical.getDefiningOp())));
    return requireSizes(name, gathered, inMemory, source, groups);
  }
  Value memref = lookup(logical);
  if (!memref || isCheckedElsewhere(logical, memref))
    return;
  RankedTensorType type = getTensorType(logical);
  bool isStored = needsStorageForm(type);
  for (auto [dim, expected] :
       llvm::enumerate(getStorageSizes(b, b.getLoc(), type, sizes, groups))) {
    OpFoldResult found = getSize(b, memref, dim);
    // Sizes that types say are verified already.
    if (isEqualConstantIntOrValue(expected, found))
      continue;
    Value foundSize = toIndex(b, found);
    Value holds = b.createOrFold<arith::CmpIOp>(
        arith::CmpIPredicate::eq, foundSize, toIndex(b, expected));
    require(holds,
            "dimension " + Twine(dim) + " of " + name +
                (isStored ? " in memory" : "") + " to fit the shape of " +
                source,
            foundSize);
  }
}

void CallSite::requireGlobalSizes(const Twine &name, Value logical,
                                  ArrayRef<OpFoldResult> batch,
                                  const Twine &source) {
  auto type = logical ? dyn_cast<RankedTensorType>(logical.getType()) : Type();
  if (type && cast<RankedTensorType>(type).getRank() > 0)
    requireSizes(name, logical, batch, source);
}

Value CallSite::countItems(ArrayRef<OpFoldResult> sizes,
                           Value perMatrix) const {
  Value items = perMatrix;
  for (OpFoldResult size : sizes.drop_back(2))
    items = mul(b, items, toIndex(b, size));
  Value zero = getIndex(b, 0);
  Value isEmpty = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                toIndex(b, sizes.back()), zero);
  return b.createOrFold<arith::SelectOp>(isEmpty, zero, items);
}

} // namespace blockscale::emit
