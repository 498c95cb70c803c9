//===- PlainMmaLoads.cpp - Operands into shared memory --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainMmaRoles.h"
#include "Products/InterleavedRows.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Bytes from the begin of a row to that of the next, i64. Rows whose length is
/// no multiple of a copy were moved apart (Products/AlignedRows.h).
static Lanes getPitch(KernelBuilder &b, Value depth, int64_t bits) {
  Lanes elements = toI64(b, depth);
  Lanes bytes =
      bits < 8 ? elements >> llvm::Log2_64(8 / bits) : elements * (bits / 8);
  return (bytes + (kCopyBytes - 1)) & -kCopyBytes;
}

PlainMmaLoads::PlainMmaLoads(KernelBuilder &b, const PlainMmaContext &context,
                             const PlainMmaThread &thread,
                             const TileCoord &tile)
    : b(b), context(context), spec(context.spec), thread(thread), tile(tile) {
  Lanes end = tile.end * spec.stageElements;
  limit = minUnsigned(tile.product.depth, end);
  for (bool isPlain : {true, false})
    if (isPlain ? spec.format.isPlainMnMajor() : spec.format.isOtherMnMajor())
      addColumns(isPlain);
    else
      addRows(isPlain);
  if (spec.format.hasScales)
    addScales();
}

Lanes PlainMmaLoads::getFirstStep() {
  Lanes team = thread.team;
  return spec.hasTeamLoads() ? team * spec.getOwnSteps() : team.like(0);
}

void PlainMmaLoads::addRows(bool isPlain) {
  const ProductRange &product = tile.product;
  const GemmArguments &arguments = context.arguments;
  bool isA = isPlain != spec.format.isScaledA;
  int64_t bits = isPlain ? spec.format.plain.getIntOrFloatBitWidth()
                         : spec.format.getBits();
  int64_t owners =
      isPlain ? context.tile.plainOwners : context.tile.scaledOwners;
  int64_t rows =
      isPlain ? context.tile.plainRowsOfEach : context.tile.scaledRowsOfEach;
  int64_t stepBytes = kDecodedStep * bits / 8;
  int64_t stepPieces = stepBytes / kCopyBytes;
  int64_t rowPieces = stepPieces * spec.getLoadedSteps();
  int64_t threads = spec.getLoaders();
  Lanes number = thread.loader;
  auto [inTile, loadedPiece] = numerics::splitBits(number, rowPieces);
  Lanes piece = getFirstStep() * stepPieces + loadedPiece;
  auto [step, inStep] = numerics::splitBits(piece, stepPieces);
  Lanes pitch = getPitch(b, arguments.depth, bits);
  MatrixRows matrix(b, isA ? product.matrixA : product.matrixB,
                    isA ? arguments.rows : Value(context.getDataCols(b)),
                    isA ? arguments.innerA : arguments.innerB);
  Lanes row = (isA ? tile.row : tile.col) * rows + inTile;
  Lanes before = matrix.get(toI64(b, row));
  if (isA)
    before = before + toI64(b, product.firstRow);
  // The place in a row is computed again for each tile: kept from one to the
  // next, it takes registers that sums need.
  Lanes inRow = toI64(b, b.hide(piece, tile.col)) * kCopyBytes;
  Lanes byte =
      ((toI64(b, product.firstDepth) * bits) >> 3) + inRow + before * pitch;
  // Rows of a thread are multiples of eight apart, so that all its pieces are
  // exchanged alike.
  Lanes place = isPlain || !spec.format.hasScales
                    ? inStep ^ numerics::getExchange(inTile, stepBytes)
                    : inStep;
  Pieces own;
  own.first = piece * (kCopyBytes * 8 / bits);
  own.row = row;
  own.rows = isA ? product.rows : context.getDataCols(b);
  own.rowDistance = threads / rowPieces;
  own.sourceDistance = matrix.getDistance(pitch) * own.rowDistance;
  own.targetDistance = own.rowDistance * stepBytes;
  own.count = llvm::divideCeil(rows * rowPieces, threads);
  if (rows * rowPieces < threads)
    own.inRange = compare(Predicate::ult, number, rows * rowPieces);
  for (int64_t owner = 0; owner < owners; ++owner) {
    own.source =
        b.offset(isA ? arguments.packedA : arguments.products[owner].packedB,
                 b.getI8Type(), byte);
    own.target = step * (owners * rows * stepBytes) +
                 (inTile + owner * rows) * stepBytes + place * kCopyBytes;
    (isPlain ? plain : codes).push_back(own);
  }
}

