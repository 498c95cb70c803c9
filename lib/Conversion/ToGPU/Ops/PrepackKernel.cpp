//===- PrepackKernel.cpp - Data from layout to layout ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CTA moves a block, and a thread the elements that are its fragments there,
// a piece of 16 bytes after the other. Into blocks, it loads what its quad has
// of rows in accesses of 16 bytes (PrepackPiece.h), where rows begin at
// multiples of these and go on so far. At the ends of other rows, and out of
// blocks, it moves single bytes on the side of rows, whose lines the CTA's
// other threads find in the cache.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupSearch.h"
#include "DeviceEmission/PrepackPiece.h"
#include "Emission/OperandChecks.h"
#include "Emission/PrepackedUnits.h"
#include "Kernels.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/DataLayout.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale {

using emit::Lanes;

namespace {

/// The operands of the kernel: data in both layouts, and the rows, bytes of a
/// row and matrices of the row-major side.
struct PrepackOperands {
  Value rowMajor, blocks;
  Lanes rows, units, matrices;
};

class PrepackEmitter {
public:
  PrepackEmitter(KernelBuilder &b, bool toBlocks, int64_t bits,
                 const PrepackOperands &operands)
      : b(b), toBlocks(toBlocks), bits(bits), rowMajor(operands.rowMajor),
        blocks(operands.blocks), rows(toIndex(b, operands.rows)),
        units(toIndex(b, operands.units)),
        matrices(toIndex(b, operands.matrices)) {}

  void emit();

private:
  static constexpr int64_t kAccessBytes = 16;

  /// Whether all rows begin at a multiple of an access.
  Lanes areRowsAligned();
  /// The words of a piece of the thread, made of accesses to its rows from
  /// `byte` on, or of single bytes of the units from `first` on.
  SmallVector<Lanes> emitWidePiece(Lanes byte);
  SmallVector<Lanes> emitNarrowPiece(int64_t first);
  SmallVector<Lanes> emitLoadRow(Lanes row, Lanes byte);
  /// The words of the thread's unit `number`.
  SmallVector<Lanes> emitGather(int64_t number);
  void emitScatter(ArrayRef<Lanes> words, int64_t number);
  emit::PrepackedUnit getUnit(int64_t number) {
    return {bits, rowBlock, colBlock, thread, thread.like(number)};
  }
  Value getUnitAddress(Lanes row, Lanes unit) {
    return emitAddress(b, rowMajor, b.getI8Type(),
                       (matrix * rows + row) * units + unit);
  }
  Lanes isInside(Lanes row, Lanes unit) {
    return isBelow(row, rows) & isBelow(unit, units);
  }
  Value getPieceAddress(int64_t piece);

  KernelBuilder &b;
  bool toBlocks;
  int64_t bits;
  Value rowMajor, blocks;
  Lanes rows, units, matrices;
  Lanes matrix, rowBlock, colBlock, rowBlocks, colBlocks, thread;
};

} // namespace

SmallVector<Lanes> PrepackEmitter::emitGather(int64_t number) {
  return emit::emitGatherUnit(b, getUnit(number), [&](Lanes row, Lanes unit) {
    return emitIfElseZero(b, isInside(row, unit),
                          [&] {
                            Lanes byte = b.load(b.getI8Type(),
                                                getUnitAddress(row, unit), 1);
                            return SmallVector<Lanes>{extend(byte, 32)};
                          })
        .front();
  });
}

void PrepackEmitter::emitScatter(ArrayRef<Lanes> words, int64_t number) {
  emit::emitScatterUnit(
      getUnit(number), words, [&](Lanes code, Lanes row, Lanes unit) {
        emit::emitIf(b, isInside(row, unit), [&] {
          b.store(truncate(code, 8), getUnitAddress(row, unit), 1);
        });
      });
}

Lanes PrepackEmitter::areRowsAligned() {
  Lanes address(b, LLVM::PtrToIntOp::create(b, b.getI64Type(), rowMajor));
  Lanes bytes(b, arith::IndexCastOp::create(b, b.getI64Type(), units));
  return isEqual((address | bytes) & (kAccessBytes - 1), 0);
}

SmallVector<Lanes> PrepackEmitter::emitLoadRow(Lanes row, Lanes byte) {
  return emitIfElseZero(b, isBelow(row, rows), [&] {
    return emitLoadWords(b, getUnitAddress(row, byte), kPieceRowBytes,
                         kAccessBytes);
  });
}

