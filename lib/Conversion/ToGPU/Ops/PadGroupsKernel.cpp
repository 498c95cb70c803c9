//===- PadGroupsKernel.cpp - Groups padded to whole blocks ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has some rows of the result, of one group at most, and in these a
// piece of as many bytes as it loads at once. So it searches for one group, and
// all rows of a thread are loaded before the first one is stored.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupCheck.h"
#include "DeviceEmission/PaddedGroups.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "blockscale/IR/TypeRules.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::Lanes;

static constexpr int64_t kPadWarps = 8;
static constexpr int64_t kPadThreads = kWarpThreads * kPadWarps;
/// Bytes of the widest access, and the most rows of a warp.
static constexpr int64_t kMostAccessBytes = 16;
static constexpr int64_t kMostRows = 8;

namespace {

/// The operands of the kernel: buffers, and the rows of x, of the result and of
/// offsets, and accesses that a row takes.
struct PadOperands {
  Value x, offsets, padded, ends;
  Lanes rows, paddedRows, groups, pieces;
};

class PadEmitter {
public:
  PadEmitter(KernelBuilder &b, int64_t unit, int64_t accessBytes,
             const PadOperands &operands)
      : b(b), unit(unit), accessBytes(accessBytes),
        ownRows(std::gcd(unit, kMostRows)), operands(operands),
        pieces(toIndex(b, operands.pieces)),
        groups(getPaddedDim(b, operands.offsets, toIndex(b, operands.groups),
                            toIndex(b, operands.paddedRows),
                            toIndex(b, operands.rows), unit)) {}

  void emit();

  /// Warps that have rows.
  static Lanes countWarps(ImplicitLocOpBuilder &b, int64_t unit, Lanes rows,
                          Lanes pieces) {
    return rows / std::gcd(unit, kMostRows) *
           emit::ceilDiv(b, pieces, kWarpThreads);
  }

private:
  void emitRows(Lanes first, Lanes piece);
  Type getAccessType() {
    return b.getIntegerType(std::min(accessBytes, kWordBytes) * 8);
  }
  SmallVector<Lanes> emitLoad(Lanes row, Lanes piece);
  void emitStore(ArrayRef<Lanes> words, Lanes row, Lanes piece);
  Value getAddress(Value buffer, Lanes row, Lanes piece) {
    return emitAddress(b, buffer, b.getI8Type(),
                       (row * pieces + piece) * accessBytes);
  }

  KernelBuilder &b;
  int64_t unit, accessBytes, ownRows;
  const PadOperands &operands;
  Lanes pieces;
  emit::GroupedDim groups;
};

} // namespace

SmallVector<Lanes> PadEmitter::emitLoad(Lanes row, Lanes piece) {
  Value address = getAddress(operands.x, row, piece);
  if (accessBytes >= kWordBytes)
    return emitLoadWords(b, address, accessBytes, accessBytes);
  return {b.load(getAccessType(), address, accessBytes)};
}

void PadEmitter::emitStore(ArrayRef<Lanes> words, Lanes row, Lanes piece) {
  Value address = getAddress(operands.padded, row, piece);
  if (accessBytes >= kWordBytes)
    return emitStoreWords(b, words, address, accessBytes);
  b.store(words.front(), address, accessBytes);
}