void PlainMmaLoads::addColumns(bool isPlain) {
  const ProductRange &product = tile.product;
  const GemmArguments &arguments = context.arguments;
  constexpr int64_t bits = 8 * kCopyBytes / kPieceElements;
  bool isA = isPlain != spec.format.isScaledA;
  int64_t owners =
      isPlain ? context.tile.plainOwners : context.tile.scaledOwners;
  int64_t rows =
      isPlain ? context.tile.plainRowsOfEach : context.tile.scaledRowsOfEach;
  int64_t linePieces = rows / kPieceElements;
  int64_t lineBytes = linePieces * kCopyBytes;
  int64_t threads = spec.getLoaders();
  int64_t lines = spec.getLoadedSteps() * kDecodedStep;
  auto [loadedLine, piece] = numerics::splitBits(thread.loader, linePieces);
  auto [step, line] = numerics::splitBits(loadedLine, kDecodedStep);
  Lanes firstStep = getFirstStep();
  Value length = isA ? arguments.rows : Value(context.getDataCols(b));
  Lanes pitch = getPitch(b, length, bits);
  // Lines are rows of the matrix as memory has it, one for each of K.
  MatrixRows matrix(b, isA ? product.matrixA : product.matrixB, arguments.depth,
                    isA ? arguments.innerA : arguments.innerB);
  Lanes linePitch = matrix.getDistance(pitch);
  Pieces own;
  own.isMnMajor = true;
  own.first = firstStep * kDecodedStep + loadedLine;
  own.row = (isA ? tile.row : tile.col) * rows + piece * kPieceElements;
  own.rows = isA ? product.rows : context.getDataCols(b);
  // The last piece of a line can have fewer rows.
  own.bytes = select(
      isBelow(own.row, own.rows),
      minUnsigned((own.rows - own.row) * (bits / 8), own.row.like(kCopyBytes)),
      own.row.like(0));
  own.rowDistance = threads / linePieces;
  own.sourceDistance = linePitch * own.rowDistance;
  own.stageDistance = linePitch * spec.stageElements;
  own.targetDistance = own.rowDistance * lineBytes;
  own.stepDistance = owners * rows * kPlainStepBytes;
  own.count = llvm::divideCeil(lines, own.rowDistance);
  if (lines < own.rowDistance)
    own.inRange = compare(Predicate::ult, loadedLine, lines);
  own.place = piece ^ numerics::getExchange(loadedLine, lineBytes);
  // The place in the operand is computed again for each tile, as that of rows.
  Lanes firstLine = matrix.get(toI64(b, b.hide(own.first, tile.col)) +
                               toI64(b, product.firstDepth));
  Lanes byte = firstLine * pitch + toI64(b, own.row) * (bits / 8);
  for (int64_t owner = 0; owner < owners; ++owner) {
    own.source =
        b.offset(isA ? arguments.packedA : arguments.products[owner].packedB,
                 b.getI8Type(), byte);
    own.target = (firstStep + step) * own.stepDistance +
                 (line * lineBytes + owner * rows * kPlainStepBytes);
    (isPlain ? plain : codes).push_back(own);
  }
}

void PlainMmaLoads::addScales() {
  const ProductRange &product = tile.product;
  const GemmArguments &arguments = context.arguments;
  bool isA = spec.format.isScaledA;
  int64_t bands = context.tile.bandsOfEach;
  int64_t stageTiles = spec.getStageScaleTiles();
  int64_t tileSteps = spec.getSharedTileSteps();
  int64_t tiles = spec.getLoadedSteps() / tileSteps;
  constexpr int64_t tilePieces = kTileBytes / kCopyBytes;
  int64_t pieces = bands * tiles * tilePieces;
  int64_t threads = spec.getLoaders();
  Lanes rowsBefore =
      context.getScaledTile(tile) * context.tile.scaledRowsOfEach;
  Lanes firstBand = rowsBefore >> llvm::Log2_64(kTileRows);
  Lanes size = isA ? product.rows : context.getDataCols(b);
  Lanes number = thread.loader;
  Lanes firstStep = getFirstStep();
  for (int64_t owner = 0; owner < context.tile.scaledOwners; ++owner)
    for (int64_t i = 0; i < pieces; i += threads) {
      Lanes item = number + i;
      auto [which, inTile] = numerics::splitBits(item, tilePieces);
      auto [inBands, inLoaded] = numerics::splitBits(which, tiles);
      Lanes ofStage =
          (firstStep >> llvm::Log2_64(spec.format.getTileSteps())) + inLoaded;
      Lanes band = firstBand + inBands;
      ScalePiece own;
      own.tile = ofStage;
      own.bandExists = isBelow(band * kTileRows, size);
      Lanes first = toI64(b, band) * toI64(b, product.bandTiles) +
                    (isA ? product.scalesA : product.scalesB) +
                    toI64(b, ofStage);
      own.source = b.offset(
          isA ? arguments.scaleA : arguments.products[owner].scaleB,
          b.getI8Type(), first * kTileBytes + toI64(b, inTile) * kCopyBytes);
      // Where teams load, rows with scales are those of one band.
      own.target =
          item * kCopyBytes + ((firstStep >> llvm::Log2_64(tileSteps)) +
                               owner * bands * stageTiles) *
                                  kTileBytes;
      if (i + threads > pieces)
        own.inRange = compare(Predicate::ult, number, pieces - i);
      scales.push_back(own);
    }
}

