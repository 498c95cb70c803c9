//===- DevicePlaces.cpp - Parts whose begin the device knows --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "DeviceCode.h"
#include "Emission/LoopEmitter.h"
#include "PlainBody.h"
#include "WarpExchange.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

PlaceNumbers::PlaceNumbers(Operation *op) {
  for (Operation *before = op->getPrevNode();
       before && before->hasAttr(kPlaceAttrName);
       before = before->getPrevNode())
    ops.push_back(before);
  std::reverse(ops.begin(), ops.end());
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  for (Operation *each : ops)
    for (Value operand : each->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        operands.insert(operand);
}

PlaceNumbers::~PlaceNumbers() {
  // What is refused keeps its numbers.
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

DevicePlaces::DevicePlaces(KernelOp kernel) : kernel(kernel) {
  SmallVector<memref::SubViewOp> subviews;
  for (Operation *op = kernel->getPrevNode(); op && op->hasAttr(kPlaceAttrName);
       op = op->getPrevNode())
    if (auto subview = dyn_cast<memref::SubViewOp>(op))
      subviews.push_back(subview);
  for (memref::SubViewOp subview : llvm::reverse(subviews))
    addPart(subview);
  numbers.emplace(kernel);
}

/// Replaces a part by one of the same type that begins where the host knows.
void DevicePlaces::addPart(memref::SubViewOp subview) {
  // What stands between marked ops would hide those before it.
  Operation *first = subview;
  while (first->getPrevNode() && first->getPrevNode()->hasAttr(kPlaceAttrName))
    first = first->getPrevNode();
  OpBuilder builder(first);
  Location loc = subview.getLoc();
  Part part;
  auto type = cast<MemRefType>(subview.getSourceType());
  part.elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  SmallVector<OpFoldResult> offsets = subview.getMixedOffsets();
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  for (auto [offset, stride] : llvm::zip_equal(offsets, strides)) {
    auto value = dyn_cast<Value>(offset);
    Operation *producer = value ? value.getDefiningOp() : nullptr;
    if (!producer || !producer->hasAttr(kPlaceAttrName))
      continue;
    part.steps.emplace_back(value, stride);
    offset = arith::ConstantIndexOp::create(builder, loc, 0).getResult();
  }
  auto begin = memref::SubViewOp::create(
      builder, loc, subview.getType(), subview.getSource(), offsets,
      subview.getMixedSizes(), subview.getMixedStrides());
  subview.replaceAllUsesWith(begin.getResult());
  parts.insert({begin.getResult(), std::move(part)});
  subview.erase();
}

/// Whether a kernel takes `value` as a parameter, and finds elements in it.
static bool isPassed(Value value) {
  Type type = value.getType();
  if (auto memref = dyn_cast<MemRefType>(type))
    return memref.isStrided() &&
           !llvm::is_contained(memref.getStridesAndOffset().first,
                               ShapedType::kDynamic);
  return type.isIndex() || type.isInteger(32) || type.isInteger(64) ||
         type.isF32();
}

LogicalResult PlaceNumbers::verify(Operation *op) const {
  for (Value operand : operands)
    if (!isPassed(operand))
      return op->emitOpError("expected a part that begins where index, i32, "
                             "i64 and f32 of the host and buffers of known "
                             "inner sizes say, but got ")
             << operand.getType();
  return success();
}

LogicalResult DevicePlaces::verify() const {
  KernelOp op = kernel;
  if (failed(numbers->verify(op)))
    return failure();
  for (const auto &[memref, part] : parts)
    for (auto [value, stride] : part.steps)
      if (ShapedType::isDynamic(stride))
        return op.emitOpError(
                   "expected a part that begins where an element of memory "
                   "says in a buffer of known inner sizes, but got ")
               << memref.getType();
  return success();
}

LogicalResult DevicePlaces::verifyAlignment(Value memref, int64_t alignment) {
  auto *found = parts.find(memref);
  if (found == parts.end() || alignment <= 1)
    return success();
  for (auto [value, stride] : found->second.steps) {
    int64_t bytes = stride * found->second.elementBytes;
    if (bytes % alignment == 0)
      continue;
    isFailed = true;
    return kernel.emitOpError()
           << "expected a part that begins where an element of memory says to "
              "begin at a multiple of "
           << alignment << " bytes (launch_c1), but its places are " << bytes
           << " bytes apart";
  }
  return success();
}

/// Lets the first thread of a warp load an integer for all of them:
///
///   %p = memref.load %position[]
/// becomes
///   %word = scf.if %isFirst {
///     memref.load %position[]
///   } else {
///     0
///   }
///   %p = nvvm.shfl %word
///
/// Returns the branch, or the load where it is no integer.
static Operation *shareLoad(KernelBuilder &b, memref::LoadOp load,
                            Lanes isFirst) {
  Value number = load;
  if (!number.getType().isIntOrIndex())
    return load;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(load);
  Type type = number.getType(), wide = b.getI64Type();
  Value loaded =
      emitIfElseZero(b, isFirst, [&]() -> SmallVector<Lanes> {
        load->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
        Value value = number;
        if (type.isIndex())
          value = arith::IndexCastOp::create(b, wide, value);
        else if (type != wide)
          value = arith::ExtUIOp::create(b, wide, value);
        return {Lanes(b, value)};
      }).front();
  Lanes bits(b, loaded);
  auto share = [&](Lanes word) {
    Value low = arith::TruncIOp::create(b, b.getI32Type(), word);
    return b.zext64(emitShuffleFrom(b, Lanes(b, low), 0, kWarpThreads));
  };
  Lanes shared = share(bits);
  if (type.isIndex() || type.getIntOrFloatBitWidth() > 32)
    shared = shared | share(bits >> 32) << 32;
  Value result = shared;
  if (type.isIndex())
    result = arith::IndexCastOp::create(b, type, result);
  else if (type != wide)
    result = arith::TruncIOp::create(b, type, result);
  Operation *branch = load->getParentOp();
  number.replaceUsesWithIf(result, [&](OpOperand &use) {
    return !branch->isAncestor(use.getOwner());
  });
  return branch;
}

void PlaceNumbers::emit(KernelBuilder &b, int64_t threads, ValueRange given,
                        function_ref<void(IRMapping &)> use) const {
  IRMapping values;
  llvm::MapVector<Value, PlainMemory> memories;
  for (auto [operand, parameter] : llvm::zip_equal(operands, given)) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type) {
      Value number = parameter;
      if (operand.getType().isIndex())
        number = toIndex(b, parameter);
      values.map(operand, number);
      continue;
    }
    PlainMemory memory{parameter, {}};
    for (int64_t stride : type.getStridesAndOffset().first)
      memory.strides.push_back(emit::getIndex(b, stride));
    memories[operand] = std::move(memory);
  }
  SmallVector<Operation *> clones;
  for (Operation *op : ops) {
    clones.push_back(b.clone(*op, values));
    clones.back()->removeAttr(kPlaceAttrName);
  }
  use(values);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(clones.front());
  Lanes lane = numerics::getLane(emitThreadNumber32(b, threads));
  Lanes isFirst(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane,
                                         lane.like(0)));
  for (Operation *&clone : clones)
    if (auto load = dyn_cast<memref::LoadOp>(clone))
      clone = shareLoad(b, load, isFirst);
  lowerPlainOps(b, clones, memories);
}

void DevicePlaces::move(KernelBuilder &b, int64_t threads, ValueRange buffers,
                        ValueRange given,
                        MutableArrayRef<Value> arguments) const {
  numbers->emit(b, threads, given, [&](IRMapping &values) {
    for (auto [buffer, argument] : llvm::zip_equal(buffers, arguments)) {
      const auto *found = parts.find(buffer);
      if (found == parts.end())
        continue;
      Value bytes = emit::getIndex(b, 0);
      for (auto [value, stride] : found->second.steps)
        bytes = emit::add(
            b, bytes,
            emit::mul(b, values.lookup(value),
                      emit::getIndex(b, stride * found->second.elementBytes)));
      bytes = arith::IndexCastOp::create(b, b.getI64Type(), bytes);
      argument = b.offset(argument, b.getI8Type(), bytes);
    }
  });
}

} // namespace blockscale
