//===- RandomBytes.cpp - Random bits of elements, in a buffer -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomBytes.h"
#include "Emission/Lanes.h"
#include "blockscale/Numerics/Philox.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using blockscale::numerics::kRandomGroup;
using PhiloxLanes =
    blockscale::numerics::PhiloxWordsOf<blockscale::emit::Lanes>;

namespace blockscale::cpu {

/// Groups of a step: as many 32-bit lanes as the widest registers have.
static constexpr int64_t kGroupsPerStep = 16;

/// The bytes of the elements of groups, in their order, from the groups' words:
/// bytes 0, 2, 1, 3 of each.
static Lanes getBytes(const PhiloxLanes &words) {
  Lanes inOrder = interleave(interleave(words.word[0], words.word[2]),
                             interleave(words.word[1], words.word[3]));
  ImplicitLocOpBuilder &b = inOrder.getBuilder();
  auto getHalf = [&](int shift) {
    return bitcastLanes(truncate(inOrder >> shift, 16), b.getI8Type());
  };
  return interleave(getHalf(0), getHalf(16));
}

RandomBytes::RandomBytes(ImplicitLocOpBuilder &b, Value rng, Value cols,
                         int64_t rows, Value width)
    : b(b), groupsPerRow(ceilDiv(b, cols, kRandomGroup)) {
  auto loadHalves = [&](int64_t number) -> std::array<Value, 2> {
    Lanes bits = loadBits(b, rng, {getIndex(b, number)});
    return {truncate(bits, 32), truncate(bits >> 32, 32)};
  };
  seed = loadHalves(0);
  offset = loadHalves(1);
  if (cast<MemRefType>(rng.getType()).getDimSize(0) ==
      numerics::kPlacedRandomNumbers) {
    auto loadIndex = [&](int64_t number) -> Value {
      return arith::IndexCastOp::create(
          b, b.getIndexType(), loadBits(b, rng, {getIndex(b, number)}));
    };
    firstGroup = loadIndex(numerics::kRandomNumbers);
    groupsPerRow = loadIndex(numerics::kRandomNumbers + 1);
  }
  buffer = allocate(b, {rows, ShapedType::kDynamic}, b.getI8Type(), width);
}

void RandomBytes::emitFree() { memref::DeallocOp::create(b, buffer); }

/// first, first + 1, .. in `count` lanes.
static Lanes countFrom(ImplicitLocOpBuilder &b, Value first, int64_t count) {
  Value bits = arith::IndexCastOp::create(b, b.getI64Type(), first);
  auto type = VectorType::get({count}, b.getI64Type());
  Value steps = arith::ConstantOp::create(
      b, type,
      DenseElementsAttr::get(
          type, ArrayRef<int64_t>(llvm::to_vector(llvm::seq(count)))));
  return broadcast(Lanes(b, bits), Lanes(b, steps)) + Lanes(b, steps);
}

void RandomBytes::emitDraw(Value place, Value row, Value firstCol,
                           Value count) {
  Value first =
      add(b, mul(b, row, groupsPerRow), div(b, firstCol, kRandomGroup));
  if (firstGroup)
    first = add(b, firstGroup, first);
  emitUnitSteps(b, ceilDiv(b, count, kRandomGroup), kGroupsPerStep,
                [&](Value group, int64_t groups) {
                  Lanes counter = countFrom(b, add(b, first, group), groups);
                  Lanes low = truncate(counter, 32);
                  PhiloxLanes words = numerics::runPhilox4x32(
                      PhiloxLanes{{low, truncate(counter >> 32, 32),
                                   broadcast(Lanes(b, offset[0]), low),
                                   broadcast(Lanes(b, offset[1]), low)}},
                      Lanes(b, seed[0]), Lanes(b, seed[1]));
                  storeLanes(getBytes(words), buffer,
                             {place, mul(b, group, kRandomGroup)});
                });
}

Lanes RandomBytes::load(Value place, Value col, int64_t count) const {
  return loadLanes(b, buffer, {place, col}, count);
}

} // namespace blockscale::cpu
