//===- QuadKernel.cpp - Quantizers whose threads are quads ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuadKernel.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/PrepackPiece.h"
#include "DeviceEmission/WarpExchange.h"
#include "QuantizeArguments.h"
#include "QuantizeFragment.h"
#include "QuantizeLaunch.h"
#include "blockscale/Numerics/DataLayout.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale {

using emit::Lanes;

/// Threads of a quad, and rows of a thread.
static constexpr int64_t kQuad = 4;
static constexpr int64_t kRows = 2;
/// Elements of a thread in a row, if rows are long enough.
static constexpr int64_t kQuadElements = 32;

bool canHaveQuads(const QuantizeSpec &spec) {
  return spec.source->isMemory() && !spec.takesBlocks && !spec.ownsRows() &&
         !spec.decoding && !spec.amaxIsGiven && !spec.stochastic &&
         spec.groupDim == GroupDim::None &&
         spec.global.extent != GlobalExtent::Row &&
         spec.rowElements % (kQuad * spec.getBlockElements()) == 0;
}

int64_t getQuadFragment(const QuantizeSpec &spec) {
  return spec.rowElements % (kQuad * kQuadElements) == 0
             ? kQuadElements
             : spec.getBlockElements();
}

namespace {

class QuadEmitter {
public:
  /// `isEarly` says that x is loaded before the thread waits for the launch
  /// before this one.
  QuadEmitter(KernelBuilder &b, const QuantizeSpec &spec,
              const target::Chip &chip, const QuantizeOperands &operands,
              bool isEarly)
      : b(b), spec(spec), chip(chip), mapping(spec, chip), arguments(operands),
        isEarly(isEarly) {}

  void emit();

private:
  void emitPosition();
  Lanes getRow(int64_t row) {
    return rowBlock * kFragmentRows + rowInBlock[row];
  }
  /// The fragment in the thread's upper or lower row.
  Fragment getFragment(int64_t row);
  /// The same in a row that exists, unless there is none.
  Fragment getLoadedFragment(int64_t row);
  /// The blocks of the thread, those of a row after each other; zeros, if x has
  /// no elements.
  SmallVector<BlockElements> emitLoadsOfAny();
  SmallVector<BlockElements> emitLoads();
  FragmentCodes emitCodes();
  /// The codes and scales of one row.
  FragmentCodes takeRow(const FragmentCodes &codes, int64_t row);
  /// Stores scales, and codes in rows.
  void emitStoreRow(const FragmentCodes &codes, int64_t row);
  void emitStorePieces(ArrayRef<FragmentCodes> rows);
  /// The words of codes that the quad has of a piece in a row.
  SmallVector<Lanes> emitQuadWords(ArrayRef<Value> words, int64_t piece);
  Lanes hasMatrix(Lanes holds) {
    return spec.batched ? holds & isBelow(matrix, arguments.matrices) : holds;
  }

  KernelBuilder &b;
  const QuantizeSpec &spec;
  const target::Chip &chip;
  ThreadMapping mapping;
  /// The parameters; `global` becomes the value where the kernel computes it.
  QuantizeOperands arguments;
  bool isEarly;

  /// The numbers of the thread in its CTA and in its quad, i32.
  Lanes thread, inQuad;
  /// The numbers of the matrix, of the block of rows, and of the CTA among
  /// those side by side, i64, and of the thread's rows in the block.
  Lanes matrix, rowBlock, unit;
  SmallVector<Lanes, kRows> rowInBlock;
};

} // namespace

/// Fragments of a quad side by side, in elements.
static int64_t getQuadColumns(const QuantizeSpec &spec) {
  return kQuad * getQuadFragment(spec);
}

static Lanes castIndex(KernelBuilder &b, Value index, Type type) {
  return {b, arith::IndexCastUIOp::create(b, type, index)};
}

static Lanes minimum(KernelBuilder &b, Lanes x, Lanes y) {
  return {b, arith::MinUIOp::create(b, x, y)};
}