void PlainMmaLoads::emitCopy(Value target, Value source, Value bytes,
                             Value inRange) {
  auto copy = [&] {
    NVVM::CpAsyncOp::create(b, target, source, kCopyBytes,
                            NVVM::LoadCacheModifierKind::CG, bytes);
  };
  if (inRange)
    emit::emitIf(b, inRange, copy);
  else
    copy();
}

void PlainMmaLoads::emitPieces(const Pieces &pieces, int64_t bits, Lanes stage,
                               Value slot, int64_t offset, int64_t stageBytes,
                               function_ref<void()> between) {
  // A piece that begins before the end is there as a whole, unless it ends a
  // row. Its second half can be of another group, whose scale is taken as 0.
  Lanes element = stage * spec.stageElements + pieces.first;
  if (pieces.isMnMajor)
    return emitColumns(pieces, element, stage, slot, offset, stageBytes,
                       between);
  Lanes isLoaded = spec.isMultipleOf(spec.stageElements)
                       ? isBelow(stage, tile.end)
                       : isBelow(element, limit);
  Lanes bytes(b, b.i32(kCopyBytes));
  if (spec.hasCutPieces() && bits < 8)
    bytes = minUnsigned((limit - element) >> llvm::Log2_64(8 / bits), bytes);
  Value source = b.offset(pieces.source, b.getI8Type(),
                          toI64(b, stage) * (spec.stageElements * bits / 8));
  Value target = b.offset(context.getShared(b, offset, slot, stageBytes),
                          b.getI8Type(), pieces.target);
  for (int64_t i = 0; i < pieces.count; ++i) {
    Lanes row = pieces.row + i * pieces.rowDistance;
    emitCopy(b.offset(target, b.getI8Type(), b.i32(i * pieces.targetDistance)),
             source,
             select(isBelow(row, pieces.rows) & isLoaded, bytes, bytes.like(0)),
             pieces.inRange);
    between();
    source = b.offset(source, b.getI8Type(), pieces.sourceDistance);
  }
}

void PlainMmaLoads::emitColumns(const Pieces &pieces, Lanes element,
                                Lanes stage, Value slot, int64_t offset,
                                int64_t stageBytes,
                                function_ref<void()> between) {
  int64_t lineBytes = pieces.targetDistance / pieces.rowDistance;
  Value source = b.offset(pieces.source, b.getI8Type(),
                          toI64(b, stage) * pieces.stageDistance);
  Value target = b.offset(context.getShared(b, offset, slot, stageBytes),
                          b.getI8Type(), pieces.target);
  for (int64_t i = 0; i < pieces.count; ++i) {
    // The lines of a step are followed by those of other products.
    int64_t line = i * pieces.rowDistance;
    int64_t exchange = numerics::getExchange(line, lineBytes);
    Lanes place = (pieces.place ^ exchange) * kCopyBytes +
                  (line % kDecodedStep * lineBytes +
                   line / kDecodedStep * pieces.stepDistance);
    emitCopy(b.offset(target, b.getI8Type(), place), source,
             select(isBelow(element + line, limit), pieces.bytes,
                    pieces.bytes.like(0)),
             pieces.inRange);
    between();
    source = b.offset(source, b.getI8Type(), pieces.sourceDistance);
  }
}

int64_t PlainMmaLoads::countCopies() const {
  auto count = static_cast<int64_t>(scales.size());
  for (const auto *all : {&plain, &codes})
    for (const Pieces &each : *all)
      count += each.count;
  return count;
}

void PlainMmaLoads::emitStage(Lanes stage, Value slot,
                              function_ref<void()> between) {
  const PlainMmaLayout &shared = context.shared;
  for (const Pieces &each : plain)
    emitPieces(each, spec.format.plain.getIntOrFloatBitWidth(), stage, slot,
               shared.plain, shared.plainBytes, between);
  for (const Pieces &each : codes)
    emitPieces(each, spec.format.getBits(), stage, slot, shared.codes,
               shared.codeBytes, between);
  Lanes isLoaded = isBelow(stage, tile.end);
  Lanes firstTile = (stage * spec.getStageSteps()) >>
                    llvm::Log2_64(spec.format.getTileSteps());
  Value place = context.getShared(b, shared.scales, slot, shared.scaleBytes);
  for (const ScalePiece &piece : scales) {
    Lanes exists = isBelow(firstTile + piece.tile, tile.product.bandTiles) &
                   isLoaded & piece.bandExists;
    emitCopy(
        b.offset(place, b.getI8Type(), piece.target),
        b.offset(piece.source, b.getI8Type(), toI64(b, firstTile) * kTileBytes),
        select(exists, firstTile.like(kCopyBytes), firstTile.like(0)),
        piece.inRange);
    between();
  }
  NVVM::CpAsyncCommitGroupOp::create(b);
}

} // namespace blockscale::products