/// Piece `piece` of the warp's rows, from `first` on.
void PadEmitter::emitRows(Lanes first, Lanes piece) {
  Group group = emitFindGroups(b, groups, Value(first)).front();
  // A group that was not found has no rows, so that all are zeros.
  Lanes source = group.source + (first - group.begin);
  size_t words = std::max<int64_t>(accessBytes / kWordBytes, 1);
  SmallVector<Type> types(ownRows * words, getAccessType());
  auto load = [&](function_ref<SmallVector<Lanes>(Lanes)> loadRow) {
    SmallVector<Value> all;
    for (int64_t i = 0; i < ownRows; ++i)
      llvm::append_range(all, loadRow(source + i));
    return all;
  };
  SmallVector<Value> loaded = emitIfElse(
      b, isBelow(b, source + (ownRows - 1), group.sourceEnd), types,
      [&] { return load([&](Lanes row) { return emitLoad(row, piece); }); },
      [&] {
        return load([&](Lanes row) {
          SmallVector<Value> own = emitIfElseZero(
              b, isBelow(b, row, group.sourceEnd),
              TypeRange(types).take_front(words),
              [&] { return llvm::to_vector_of<Value>(emitLoad(row, piece)); });
          return llvm::map_to_vector(
              own, [&](Value word) { return Lanes(b, word); });
        });
      });
  ArrayRef<Value> rest = loaded;
  for (int64_t i = 0; i < ownRows; ++i) {
    SmallVector<Lanes> own = llvm::map_to_vector(
        rest.take_front(words), [&](Value word) { return Lanes(b, word); });
    rest = rest.drop_front(words);
    emitStore(own, first + i, piece);
  }
}

void PadEmitter::emit() {
  Lanes block = emitBlockNumber(b);
  Lanes thread = emitThreadNumber(b, kPadThreads);
  emitCheckGroups(b, emit::GroupRules{runtime::ErrorOp::PadGroups},
                  operands.offsets, operands.groups, operands.rows, block);
  emitStoreEnds(b, groups, operands.ends, block, thread, kPadThreads);
  Lanes warp, lane;
  std::tie(warp, lane) = numerics::split(thread, kWarpThreads);
  Lanes number = block * kPadWarps + warp;
  Lanes parts = emit::ceilDiv(b, pieces, kWarpThreads);
  Lanes warps = countWarps(b, unit, toIndex(b, operands.paddedRows), pieces);
  emit::emitIf(b, isBelow(b, number, warps), [&] {
    Lanes rows, part;
    std::tie(rows, part) = numerics::split(number, parts);
    Lanes piece = part * kWarpThreads + lane;
    emit::emitIf(b, isBelow(b, piece, pieces),
                 [&] { emitRows(rows * ownRows, piece); });
  });
}

LogicalResult lowerKernel(PadGroupsOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value x = site.lookup(op.getX()), padded = site.lookup(op.getPadded());
  Value offsets = site.lookup(op.getOffsets());
  auto type = cast<MemRefType>(x.getType());
  int64_t elementBytes = type.getElementTypeBitWidth() / 8;
  int64_t accessBytes = elementBytes;
  if (!type.isDynamicDim(1))
    accessBytes = std::gcd(type.getDimSize(1) * elementBytes, kMostAccessBytes);
  auto unit = static_cast<int64_t>(op.getUnit());
  Lanes pieces = emit::getDim(b, x, 1) / (accessBytes / elementBytes);
  Lanes paddedRows = emit::getDim(b, padded, 0);
  PadOperands operands{x,
                       offsets,
                       padded,
                       site.lookup(op.getEnds()),
                       emit::getDim(b, x, 0),
                       paddedRows,
                       emit::getDim(b, offsets, 0),
                       pieces};
  Lanes warps = PadEmitter::countWarps(b, unit, paddedRows, pieces);
  // Where there are no rows, there are ends to store.
  Lanes blocks = maxSigned(getCeilDiv(b, warps, kPadWarps), getIndex(b, 1));
  site.launch(
      "pad_groups_" + Twine(unit) + "_by" + Twine(accessBytes),
      {kPadThreads, blocks, {}, std::gcd(unit, kMostRows) * accessBytes},
      {{operands.x, accessBytes},
       {operands.offsets, sizeof(int32_t)},
       {operands.padded, accessBytes},
       {operands.ends, sizeof(int32_t)},
       {operands.rows},
       {operands.paddedRows},
       {operands.groups},
       {operands.pieces}},
      [&](KernelBuilder &b) {
        PadEmitter(b, unit, accessBytes, operands).emit();
      });
  return success();
}

} // namespace blockscale
