//===- StorageRules.cpp - Which uses storage allows -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StorageRules.h"
#include "SliceRules.h"
#include "blockscale/IR/ConstantBytes.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/ScaleLayout.h"
#include "blockscale/Transforms/Storage.h"
#include "blockscale/Transforms/StoredDim.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

bool isPackedOrSwizzled(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && (isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(
                        tensor.getElementType()) ||
                    hasLayout(tensor));
}

Type findType(Operation *op, function_ref<bool(Type)> predicate) {
  auto search = [&](TypeRange types) {
    auto found = llvm::find_if(types, predicate);
    return found == types.end() ? Type() : *found;
  };
  if (Type type = search(op->getOperandTypes()))
    return type;
  if (Type type = search(op->getResultTypes()))
    return type;
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    if (Type type = search(function.getArgumentTypes()))
      return type;
    if (Type type = search(function.getResultTypes()))
      return type;
  }
  if (isa<KernelOp>(op))
    return {};
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (Type type = search(block.getArgumentTypes()))
        return type;
  return {};
}

int64_t getStorageUnit(RankedTensorType type, int64_t dim) {
  int64_t fromEnd = type.getRank() - dim;
  const numerics::ScaleLayout &order = getScaleLayout(type);
  if (!order.isLinear())
    return fromEnd == 1   ? order.getTileCols()
           : fromEnd == 2 ? order.getTileRows()
                          : 1;
  if (isPrepacked(type))
    return fromEnd == 1   ? numerics::kFragmentCols
           : fromEnd == 2 ? numerics::kFragmentRows
                          : 1;
  return isa<Float4E2M1FNType>(type.getElementType()) && fromEnd == 1 ? 2 : 1;
}

bool isStoredDim(RankedTensorType type, int64_t dim) {
  return getStorageUnit(type, dim) == 1;
}

bool isStorageView(UnrealizedConversionCastOp op) {
  if (op.getNumOperands() != 1 || op.getNumResults() != 1)
    return false;
  Type from = op.getOperand(0).getType(), to = op.getResult(0).getType();
  return getStorageType(from) == to || getStorageType(to) == from;
}

/// What lets other dialects read and make the bytes of a tensor.
static LogicalResult verifyView(UnrealizedConversionCastOp op) {
  if (isStorageView(op))
    return success();
  return op.emitOpError() << "expected a cast between a type and its storage "
                             "form, but got one from "
                          << op.getOperandTypes() << " to "
                          << op.getResultTypes();
}

/// A cast may change what is static, but not the layout.
static LogicalResult verifyCast(tensor::CastOp op) {
  auto getEncoding = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.getEncoding() : Attribute();
  };
  Type source = op.getSource().getType();
  if (getEncoding(source) == getEncoding(op.getType()))
    return success();
  bool isData = isPrepacked(source) || isPrepacked(op.getType());
  return op.emitOpError() << "expected a cast to keep the layout of " << source
                          << " (blockscale." << (isData ? "prepack" : "swizzle")
                          << " changes it), but got " << op.getType();
}

/// Memory for tiles of a dynamic number of groups has no size without offsets.
static LogicalResult verifyEmpty(tensor::EmptyOp op) {
  if (!hasDynamicGroups(op.getType()))
    return success();
  return op.emitOpError()
         << "expected a static number of groups in the layout of a tensor "
            "without offsets, but got "
         << op.getType();
}

static LogicalResult verifySelect(arith::SelectOp op) {
  Type condition = op.getCondition().getType();
  if (condition.isSignlessInteger(1))
    return success();
  return op.emitOpError() << "expected a scalar condition to select between "
                          << op.getType() << ", but got " << condition;
}

bool hasMoreElements(ArrayRef<int64_t> shape, int64_t limit) {
  if (llvm::is_contained(shape, 0))
    return false;
  for (int64_t size : shape) {
    if (size > limit)
      return true;
    limit /= size;
  }
  return false;
}

/// Whether the strides and the size in bytes of `type`, padding included, fit
/// in an int64_t. A dynamic size, of which nothing is known, counts as 1, and
/// so does 0, since strides are computed for empty tensors too.
static bool hasAddressableSize(RankedTensorType type) {
  Type element = type.getElementType();
  int64_t bytes = element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : sizeof(int64_t);
  LayoutAttr grouped = getGroupedLayout(type);
  bool isCounted = grouped && !grouped.hasDynamicGroups();
  int64_t groups = isCounted ? grouped.getGroups() : int64_t(hasLayout(type));
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    int64_t extent = 0;
    if (llvm::MulOverflow(groups, getStorageUnit(type, dim) - 1, extent) ||
        llvm::AddOverflow(std::max<int64_t>(size, 1), extent, extent) ||
        llvm::MulOverflow(bytes, extent, bytes))
      return false;
  }
  return true;
}

LogicalResult verifyAddressable(Operation *op) {
  Type type = findType(op, [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !hasAddressableSize(tensor);
  });
  if (!type)
    return success();
  return op->emitOpError()
         << "expected tensors of less than 2^63 bytes, but got " << type;
}

/// What any constant tensor needs to become bytes of the program.
static LogicalResult verifyConstantSize(arith::ConstantOp op) {
  constexpr int64_t kMaxElements = int64_t(1) << 31;
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return success();
  if (hasMoreElements(type.getShape(), kMaxElements))
    return op.emitOpError() << "expected a constant of at most " << kMaxElements
                            << " elements, but got " << type;
  if (isa<DenseResourceElementsAttr>(op.getValue()) &&
      (type.getRank() == 0 || type.getNumElements() == 0))
    return op.emitOpError() << "expected dense elements where the rank or the "
                               "number of elements is 0, but got "
                            << op.getValue();
  return success();
}