SmallVector<Lanes> PrepackEmitter::emitWidePiece(Lanes byte) {
  auto getElement = [&](int64_t reg) {
    return getFragmentElement(FragmentPlace<Lanes>{
        thread, thread.like(0), thread.like(reg), thread.like(0)});
  };
  SmallVector<SmallVector<Lanes>> parts;
  for (int64_t reg = 0; reg < 2; ++reg)
    parts.push_back(
        emitLoadRow(rowBlock * kFragmentRows + getElement(reg).row, byte));
  // Two columns are the thread's, and the next ones its neighbour's.
  Lanes inQuad = toWord(b, getElement(0).col / 2);
  return emitGatherPiece(b, bits, inQuad, parts[0], parts[1]);
}

SmallVector<Lanes> PrepackEmitter::emitNarrowPiece(int64_t first) {
  SmallVector<Lanes> words;
  for (int64_t i = 0; i < kPieceUnits; ++i)
    llvm::append_range(words, emitGather(first + i));
  return words;
}

Value PrepackEmitter::getPieceAddress(int64_t piece) {
  Lanes index = (matrix * rowBlocks + rowBlock) * colBlocks + colBlock;
  Lanes byte = getUnitByte(thread, thread.like(piece * kPieceUnits));
  return emitAddress(b, blocks, b.getI8Type(),
                     index * getFragmentBlockBytes(bits) + byte);
}

void PrepackEmitter::emit() {
  rowBlocks = getFragmentBlocks(rows);
  colBlocks = getFragmentBlocks(bits == 4 ? units * 2 : units);
  matrix = emitMatrixNumber(b);
  std::tie(rowBlock, colBlock) = split(emitBlockNumber(b), colBlocks);
  thread = emitThreadNumber(b, kFragmentThreads);
  emit::emitIf(b, isBelow(matrix, matrices), [&] {
    for (int64_t first = 0; first < getThreadUnits(bits);
         first += kPieceUnits) {
      Value address = getPieceAddress(first / kPieceUnits);
      if (toBlocks) {
        Lanes byte = colBlock * (kFragmentCols * bits / 8) +
                     first / kPieceUnits * kPieceRowBytes;
        Lanes isWide =
            areRowsAligned() & isBelow(byte + (kPieceRowBytes - 1), units);
        SmallVector<Lanes> words = emitIfElse(
            b, isWide, [&] { return emitWidePiece(byte); },
            [&] { return emitNarrowPiece(first); });
        emitStoreWords(b, words, address, kFragmentThreadBytes);
        continue;
      }
      SmallVector<Lanes> words =
          emitLoadWords(b, address, kFragmentThreadBytes, kFragmentThreadBytes);
      for (int64_t i = 0; i < kPieceUnits; ++i)
        emitScatter(ArrayRef(words).slice(i * kUnitWords, kUnitWords),
                    first + i);
    }
  });
}

LogicalResult lowerKernel(PrepackOp op, LaunchSite &site) {
  if (failed(emit::verifyChangesLayout(op)))
    return failure();
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value source = site.lookup(op.getSource());
  Value result = site.lookup(op.getResult());
  bool toBlocks = isPrepacked(op.getResult().getType());
  int64_t bits = getPrepackedBits(op.getResult().getType().getElementType());
  Value rowMajor = toBlocks ? source : result;
  Value blocks = toBlocks ? result : source;
  emit::Indices sizes = emit::getLeadingSizes(
      b, rowMajor, cast<MemRefType>(rowMajor.getType()).getRank());
  Lanes units(b, sizes.pop_back_val()), rows(b, sizes.pop_back_val());
  Lanes matrices = emit::getProduct(b, sizes);
  Lanes count = getFragmentBlocks(rows) *
                getFragmentBlocks(bits == 4 ? units * 2 : units);
  PrepackOperands operands{rowMajor, blocks, rows, units, matrices};
  KernelSignature::Slot slots[] = {{operands.rowMajor, 1},
                                   {operands.blocks, kFragmentThreadBytes}};
  KernelSignature signature = {slots[toBlocks ? 0 : 1],
                               slots[toBlocks ? 1 : 0],
                               {operands.rows},
                               {operands.units},
                               {operands.matrices}};
  site.launch(Twine(toBlocks ? "prepack_" : "unpack_") + Twine(bits) + "_bits",
              {kFragmentThreads, count, matrices}, signature,
              [&](KernelBuilder &b) {
                PrepackEmitter(b, toBlocks, bits, operands).emit();
              });
  return success();
}

} // namespace blockscale
