//===- LoopEmitter.cpp - Loops, indices and memory access -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale::emit {

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value getIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value add(ImplicitLocOpBuilder &b, Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(x, y);
}
Value sub(ImplicitLocOpBuilder &b, Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(x, y);
}
Value mul(ImplicitLocOpBuilder &b, Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(x, y);
}
Value mul(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return mul(b, x, getIndex(b, y));
}
Value min(ImplicitLocOpBuilder &b, Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(x, y);
}
Value max(ImplicitLocOpBuilder &b, Value x, Value y) {
  return b.createOrFold<arith::MaxSIOp>(x, y);
}
Value div(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return b.createOrFold<arith::DivUIOp>(x, getIndex(b, y));
}
Value rem(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return b.createOrFold<arith::RemUIOp>(x, getIndex(b, y));
}
Value ceilDiv(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return div(b, add(b, x, getIndex(b, y - 1)), y);
}
Value roundUp(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return mul(b, ceilDiv(b, x, y), y);
}

Value getDim(ImplicitLocOpBuilder &b, Value memref, int64_t dim) {
  return b.createOrFold<memref::DimOp>(memref, dim);
}

Indices getLeadingSizes(ImplicitLocOpBuilder &b, Value memref, int64_t count) {
  Indices sizes;
  for (int64_t dim = 0; dim < count; ++dim)
    sizes.push_back(getDim(b, memref, dim));
  return sizes;
}

Value getProduct(ImplicitLocOpBuilder &b, ValueRange sizes) {
  Value product = getIndex(b, 1);
  for (Value size : sizes)
    product = mul(b, product, size);
  return product;
}

Indices delinearize(ImplicitLocOpBuilder &b, Value item, ValueRange sizes) {
  Indices indices(sizes.size());
  for (int64_t dim = sizes.size() - 1; dim > 0; --dim) {
    indices[dim] = b.createOrFold<arith::RemUIOp>(item, sizes[dim]);
    item = b.createOrFold<arith::DivUIOp>(item, sizes[dim]);
  }
  if (!indices.empty())
    indices[0] = item;
  return indices;
}

