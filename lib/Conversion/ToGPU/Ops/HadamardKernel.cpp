//===- HadamardKernel.cpp - Random Hadamard transform ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has one group of 16 along a row, or down each of up to eight
// columns. Groups lie one after the other, over all matrices.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCodec.h"
#include "DeviceEmission/DeviceHadamard.h"
#include "Emission/FloatCodec.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "blockscale/Numerics/Hadamard.h"

#include <numeric>

using namespace mlir;
using blockscale::numerics::kHadamardSize;

namespace blockscale {

using emit::Lanes;

static constexpr int64_t kHadamardThreads = 128;
static constexpr int64_t kBf16Bytes = 2;
static constexpr int64_t kVectorElements = 8;

/// `count` bf16 at `address` as f32.
static SmallVector<Lanes> emitLoadBf16(KernelBuilder &b, Value address,
                                       int64_t count) {
  SmallVector<Lanes> values;
  if (count == 1) {
    Lanes bits = b.load(b.getI16Type(), address, kBf16Bytes);
    return {emit::emitDecodeFloat(b.getBF16Type(), bits)};
  }
  int64_t bytes = count * kBf16Bytes;
  for (Lanes word : emitLoadWords(b, address, bytes, /*access=*/16)) {
    values.push_back(toF32(word << 16));
    values.push_back(toF32(word & 0xFFFF0000u));
  }
  return values;
}

/// Group number `item` along rows.
static void emitRowGroup(KernelBuilder &b, Value x, Value result, Lanes item,
                         uint64_t signMask) {
  Lanes first = item * kHadamardSize;
  Type bf16 = b.getBF16Type();
  SmallVector<Lanes> group =
      emitLoadBf16(b, emitAddress(b, x, bf16, first), kHadamardSize);
  emitHadamard(b, group, signMask);
  emitStoreRounded(b, group, bf16, emitAddress(b, result, bf16, first));
}

/// The groups of a band of 16 rows in `width` columns.
static void emitColumnGroups(KernelBuilder &b, Value x, Value result,
                             Lanes item, Lanes cols, int64_t width,
                             uint64_t signMask) {
  auto [band, fragment] = numerics::split(item, cols / width);
  Lanes col = fragment * width;
  Lanes first = band * kHadamardSize * cols + col;
  Type bf16 = b.getBF16Type();
  SmallVector<Lanes> places;
  SmallVector<SmallVector<Lanes>> rows;
  for (int64_t i = 0; i < kHadamardSize; ++i) {
    places.push_back(first + cols * i);
    rows.push_back(
        emitLoadBf16(b, emitAddress(b, x, bf16, places.back()), width));
  }
  for (int64_t column = 0; column < width; ++column) {
    SmallVector<Lanes> group;
    for (ArrayRef<Lanes> row : rows)
      group.push_back(row[column]);
    emitHadamard(b, group, signMask);
    for (auto [row, value] : llvm::zip_equal(rows, group))
      row[column] = value;
  }
  for (auto [row, place] : llvm::zip_equal(rows, places))
    emitStoreRounded(b, row, bf16, emitAddress(b, result, bf16, place));
}

LogicalResult lowerKernel(HadamardOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX()), result = site.lookup(op.getResult());
  auto type = cast<MemRefType>(x.getType());
  emit::Indices sizes = emit::getLeadingSizes(b, x, type.getRank());
  Lanes cols(b, sizes.back()), count = emit::getProduct(b, sizes);
  bool alongRows = op.getDim() == 1;
  int64_t width = 1;
  if (!alongRows && !type.isDynamicDim(type.getRank() - 1))
    width = std::gcd(type.getShape().back(), kVectorElements);
  uint64_t signMask = op.getSignMask();
  int64_t alignment = (alongRows ? kVectorElements : width) * kBf16Bytes;

  std::string name;
  llvm::raw_string_ostream os(name);
  os << "hadamard_" << (alongRows ? "rows" : "columns");
  if (!alongRows)
    os << "_by" << width;
  os << "_signs" << signMask;
  Lanes items = count / (kHadamardSize * width);
  site.launch(name,
              {kHadamardThreads,
               getCeilDiv(b, items, kHadamardThreads),
               {},
               kHadamardSize * width * kBf16Bytes},
              {{x, alignment}, {result, alignment}, {items}, {cols}},
              [&](KernelBuilder &b) {
                Lanes item = emitGlobalThreadNumber(b, kHadamardThreads);
                emit::emitIf(b, isBelow(item, toIndex(b, items)), [&] {
                  if (alongRows)
                    return emitRowGroup(b, x, result, item, signMask);
                  emitColumnGroups(b, x, result, item, toIndex(b, cols), width,
                                   signMask);
                });
              });
  return success();
}

} // namespace blockscale