void QuadEmitter::emitPosition() {
  thread = castIndex(b, emitThreadNumber(b, kFragmentThreads), b.getI32Type());
  Lanes block = emitBlockNumber(b);
  if (spec.globalPrologue.hasParts()) {
    Lanes blocks(b, gpu::GridDimOp::create(b, gpu::Dimension::x));
    block = blocks - 1 - block;
  }
  std::tie(rowBlock, unit) = split(castIndex(b, block, b.getI64Type()),
                                   spec.rowElements / getQuadColumns(spec));
  matrix = spec.batched ? castIndex(b, emitMatrixNumber(b), b.getI64Type())
                        : b.i64(0);
  for (int64_t row = 0; row < kRows; ++row) {
    ElementIndex<Lanes> element = getFragmentElement(FragmentPlace<Lanes>{
        thread, thread.like(0), thread.like(row), thread.like(0)});
    rowInBlock.push_back(extend(element.row, 64));
    // Two columns are the thread's, and the next ones its neighbour's.
    inQuad = element.col / 2;
  }
}

Fragment QuadEmitter::getFragment(int64_t row) {
  FragmentPosition position{matrix, getRow(row),
                            truncate(unit, 32) * kQuad + inQuad};
  return {b, spec, mapping, chip, arguments, position};
}

Fragment QuadEmitter::getLoadedFragment(int64_t row) {
  Fragment fragment = getFragment(row);
  FragmentPosition &position = fragment.position;
  position.row = minimum(b, position.row, arguments.rows - 1);
  if (spec.batched)
    position.matrix = minimum(b, matrix, arguments.matrices - 1);
  return fragment;
}

SmallVector<BlockElements> QuadEmitter::emitLoads() {
  SmallVector<BlockElements> blocks;
  for (int64_t row = 0; row < kRows; ++row)
    llvm::append_range(blocks,
                       loadBlocks(getLoadedFragment(row), /*staged=*/nullptr,
                                  mapping.fragmentElements));
  return blocks;
}

SmallVector<BlockElements> QuadEmitter::emitLoadsOfAny() {
  if (!arguments.storedAmax && !arguments.storedScale)
    return emitLoads();
  // The CTA that stores these is there without elements, too.
  Lanes hasAny = compare(arith::CmpIPredicate::ne, arguments.rows, 0);
  if (spec.batched)
    hasAny = hasAny & compare(arith::CmpIPredicate::ne, arguments.matrices, 0);
  int64_t bytes = getLoadBytes(spec, getAccessBytes(chip));
  int64_t words = spec.getBlockElements() * spec.getInputBytes() / bytes;
  SmallVector<Type> types(
      kRows * mapping.fragmentBlocks * words,
      VectorType::get({bytes / kWordBytes}, b.getI32Type()));
  SmallVector<Value> loaded = emitIfElseZero(b, hasAny, types, [&] {
    SmallVector<Value> found;
    for (const BlockElements &block : emitLoads())
      llvm::append_range(found, block.getWords());
    return found;
  });
  SmallVector<BlockElements> blocks;
  for (ArrayRef<Value> rest = loaded; !rest.empty();
       rest = rest.drop_front(words))
    blocks.push_back(
        BlockElements::fromWords(rest.take_front(words), spec.inputType));
  return blocks;
}

FragmentCodes QuadEmitter::emitCodes() {
  SmallVector<BlockElements> blocks = emitLoadsOfAny();
  if (isEarly)
    emitLaunchWait(b);
  if (!spec.globalPrologue.isEmpty())
    arguments.global =
        spec.globalPrologue
            .emit(
                b, thread, emitBlockNumber(b), kFragmentThreads / kWarpThreads,
                {arguments.global, arguments.storedAmax, arguments.storedScale})
            .operand;
  return encodeBlocks(getLoadedFragment(0), blocks, /*amaxes=*/{},
                      /*first=*/0, /*group=*/{});
}

FragmentCodes QuadEmitter::takeRow(const FragmentCodes &codes, int64_t row) {
  int64_t words = static_cast<int64_t>(codes.words.size()) / kRows;
  FragmentCodes own;
  // Rows that do not exist have zeros.
  Lanes exists = isBelow(getRow(row), arguments.rows);
  for (Value word : ArrayRef(codes.words).slice(row * words, words))
    own.words.push_back(select(exists, Lanes(b, word), b.i32(0)));
  if (mapping.fragmentBlocks == 1) {
    Lanes pair = codes.pairs.front();
    own.pairs.push_back(row == 0 ? pair & 0xFF : pair >> 8);
  } else {
    int64_t pairs = mapping.fragmentBlocks / 2;
    llvm::append_range(own.pairs,
                       ArrayRef(codes.pairs).slice(row * pairs, pairs));
  }
  for (Lanes &pair : own.pairs)
    pair = select(exists, pair, pair.like(0));
  return own;
}