static LogicalResult verifyConstant(arith::ConstantOp op) {
  Attribute value = op.getValue();
  if (!isa<DenseElementsAttr, DenseResourceElementsAttr>(value))
    return op.emitOpError() << "expected dense elements of " << op.getType()
                            << ", but got " << value;
  auto type = cast<RankedTensorType>(op.getType());
  int64_t found = ConstantBytes(value).bytes.size();
  if (isa<DenseResourceElementsAttr>(value) && found != type.getNumElements())
    return op.emitOpError()
           << "expected a resource of one byte an element, "
           << type.getNumElements() << ", but got " << found << " bytes";
  if (getGroupedLayout(type))
    return op.emitOpError()
           << "expected no constant of a grouped layout, where the place of a "
              "row depends on the offsets, but got "
           << type;
  return success();
}

/// Whether an op that makes sense only for a last dimension that is a multiple
/// of the block takes `value`, in or out of a kernel, as it is or prepacked.
static bool isUsedInWholeBlocks(Value value, Block *block) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (block && user->getBlock() != block)
      return false;
    if (auto prepack = dyn_cast<PrepackOp>(user))
      return isUsedInWholeBlocks(prepack.getResult(), block);
    if (isa<YieldOp>(user) && isa<KernelOp>(user->getParentOp())) {
      auto kernel = cast<KernelOp>(user->getParentOp());
      return use.getOperandNumber() < kernel.getNumResults() &&
             isUsedInWholeBlocks(kernel.getResult(use.getOperandNumber()),
                                 kernel->getBlock());
    }
    if (auto kernel = dyn_cast<KernelOp>(user))
      return isUsedInWholeBlocks(
          kernel.getBody().getArgument(use.getOperandNumber()),
          /*block=*/nullptr);
    if (auto dequantize = dyn_cast<DequantizeOp>(user))
      return value == dequantize.getData() &&
             !acceptsTails(dequantize.getEffectiveRecipe());
    return isa<ProductOpInterface>(user);
  });
}

/// Memory has whole bytes of packed data, so an odd size is known only where
/// the type or the producer has it. A consumer of whole blocks beside the
/// question makes the size even.
static LogicalResult verifyDim(tensor::DimOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  std::optional<int64_t> dim = op.getConstantIndex();
  if (!dim)
    return op.emitOpError() << "expected a constant dimension of "
                            << op.getSource().getType() << ", but got a value";
  if (*dim < 0 || *dim >= type.getRank())
    return op.emitOpError()
           << "expected a dimension of " << type << ", but got " << *dim;
  if (isStoredDim(type, *dim) || !type.isDynamicDim(*dim) ||
      op->hasAttr(kStoredDimAttrName))
    return success();
  if (!hasLayout(type) && isUsedInWholeBlocks(op.getSource(), op->getBlock()))
    return success();
  return op.emitOpError() << "expected a size that memory holds, but dimension "
                          << *dim << " of " << type << " is stored in units of "
                          << getStorageUnit(type, *dim)
                          << "; use the size of the tensor that was quantized";
}

LogicalResult verifyStorageRules(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && failed(verifyConstantSize(constant)))
    return failure();
  Type type = findType(op, isPackedOrSwizzled);
  if (!type || isa_and_present<BlockScaleDialect>(op->getDialect()))
    return success();
  if (Type formless = findType(op, [](Type type) {
        return isPackedOrSwizzled(type) && !needsStorageForm(type);
      }))
    return op->emitOpError()
           << "expected f4E2M1FN tensors to be ranked, with rank 1 or more "
              "and no encoding but a data layout, but got "
           << formless;
  if (isSlice(op))
    return verifySlice(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tensor::CastOp>(verifyCast)
      .Case<tensor::DimOp>(verifyDim)
      .Case<tensor::ConcatOp>(verifyConcat)
      .Case<tensor::CollapseShapeOp>(verifyCollapseShape)
      .Case<tensor::ExpandShapeOp>(verifyExpandShape)
      .Case<arith::SelectOp>(verifySelect)
      .Case<arith::ConstantOp>(verifyConstant)
      .Case<UnrealizedConversionCastOp>(verifyView)
      .Case<tensor::EmptyOp>(verifyEmpty)
      .Case<func::FuncOp, func::CallOp, func::ReturnOp, cf::BranchOp,
            cf::CondBranchOp, cf::SwitchOp, scf::ForOp, scf::ForallOp,
            scf::IfOp, scf::IndexSwitchOp, scf::WhileOp, scf::YieldOp,
            scf::ConditionOp>([](Operation *) { return success(); })
      .Default([&](Operation *op) {
        return op->emitOpError()
               << (!getScaleLayout(type).isLinear()
                       ? "would not keep the padding of swizzled scales zero; "
                         "expected linear scales (blockscale.swizzle)"
                   : isPrepacked(type)
                       ? "does not know the order of prepacked data; expected "
                         "row-major data (blockscale.prepack)"
                       : "does not know that memory holds two f4E2M1FN "
                         "elements a byte; expected a blockscale op or "
                         "dequantized data")
               << ", but got " << type;
      });
}

} // namespace blockscale
