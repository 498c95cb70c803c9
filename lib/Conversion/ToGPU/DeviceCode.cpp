//===- DeviceCode.cpp - Threads, addresses and groups in kernels ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "LaunchSite.h"

using namespace mlir;

namespace blockscale {

using cpu::add;
using cpu::getIndex;
using cpu::Lanes;
using cpu::mul;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value emitThreadNumber(KernelBuilder &b, int64_t threads) {
  return gpu::ThreadIdOp::create(b, gpu::Dimension::x, b.getIndexAttr(threads));
}

Value emitBlockNumber(KernelBuilder &b) {
  return gpu::BlockIdOp::create(b, gpu::Dimension::x);
}

Value emitGlobalThreadNumber(KernelBuilder &b, int64_t threads) {
  return add(b, mul(b, emitBlockNumber(b), threads),
             emitThreadNumber(b, threads));
}

Value emitMatrixNumber(KernelBuilder &b) {
  Value y = gpu::BlockIdOp::create(b, gpu::Dimension::y);
  Value z = gpu::BlockIdOp::create(b, gpu::Dimension::z);
  return add(b, mul(b, z, kMaxGridY), y);
}

Value toIndex(KernelBuilder &b, Value integer) {
  return arith::IndexCastOp::create(b, b.getIndexType(), integer);
}

Value isBelow(KernelBuilder &b, Value value, Value bound) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, bound);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value emitAddress(KernelBuilder &b, Value pointer, Type type, Value index) {
  if (index.getType().isIndex())
    index = b.createOrFold<arith::IndexCastOp>(b.getI64Type(), index);
  return b.offset(pointer, type, index);
}

Lanes emitLoadBits(KernelBuilder &b, Value pointer, Type type, Value index) {
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = b.getIntegerType(width);
  return Lanes(b,
               b.load(bits, emitAddress(b, pointer, bits, index), width / 8));
}

static constexpr int64_t kWordBytes = 4;

SmallVector<Lanes> emitLoadWords(KernelBuilder &b, Value address, int64_t bytes,
                                 int64_t access) {
  SmallVector<Lanes> words;
  auto piece = VectorType::get({access / kWordBytes}, b.getI32Type());
  for (int64_t at = 0; at < bytes; at += access) {
    Value place = b.offset(address, b.getI8Type(), b.i64(at));
    Value loaded = b.load(piece, place, access);
    for (int64_t i = 0; i < access / kWordBytes; ++i)
      words.emplace_back(b, b.extract(loaded, i));
  }
  return words;
}

void emitStoreWords(KernelBuilder &b, ArrayRef<Lanes> words, Value address,
                    int64_t access) {
  size_t count = access / kWordBytes;
  for (size_t i = 0; i < words.size(); i += count) {
    SmallVector<Value> piece(words.begin() + i, words.begin() + i + count);
    Value place = b.offset(address, b.getI8Type(), b.i64(i * kWordBytes));
    b.store(b.pack(piece), place, access);
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void emitGroupLoop(KernelBuilder &b, const DeviceGroups &groups,
                   function_ref<void(const DeviceGroup &)> body) {
  Value zero = getIndex(b, 0);
  cpu::emitReduction(
      b, zero, groups.count, ValueRange{zero, zero},
      [&](Value index, ValueRange carried) -> SmallVector<Value> {
        Value begin = carried[0], tilesBefore = carried[1];
        Value offset =
            toIndex(b, emitLoadBits(b, groups.offsets, b.getI32Type(), index));
        Value end = cpu::div(b, cpu::max(b, offset, zero), groups.unit);
        end = cpu::min(b, cpu::max(b, end, begin), groups.extent);
        body({index, begin, end, tilesBefore});
        Value tiles = cpu::ceilDiv(b, cpu::sub(b, end, begin), groups.tileSize);
        return {end, add(b, tilesBefore, tiles)};
      });
}

} // namespace blockscale