SmallVector<Lanes> QuadEmitter::emitQuadWords(ArrayRef<Value> words,
                                              int64_t piece) {
  auto count = static_cast<int64_t>(words.size());
  constexpr int64_t pieceWords = kPieceRowBytes / kWordBytes;
  SmallVector<Lanes> found;
  for (int64_t i = piece * pieceWords; i < (piece + 1) * pieceWords; ++i)
    found.push_back(
        emitShuffleFrom(b, Lanes(b, words[i % count]), i / count, kQuad));
  return found;
}

void QuadEmitter::emitStorePieces(ArrayRef<FragmentCodes> rows) {
  int64_t bits = spec.getDataBits();
  int64_t pieceColumns = kPieceRowBytes * 8 / bits;
  int64_t pieces = getQuadColumns(spec) / pieceColumns;
  int64_t blockPieces = kFragmentCols / pieceColumns;
  Lanes rowBlocks = getFragmentBlocks(arguments.rows);
  Lanes firstBlock =
      (matrix * rowBlocks + rowBlock) * getFragmentBlocks(spec.rowElements) +
      unit * (pieces / blockPieces);
  Lanes holdsData = hasMatrix(isBelow(rowBlock, rowBlocks));
  for (int64_t i = 0; i < pieces; ++i) {
    SmallVector<Lanes> piece =
        emitGatherPiece(b, bits, inQuad, emitQuadWords(rows[0].words, i),
                        emitQuadWords(rows[1].words, i));
    Lanes inBlock =
        getUnitByte(thread, thread.like(i % blockPieces * kPieceUnits));
    Lanes byte = (firstBlock + i / blockPieces) * getFragmentBlockBytes(bits) +
                 extend(inBlock, 64);
    emit::emitIf(b, holdsData, [&] {
      emitStoreWords(b, piece, b.offset(arguments.data, b.getI8Type(), byte),
                     kFragmentThreadBytes);
    });
  }
}

void QuadEmitter::emitStoreRow(const FragmentCodes &codes, int64_t row) {
  Fragment fragment = getFragment(row);
  Lanes exists = hasMatrix(isBelow(fragment.position.row, arguments.rows));
  Lanes hasScales = exists;
  if (spec.swizzled)
    hasScales = hasMatrix(
        isBelow(fragment.position.row, fragment.rowTiles * kTileRows));
  emit::emitIf(b, hasScales, [&] {
    storeScales(fragment, /*grouped=*/nullptr, codes.pairs,
                mapping.fragmentBlocks);
  });
  if (!spec.isPrepacked)
    emit::emitIf(b, exists, [&] {
      storeCodes(fragment, /*staged=*/nullptr, codes, mapping.fragmentElements);
    });
}

void QuadEmitter::emit() {
  emitPosition();
  FragmentCodes codes = emitCodes();
  SmallVector<FragmentCodes> rows;
  for (int64_t row = 0; row < kRows; ++row) {
    rows.push_back(takeRow(codes, row));
    emitStoreRow(rows.back(), row);
  }
  if (spec.isPrepacked)
    emitStorePieces(rows);
}

void launchQuadQuantize(LaunchSite &site, const QuantizeSpec &spec,
                        QuantizeOperands operands) {
  ImplicitLocOpBuilder &b = site.b;
  bool isEarly = site.canLoadBeforeWait(operands.x);
  // Blocks of rows that only tiles of scales have are quantized, too.
  int64_t tileBlocks = spec.swizzled ? kTileRows / kFragmentRows : 1;
  Lanes blocks = getCeilDiv(b, operands.rows, tileBlocks * kFragmentRows) *
                 (tileBlocks * spec.rowElements / getQuadColumns(spec));
  Lanes matrices = operands.matrices;
  // What the first CTA stores is asked for without elements, too.
  if (operands.storedAmax || operands.storedScale) {
    blocks = emit::max(b, blocks, emit::getIndex(b, 1));
    matrices = emit::max(b, matrices, emit::getIndex(b, 1));
  }
  KernelSignature signature;
  addQuantizeSlots(signature, operands, spec, site.getChip());
  Launcher::Shape shape = {kFragmentThreads, blocks, matrices,
                           kRows * getQuadFragment(spec) *
                               spec.getInputBytes()};
  shape.waitsInBody = isEarly;
  site.launch(
      spec.getKernelName(site.getChip()), shape, signature,
      [&](KernelBuilder &inside) {
        QuadEmitter(inside, spec, site.getChip(), operands, isEarly).emit();
      });
}

} // namespace blockscale
