//===- Signature.cpp - What an entry function takes and gives -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Signature.h"

#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Runtime/ThreadPool.h"
#include "blockscale/Transforms/SameValues.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ScopedPrinter.h"

#include <atomic>
#include <cmath>
#include <cstring>

using namespace mlir;
using blockscale::runtime::NpyType;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

Result<func::FuncOp> findEntry(ModuleOp module, const std::string &entry) {
  std::vector<std::string> names;
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isExternal())
      continue;
    names.push_back(function.getName().str());
    if (entry.empty() || function.getName() == entry)
      found = function;
  }
  if (names.empty())
    return Status::failure("expected a public function in the module, but it "
                           "has none");
  std::string list = llvm::join(names, ", ");
  if (entry.empty() && names.size() > 1)
    return Status::failure("expected entry to name one of the public "
                           "functions " +
                           list + ", but it is absent");
  if (!found)
    return Status::failure("expected entry to name a public function (" + list +
                           "), but got '" + entry + "'");
  return found;
}

static Result<Slot> getSlot(Type type) {
  Type storage = getStorageType(type);
  auto tensor = dyn_cast<RankedTensorType>(storage);
  std::optional<NpyType> npyType =
      getStorageDType(tensor ? tensor.getElementType() : storage);
  if (!npyType || (tensor && tensor.getEncoding()))
    return Status::failure("expected a ranked tensor or scalar of f4E2M1FN, "
                           "f8, bf16, f16, f32, f64, index, i1 or i8 to i64, "
                           "but got " +
                           llvm::to_string(type));
  Slot slot;
  slot.logicalType = llvm::to_string(type);
  slot.type = *npyType;
  slot.isScalar = !tensor;
  if (tensor)
    slot.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  return slot;
}

/// Whether `isWanted` holds for some use of `value`, of what only moves its
/// elements, or of the argument that it is of a function that is called. `seen`
/// has the values before, which functions that call themselves come back to.
static bool anyUse(Value value, function_ref<bool(OpOperand &)> isWanted,
                   DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return false;
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *op = use.getOwner();
    if (isWanted(use))
      return true;
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      return callee && !callee.isExternal() &&
             anyUse(callee.getArgument(use.getOperandNumber()), isWanted, seen);
    }
    return llvm::any_of(op->getResults(), [&](Value result) {
      return getMoved(result) == value && anyUse(result, isWanted, seen);
    });
  });
}

/// Whether `value` is a scale of blocks there.
static bool isScale(OpOperand &use) {
  Value value = use.get();
  if (auto op = dyn_cast<DequantizeOp>(use.getOwner()))
    return op.getScale() == value;
  if (auto op = dyn_cast<ScaledMMOp>(use.getOwner()))
    return op.getScaleA() == value || op.getScaleB() == value;
  if (auto op = dyn_cast<ScaledGroupedMMOp>(use.getOwner()))
    return op.getScaleA() == value || op.getScaleB() == value;
  return false;
}

/// Whether `value` is a global scale there.
static bool isGlobalScale(OpOperand &use) {
  Value value = use.get();
  if (auto op = dyn_cast<QuantizeOp>(use.getOwner()))
    return op.getGlobalScale() == value;
  if (auto op = dyn_cast<DequantizeOp>(use.getOwner()))
    return op.getGlobalScale() == value;
  if (auto op = dyn_cast<ScaledMMOp>(use.getOwner()))
    return op.getGlobalScaleA() == value || op.getGlobalScaleB() == value;
  if (auto op = dyn_cast<ScaledGroupedMMOp>(use.getOwner()))
    return op.getGlobalScaleA() == value || op.getGlobalScaleB() == value;
  return false;
}

static Slot::Scale getScale(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  DenseSet<Value> seen;
  if (isa<Float8E4M3FNType>(element) && anyUse(value, isScale, seen))
    return Slot::Scale::E4M3;
  if (isa<Float8E8M0FNUType>(element) && anyUse(value, isScale, seen))
    return Slot::Scale::E8M0;
  if (element.isF32() && anyUse(value, isGlobalScale, seen))
    return Slot::Scale::Global;
  return Slot::Scale::None;
}

Result<Signature> getSignature(func::FuncOp function) {
  Signature signature;
  signature.name = function.getName().str();
  for (BlockArgument argument : function.getArguments()) {
    Result<Slot> slot = getSlot(argument.getType());
    if (!slot.ok())
      return Status::failure("argument " +
                             std::to_string(argument.getArgNumber()) + " of @" +
                             signature.name + ": " + slot.message());
    slot->scale = getScale(argument);
    auto writable = function.getArgAttrOfType<BoolAttr>(
        argument.getArgNumber(),
        bufferization::BufferizationDialect::kWritableAttrName);
    slot->isWritable = !slot->isScalar && writable && writable.getValue();
    signature.arguments.push_back(*slot);
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    Result<Slot> slot = getSlot(type);
    if (!slot.ok())
      return Status::failure("result " + std::to_string(i) + " of @" +
                             signature.name + ": " + slot.message());
    signature.results.push_back(*slot);
  }
  return signature;
}