Value linearize(ImplicitLocOpBuilder &b, ValueRange indices, ValueRange sizes) {
  Value item = getIndex(b, 0);
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    item = add(b, mul(b, item, size), index);
  return item;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Runs `emit` with the builder in `block`, before its terminator.
static void emitInside(ImplicitLocOpBuilder &b, Block *block,
                       function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(block->getTerminator());
  emit();
}

void emitLoop(ImplicitLocOpBuilder &b, Value begin, Value end, LoopBody body,
              Value step) {
  auto loop = scf::ForOp::create(b, begin, end, step);
  emitInside(b, loop.getBody(), [&] { body(loop.getInductionVar()); });
}

void emitLoop(ImplicitLocOpBuilder &b, Value begin, Value end, LoopBody body,
              int64_t step) {
  emitLoop(b, begin, end, body, getIndex(b, step));
}

SmallVector<Value>
emitReduction(ImplicitLocOpBuilder &b, Value begin, Value end, ValueRange inits,
              function_ref<SmallVector<Value>(Value, ValueRange)> body,
              int64_t step) {
  auto loop = scf::ForOp::create(b, begin, end, getIndex(b, step), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(
      b, body(loop.getInductionVar(), ValueRange(loop.getRegionIterArgs())));
  return SmallVector<Value>(loop.getResults());
}

Value emitReduction(ImplicitLocOpBuilder &b, Value begin, Value end, Value init,
                    function_ref<Value(Value, Value)> body, int64_t step) {
  auto carryOne = [&](Value i, ValueRange carried) {
    return SmallVector<Value>{body(i, carried.front())};
  };
  return emitReduction(b, begin, end, ValueRange(init), carryOne, step).front();
}

void emitIf(ImplicitLocOpBuilder &b, Value condition,
            function_ref<void()> thenBody, function_ref<void()> elseBody) {
  auto ifOp = scf::IfOp::create(b, condition,
                                /*withElseRegion=*/static_cast<bool>(elseBody));
  emitInside(b, ifOp.thenBlock(), thenBody);
  if (elseBody)
    emitInside(b, ifOp.elseBlock(), elseBody);
}

/// Steps of `units` over [0, count), count >= units.
static void emitWholeSteps(ImplicitLocOpBuilder &b, Value count, int64_t units,
                           function_ref<void(Value, int64_t)> body) {
  std::optional<int64_t> known = getConstantIntValue(count);
  bool overlaps = units != 1 && (!known || *known % units != 0);
  Value last = overlaps ? sub(b, count, getIndex(b, units)) : Value();
  emitLoop(
      b, getIndex(b, 0), count,
      [&](Value first) { body(overlaps ? min(b, first, last) : first, units); },
      units);
}

void emitUnitSteps(ImplicitLocOpBuilder &b, Value count, int64_t maxUnits,
                   function_ref<void(Value, int64_t)> body) {
  if (std::optional<int64_t> known = getConstantIntValue(count)) {
    if (*known > 0)
      emitWholeSteps(
          b, count,
          std::min<int64_t>(maxUnits, llvm::bit_floor<uint64_t>(*known)), body);
    return;
  }
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, count,
                                     getIndex(b, maxUnits));
  emitIf(
      b, fits, [&] { emitWholeSteps(b, count, maxUnits, body); },
      [&] { emitWholeSteps(b, count, 1, body); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Type getElementType(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

Lanes loadLanes(ImplicitLocOpBuilder &b, Value memref, ValueRange indices,
                int64_t count) {
  auto type = VectorType::get({count}, getElementType(memref));
  return toBits(Lanes(b, vector::LoadOp::create(b, type, memref, indices)));
}

/// Integers as the element type of `memref`, of the same width.
static Value toElements(Lanes bits, Value memref) {
  Type type = bits.getTypeWith(getElementType(memref));
  if (type == Value(bits).getType())
    return bits;
  return bits.getBuilder().createOrFold<arith::BitcastOp>(type, bits);
}

void storeLanes(Lanes lanes, Value memref, ValueRange indices) {
  vector::StoreOp::create(lanes.getBuilder(), toElements(lanes, memref), memref,
                          indices);
}

Lanes loadBits(ImplicitLocOpBuilder &b, Value memref, ValueRange indices) {
  return toBits(Lanes(b, memref::LoadOp::create(b, memref, indices)));
}

void storeBits(Lanes bits, Value memref, ValueRange indices) {
  memref::StoreOp::create(bits.getBuilder(), toElements(bits, memref), memref,
                          indices);
}

void emitPrefetch(ImplicitLocOpBuilder &b, Value memref, ValueRange indices,
                  int64_t count) {
  constexpr int64_t kLineBits = 512;
  int64_t perLine = kLineBits / getElementType(memref).getIntOrFloatBitWidth();
  for (int64_t i = 0; i < count; i += perLine)
    memref::PrefetchOp::create(b, memref, offsetBy(b, indices, getIndex(b, i)),
                               /*isWrite=*/false, /*localityHint=*/3,
                               /*isDataCache=*/true);
}

Indices offsetBy(ImplicitLocOpBuilder &b, ValueRange indices,
                 ValueRange offsets) {
  Indices result(indices);
  size_t unmoved = indices.size() - offsets.size();
  for (auto [i, offset] : llvm::enumerate(offsets))
    result[unmoved + i] = add(b, result[unmoved + i], offset);
  return result;
}

Indices append(ValueRange indices, ValueRange more) {
  Indices result(indices);
  result.append(more.begin(), more.end());
  return result;
}

Value allocate(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, Type element,
               ValueRange dynamicSizes) {
  constexpr int64_t kVectorAlignment = 64;
  return memref::AllocOp::create(b, MemRefType::get(shape, element),
                                 dynamicSizes,
                                 b.getI64IntegerAttr(kVectorAlignment));
}

} // namespace blockscale::emit
