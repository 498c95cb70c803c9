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

Lanes getIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return {b, arith::ConstantIndexOp::create(b, value)};
}

Lanes add(ImplicitLocOpBuilder &b, Value x, Value y) {
  return Lanes(b, x) + Lanes(b, y);
}
Lanes sub(ImplicitLocOpBuilder &b, Value x, Value y) {
  return Lanes(b, x) - Lanes(b, y);
}
Lanes mul(ImplicitLocOpBuilder &b, Value x, Value y) {
  return Lanes(b, x) * Lanes(b, y);
}
Lanes mul(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return Lanes(b, x) * y;
}
Lanes min(ImplicitLocOpBuilder &b, Value x, Value y) {
  return minSigned(Lanes(b, x), Lanes(b, y));
}
Lanes max(ImplicitLocOpBuilder &b, Value x, Value y) {
  return maxSigned(Lanes(b, x), Lanes(b, y));
}
Lanes div(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return Lanes(b, x) / y;
}
Lanes rem(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return Lanes(b, x) % y;
}
Lanes ceilDiv(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return (Lanes(b, x) + (y - 1)) / y;
}
Lanes roundUp(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return ceilDiv(b, x, y) * y;
}

Lanes isBelow(ImplicitLocOpBuilder &b, Value x, Value y) {
  return isBelow(Lanes(b, x), y);
}

Lanes isIn(ImplicitLocOpBuilder &b, Value x, Value begin, Value end) {
  Lanes isBehind =
      compare(arith::CmpIPredicate::uge, Lanes(b, x), Lanes(b, begin));
  return isBehind & isBelow(b, x, end);
}

Lanes getDim(ImplicitLocOpBuilder &b, Value memref, int64_t dim) {
  return {b, b.createOrFold<memref::DimOp>(memref, dim)};
}

Indices getLeadingSizes(ImplicitLocOpBuilder &b, Value memref, int64_t count) {
  Indices sizes;
  for (int64_t dim = 0; dim < count; ++dim)
    sizes.push_back(getDim(b, memref, dim));
  return sizes;
}

Lanes getProduct(ImplicitLocOpBuilder &b, ValueRange sizes) {
  Lanes product = getIndex(b, 1);
  for (Value size : sizes)
    product = product * Lanes(b, size);
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

Lanes linearize(ImplicitLocOpBuilder &b, ValueRange indices, ValueRange sizes) {
  Lanes item = getIndex(b, 0);
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    item = item * Lanes(b, size) + Lanes(b, index);
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
  emitInside(b, loop.getBody(),
             [&] { body(Lanes(b, loop.getInductionVar())); });
}

void emitLoop(ImplicitLocOpBuilder &b, Value begin, Value end, LoopBody body,
              int64_t step) {
  emitLoop(b, begin, end, body, getIndex(b, step));
}

SmallVector<Value> emitReduction(ImplicitLocOpBuilder &b, Value begin,
                                 Value end, ValueRange inits,
                                 ReductionBody body, Value step) {
  auto loop = scf::ForOp::create(b, begin, end, step, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(Lanes(b, loop.getInductionVar()),
                               ValueRange(loop.getRegionIterArgs())));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> emitReduction(ImplicitLocOpBuilder &b, Value begin,
                                 Value end, ValueRange inits,
                                 ReductionBody body, int64_t step) {
  return emitReduction(b, begin, end, inits, body, getIndex(b, step));
}

Lanes emitReduction(ImplicitLocOpBuilder &b, Value begin, Value end, Value init,
                    function_ref<Value(Lanes, Lanes)> body, int64_t step) {
  auto carryOne = [&](Lanes i, ValueRange carried) {
    return SmallVector<Value>{body(i, Lanes(b, carried.front()))};
  };
  return {
      b,
      emitReduction(b, begin, end, ValueRange(init), carryOne, step).front()};
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
                           function_ref<void(Lanes, int64_t)> body) {
  std::optional<int64_t> known = getConstantIntValue(count);
  bool overlaps = units != 1 && (!known || *known % units != 0);
  Lanes last = overlaps ? Lanes(b, count) - units : Lanes();
  emitLoop(
      b, getIndex(b, 0), count,
      [&](Lanes first) {
        body(overlaps ? minSigned(first, last) : first, units);
      },
      units);
}

void emitUnitSteps(ImplicitLocOpBuilder &b, Value count, int64_t maxUnits,
                   function_ref<void(Lanes, int64_t)> body) {
  if (std::optional<int64_t> known = getConstantIntValue(count)) {
    if (*known > 0)
      emitWholeSteps(
          b, count,
          std::min<int64_t>(maxUnits, llvm::bit_floor<uint64_t>(*known)), body);
    return;
  }
  Value fits = compare(arith::CmpIPredicate::uge, Lanes(b, count), maxUnits);
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
    memref::PrefetchOp::create(b, memref,
                               offsetBy(b, indices, {getIndex(b, i)}),
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