static std::string formatShape(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += i ? ", " : "";
    text += ShapedType::isDynamic(shape[i]) ? "?" : std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// Bytes that a thread looks at at a time.
static constexpr int64_t kByteGrain = 1 << 16;

/// Whether any byte has one of the bits of `mask`. Arrays are looked at in each
/// call, so by all threads.
static bool hasBits(const ArrayView &array, uint8_t mask) {
  struct Search {
    const ArrayView &array;
    uint8_t mask;
    std::atomic<bool> found{false};
  } search = {array, mask};
  auto bytes = static_cast<int64_t>(array.bytes);
  runtime::parallelFor(
      llvm::divideCeil(bytes, kByteGrain),
      [](void *opaque, int64_t first, int64_t last) {
        auto &search = *static_cast<Search *>(opaque);
        auto end = std::min<int64_t>(search.array.bytes, last * kByteGrain);
        uint8_t bits = 0;
        for (int64_t i = first * kByteGrain; i < end; ++i)
          bits |= search.array.data[i];
        if (bits & search.mask)
          search.found = true;
      },
      &search);
  return search.found;
}

/// The sign of an E4M3 scale, and the bits that no truth value has.
static constexpr uint8_t kSignBit = 0x80, kNoTruthBits = 0xFE;

/// Expects bytes that code computes with as they are.
static Status checkBytes(const Slot &slot, const ArrayView &array) {
  bool isTruth = slot.type == NpyType::Bool;
  if (isTruth && hasBits(array, kNoTruthBits))
    for (size_t i = 0; i < array.bytes; ++i)
      if (array.data[i] & kNoTruthBits)
        return Status::failure("expected bytes of 0 or 1 for " +
                               slot.logicalType + ", but got 0x" +
                               llvm::utohexstr(array.data[i]) + " at byte " +
                               std::to_string(i));
  if (slot.scale != Slot::Scale::E4M3 || !hasBits(array, kSignBit))
    return Status::success();
  for (size_t i = 0; i < array.bytes; ++i)
    if (numerics::isNegativeScale(numerics::ScaleFormat::E4M3, array.data[i]))
      return Status::failure(
          "expected E4M3 scale bytes without sign, but got 0x" +
          llvm::utohexstr(array.data[i]) + " at byte " + std::to_string(i));
  return Status::success();
}

Status checkArgument(const Slot &slot, const ArrayView &array, bool isRead) {
  if (array.type != slot.type)
    return Status::failure("expected dtype " +
                           std::string(getNpyTypeName(slot.type)) + " for " +
                           slot.logicalType + ", but got " +
                           std::string(getNpyTypeName(array.type)));
  bool matches = array.shape.size() == slot.shape.size();
  for (size_t i = 0; matches && i < slot.shape.size(); ++i)
    matches =
        ShapedType::isDynamic(slot.shape[i]) || slot.shape[i] == array.shape[i];
  if (!matches)
    return Status::failure("expected storage shape " + formatShape(slot.shape) +
                           " for " + slot.logicalType + ", but got " +
                           formatShape(array.shape));
  return isRead ? checkBytes(slot, array) : Status::success();
}

static Status checkScaleBytes(const ArrayView &array,
                              numerics::ScaleFormat format) {
  for (size_t i = 0; i < array.bytes; ++i)
    if (numerics::isNanScale(format, array.data[i]))
      return Status::failure("expected scales to be no NaN, but got 0x" +
                             llvm::utohexstr(array.data[i]) + " at byte " +
                             std::to_string(i));
  return Status::success();
}

Status checkScaleValues(const Slot &slot, const ArrayView &array) {
  switch (slot.scale) {
  case Slot::Scale::None:
    return Status::success();
  case Slot::Scale::E4M3:
    return checkScaleBytes(array, numerics::ScaleFormat::E4M3);
  case Slot::Scale::E8M0:
    return checkScaleBytes(array, numerics::ScaleFormat::E8M0);
  case Slot::Scale::Global:
    break;
  }
  for (size_t i = 0; i < array.bytes / sizeof(float); ++i) {
    float scale;
    std::memcpy(&scale, array.data + i * sizeof(float), sizeof(float));
    if (std::isnan(scale))
      return Status::failure("expected global scales to be no NaN, but got one "
                             "at element " +
                             std::to_string(i));
  }
  return Status::success();
}

} // namespace blockscale
