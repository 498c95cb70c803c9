//===- StagedLoads.cpp - Operands into shared memory ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data come by tensor maps, which fill rows and columns beyond the operand with
// zeros. Scales of 128 rows are tiles one after the other along K, so a flat
// copy brings those of a stage.
//
// Groups are parts of the one map of an operand. What a tile has beyond its
// group are rows without results, or elements of K that are not multiplied.
//
//===----------------------------------------------------------------------===//

#include "StagedLoads.h"

#include "InterleavedRows.h"
#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/SharedSwizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// The most plain rows of tiles that can begin at different stages.
static constexpr int64_t kRotatedTileRows = 16;

namespace {

class StagedLoadEmitter {
public:
  StagedLoadEmitter(KernelBuilder &b, const StagedOperands &context,
                    bool isPlain)
      : b(b), context(context), spec(context.spec), format(spec.format),
        arguments(context.arguments), isPlain(isPlain),
        ring(isPlain ? context.plain : context.codes) {}

  void emit();

private:
  void emitStage(const TileCoord &tile, Lanes stage, Value slot);
  /// The last coordinates of a copy, which say the matrix of A or of B: its
  /// number, or where rows of matrices alternate, that in its set and that of
  /// the set.
  SmallVector<Value, 2> getMatrix(const TileCoord &tile, bool isA);
  /// `isShared`: the copy is for all that share rows of A.
  void emitCopy(Value target, Value map, ValueRange coordinates, Value slot,
                bool isShared, Value policy = {});
  /// Copies `rows` rows of a step or box, of `rowBytes` bytes each, of A or B
  /// from row `first` on; of rows that CTAs share the part of this one. `place`
  /// is the byte of a row that the box begins at, and `depth` the element of K,
  /// both i32: an MN-major operand comes `kMnMajorRows` rows at a time.
  void emitRows(bool isA, Value target, Value map, Lanes first, Lanes place,
                Lanes depth, ValueRange matrix, int64_t rows, int64_t rowBytes,
                Value slot, Value policy = {});
  void emitPlain(const TileCoord &tile, Lanes depth, Value slot);
  void emitCodes(const TileCoord &tile, Lanes depth, Value slot);
  /// Copies packed codes of `blocks` blocks of each row of blocks (i32), from
  /// block `first` on.
  void emitPackedCodes(const TileCoord &tile, Lanes first, Lanes blocks,
                       Value slot);
  /// Copies the part that the tile has of each block of a stage by a map.
  void emitPackedParts(Value map, Value target, Lanes firstBlock, Lanes part,
                       Value slot, Value policy);
  /// The same of an operand with blocks across K, and its scales: a step of K
  /// is a row of blocks of codes and half a band of scales.
  void emitAcross(const TileCoord &tile, Lanes stage, Value slot);
  /// Copies `bytes` bytes (i32) of the scaled operand as they lie.
  void emitBulkCopy(const TileCoord &tile, Value target, Value source,
                    Value bytes, Value slot);
  /// Copies `bytes` bytes (i32) of scales for each product.
  void emitScales(const TileCoord &tile, Lanes firstTile, Value bytes,
                  Value slot);
  /// The byte of a row of codes that element `depth` of it is in.
  Lanes getCodeByte(Lanes depth) const {
    int64_t bits = format.getBits();
    return bits == 4 ? depth >> 1 : bits == 8 ? depth : depth << 1;
  }
  /// The products that have A, or B, of their own: all share A.
  ArrayRef<ProductArguments> getOwners(bool isA) const {
    ArrayRef<ProductArguments> products(arguments.products);
    return isA ? products.take_front() : products;
  }
  /// How the L2 cache keeps what is loaded of the scaled operand for a tile,
  /// i64.
  Value getPolicy(const TileCoord &tile);
  /// Whether tiles begin at different stages of K.
  bool canRotate() const {
    return context.tile.plainRows <= kRotatedTileRows && !format.keepsChain &&
           spec.getStageSteps() % format.getTileSteps() == 0;
  }
  /// The rows of the plain operand of a product.
  Value getPlainRows(const TileCoord &tile) const {
    return format.isScaledA ? arguments.cols : tile.product.rows;
  }
  /// The first stage of the operand that the tile needs, and how many.
  std::pair<Lanes, Lanes> getStages(const TileCoord &tile);
  /// Full stages of the tile, and that of these which it begins with.
  std::pair<Lanes, Lanes> getRotation(const TileCoord &tile);
  /// The first row of a tile in the matrix of A or of B of a product that has
  /// `rows` of them.
  Lanes getFirstRow(const TileCoord &tile, bool isA, int64_t rows);

  KernelBuilder &b;
  const StagedOperands &context;
  const StagedSpec &spec;
  const DecodedFormat &format;
  const GemmArguments &arguments;
  /// Whether the thread loads the plain operand, and not the one with scales.
  bool isPlain;
  StagedRing ring;
  /// Policies of the L2 cache, i64: such lines are replaced first, or as
  /// others.
  Value readOnce, readOften;
};

} // namespace

/// The most plain rows of products whose tiles begin at different stages
/// (`StagedLoadEmitter::getRotation`).
static constexpr int64_t kRotatedRows = 4;

/// Rows of a block of packed codes, whose columns are a step.
static constexpr int64_t kPackedRows = numerics::kFragmentRows;
static_assert(numerics::kFragmentCols == kDecodedStep);

/// Whether tiles have a part of the rows of each block of packed codes. These
/// parts are bytes beside each other, and come by a map of blocks in pieces of
/// `kPartPiece` bytes, which are the longest rows of a copy.
static bool hasPackedParts(const StagedSpec &spec) {
  return spec.format.isPacked &&
         DecodedTile(spec).scaledRowsOfEach < kPackedRows;
}
static constexpr int64_t kPartPiece = 256;

/// A policy of the L2 cache (PTX ISA, "createpolicy"), i64.
static Value createPolicy(KernelBuilder &b, StringRef priority) {
  std::string text =
      ("createpolicy.fractional.L2::" + priority + ".b64 $0, 1.0;").str();
  return LLVM::InlineAsmOp::create(
             b, b.getI64Type(), ValueRange(), text, "=l",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

Value StagedLoadEmitter::getPolicy(const TileCoord &tile) {
  // Where all rows of the plain operand are in one tile, no other tile reads
  // the same weights. What the cache has already is worth more.
  Lanes plainRows(b, getPlainRows(tile));
  return select(
      compare(Predicate::ule, plainRows, context.tile.plainRowsOfEach),
      Lanes(b, readOnce), Lanes(b, readOften));
}

Lanes StagedLoadEmitter::getFirstRow(const TileCoord &tile, bool isA,
                                     int64_t rows) {
  if (isA)
    return tile.product.firstRow + tile.row * rows;
  return tile.col * rows;
}

/// A pointer into the CTA's shared memory as one into that of its cluster, of
/// which it is the only CTA: copies to the former have a form of their own only
/// from PTX 8.6 on.
static Value toCluster(KernelBuilder &b, Value pointer) {
  constexpr unsigned clusterMemory = 7; // NVPTX address space
  return LLVM::AddrSpaceCastOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), clusterMemory), pointer);
}

void StagedLoadEmitter::emitCopy(Value target, Value map,
                                 ValueRange coordinates, Value slot,
                                 bool isShared, Value policy) {
  Value mask;
  if (isShared)
    mask = arith::ConstantOp::create(
        b,
        b.getI16IntegerAttr(static_cast<int16_t>((1 << context.sharers) - 1)));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, toCluster(b, target), map, coordinates, ring.full.get(b, slot),
      /*im2colOffsets=*/ValueRange(), mask, policy, NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

/// The coordinates of a copy.
static SmallVector<Value> join(Value first, Value second, ValueRange matrix) {
  SmallVector<Value> coordinates = {first, second};
  llvm::append_range(coordinates, matrix);
  return coordinates;
}

void StagedLoadEmitter::emitRows(bool isA, Value target, Value map, Lanes first,
                                 Lanes place, Lanes depth, ValueRange matrix,
                                 int64_t rows, int64_t rowBytes, Value slot,
                                 Value policy) {
  bool isShared = isA && context.sharers > 1;
  if (isShared) {
    rows /= context.sharers;
    Lanes before = context.sharer * rows;
    first = first + before;
    target = b.offset(target, b.getI8Type(), before * rowBytes);
  }
  if (!format.isMnMajor(isA))
    return emitCopy(target, map, join(place, first, matrix), slot, isShared,
                    policy);
  for (int64_t i = 0; i < rows; i += kMnMajorRows)
    emitCopy(
        b.offset(target, b.getI8Type(), b.i32(i * kPlainStepBytes)), map,
        join((first + i) * (kPlainStepBytes / kDecodedStep), depth, matrix),
        slot, isShared, policy);
}

SmallVector<Value, 2> StagedLoadEmitter::getMatrix(const TileCoord &tile,
                                                   bool isA) {
  Lanes matrix = isA ? tile.product.matrixA : tile.product.matrixB;
  Value inner = isA ? arguments.innerA : arguments.innerB;
  if (!inner)
    return {matrix};
  auto [set, inSet] = MatrixRows::split(b, matrix, inner);
  return {inSet, set};
}

void StagedLoadEmitter::emitPlain(const TileCoord &tile, Lanes depth,
                                  Value slot) {
  bool isA = !format.isScaledA;
  int64_t rows = context.tile.plainRowsOfEach;
  Lanes row = getFirstRow(tile, isA, rows);
  SmallVector<Value, 2> matrix = getMatrix(tile, isA);
  Value target = context.memory.getShared(b, context.shared.plain, slot,
                                          context.shared.plainBytes);
  int64_t offset = 0;
  for (int64_t i = 0; i < spec.getPlainSteps(); ++i) {
    Lanes byte = (depth + i * kDecodedStep) * (kPlainStepBytes / kDecodedStep);
    for (const ProductArguments &product : getOwners(isA)) {
      Value ofProduct = b.offset(target, b.getI8Type(), b.i32(offset));
      Value map = isA ? arguments.mapA : product.mapB;
      emitRows(isA, ofProduct, map, row, byte, depth + i * kDecodedStep, matrix,
               rows, kPlainStepBytes, slot);
      offset += rows * kPlainStepBytes;
    }
  }
}

void StagedLoadEmitter::emitCodes(const TileCoord &tile, Lanes depth,
                                  Value slot) {
  bool isA = format.isScaledA;
  int64_t rows = context.tile.scaledRowsOfEach;
  Lanes row = getFirstRow(tile, isA, rows);
  SmallVector<Value, 2> matrix = getMatrix(tile, isA);
  const StagedLayout &shared = context.shared;
  Value target =
      context.memory.getShared(b, shared.codes, slot, shared.codeBytes);
  int64_t offset = 0;
  for (int64_t box = 0; box < shared.codeBytes / context.tile.scaledRows;
       box += shared.boxBytes)
    for (const ProductArguments &product : getOwners(isA)) {
      Value ofProduct = b.offset(target, b.getI8Type(), b.i32(offset));
      Value map = isA ? arguments.mapA : product.mapB;
      emitRows(isA, ofProduct, map, row, getCodeByte(depth) + box,
               depth + box / kPlainStepBytes * kDecodedStep, matrix, rows,
               shared.boxBytes, slot, getPolicy(tile));
      offset += rows * shared.boxBytes;
    }
}

void StagedLoadEmitter::emitBulkCopy(const TileCoord &tile, Value target,
                                     Value source, Value bytes, Value slot) {
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      b, toCluster(b, target), source, ring.full.get(b, slot), bytes,
      /*multicastMask=*/Value(), getPolicy(tile));
}

void StagedLoadEmitter::emitPackedCodes(const TileCoord &tile, Lanes first,
                                        Lanes blocks, Value slot) {
  bool isA = format.isScaledA;
  const StagedLayout &shared = context.shared;
  int64_t blockBytes = kPackedRows * format.getCodeBytes();
  Lanes matrix = isA ? tile.product.matrixA : tile.product.matrixB;
  Lanes blockRows(
      b, emitCeilDiv(b, isA ? arguments.rows : arguments.cols, kPackedRows));
  Lanes blockCols = emitCeilDiv(b, arguments.depth, kDecodedStep);
  int64_t tileRows = context.tile.scaledRowsOfEach;
  int64_t rowsOfEach = llvm::divideCeil(tileRows, kPackedRows);
  auto [row, part] =
      numerics::splitBits((isA ? tile.row : tile.col) * rowsOfEach,
                          rowsOfEach * kPackedRows / tileRows);
  Value target =
      context.memory.getShared(b, shared.codes, slot, shared.codeBytes);
  int64_t offset = 0;
  for (int64_t i = 0; i < rowsOfEach; ++i)
    for (const ProductArguments &product : getOwners(isA)) {
      // Beyond the last row of blocks there are no results.
      Lanes blockRow = minUnsigned(row + i, blockRows - 1);
      Lanes block =
          toI64(b, matrix * blockRows + blockRow) * toI64(b, blockCols) +
          toI64(b, first);
      if (hasPackedParts(spec)) {
        emitPackedParts(isA ? arguments.mapA : product.mapB, target,
                        truncate(block, 32), part, slot, getPolicy(tile));
        continue;
      }
      emitBulkCopy(tile, b.offset(target, b.getI8Type(), b.i32(offset)),
                   b.offset(isA ? arguments.packedA : product.packedB,
                            b.getI8Type(), block * blockBytes),
                   blocks * blockBytes, slot);
      offset += spec.getStageSteps() * blockBytes;
    }
}

void StagedLoadEmitter::emitPackedParts(Value map, Value target,
                                        Lanes firstBlock, Lanes part,
                                        Value slot, Value policy) {
  int64_t pieces =
      context.tile.scaledRowsOfEach * format.getCodeBytes() / kPartPiece;
  emitCopy(target, map, {b.i32(0), part * pieces, firstBlock}, slot,
           /*isShared=*/false, policy);
}

void StagedLoadEmitter::emitAcross(const TileCoord &tile, Lanes stage,
                                   Value slot) {
  const StagedLayout &shared = context.shared;
  const ProductRange &product = tile.product;
  int64_t rows = context.tile.scaledRowsOfEach;
  auto owners = static_cast<int64_t>(arguments.products.size());
  Lanes firstStep = stage * spec.getStageSteps();
  Lanes firstRow = tile.col * rows, matrix = product.matrixB;
  int64_t blockBytes = kPackedRows * format.getCodeBytes();
  int64_t blocks = rows / kPackedRows, tiles = spec.getTilesAcross();
  Lanes blockCols(b, emitCeilDiv(b, arguments.cols, kPackedRows));
  Lanes blockRows(b, emitCeilDiv(b, arguments.depth, kDecodedStep));
  Lanes steps =
      minUnsigned(blockRows - firstStep, matrix.like(spec.getStageSteps()));
  Lanes bands(b, emitCeilDiv(b, steps, format.getTileSteps()));
  ring.full.emitExpect(
      b, slot,
      (steps * (blocks * blockBytes) + bands * (tiles * kTileBytes)) * owners);
  // Copies `count` units of a row of `cols` that begins at unit `begin`, from
  // number `first` of the row on. Beyond the row there are no results.
  auto emitRow = [&](Value source, Value target, Lanes begin, Lanes cols,
                     Lanes first, int64_t count, int64_t bytes) {
    for (int64_t i = 0; i < count; ++i) {
      Lanes number = begin + toI64(b, minUnsigned(first + i, cols - 1));
      emitBulkCopy(tile, b.offset(target, b.getI8Type(), b.i32(i * bytes)),
                   b.offset(source, b.getI8Type(), number * bytes),
                   first.like(bytes), slot);
    }
  };
  auto getTarget = [&](int64_t buffer, int64_t stageBytes, Lanes place) {
    return b.offset(context.memory.getShared(b, buffer, slot, stageBytes),
                    b.getI8Type(), place);
  };
  emitCount(b, steps, {}, [&](Lanes number, ValueRange) {
    Lanes row =
        toI64(b, matrix) * toI64(b, blockRows) + toI64(b, firstStep + number);
    for (const auto &[i, own] : llvm::enumerate(arguments.products))
      emitRow(own.packedB,
              getTarget(shared.codes, shared.codeBytes,
                        (number * owners + static_cast<int64_t>(i)) *
                            (blocks * blockBytes)),
              row * toI64(b, blockCols), blockCols,
              firstRow >> llvm::Log2_64(kPackedRows), blocks, blockBytes);
    return SmallVector<Value>();
  });
  Lanes firstBand = firstStep >> llvm::Log2_64(format.getTileSteps());
  emitCount(b, bands, {}, [&](Lanes number, ValueRange) {
    Lanes begin = product.scalesB +
                  toI64(b, firstBand + number) * toI64(b, product.bandTiles);
    int64_t ofEach = spec.getStageScaleTiles() * kTileBytes;
    for (const auto &[i, own] : llvm::enumerate(arguments.products))
      emitRow(own.scaleB,
              getTarget(shared.scales, shared.scaleBytes,
                        number * (tiles * kTileBytes) +
                            static_cast<int64_t>(i) * ofEach),
              begin, product.bandTiles,
              firstRow >> llvm::Log2_64(format.block * kTileCols), tiles,
              kTileBytes);
    return SmallVector<Value>();
  });
}

void StagedLoadEmitter::emitScales(const TileCoord &tile, Lanes firstTile,
                                   Value bytes, Value slot) {
  bool isA = format.isScaledA;
  const ProductRange &product = tile.product;
  // The tile of scales: of the band of 128 rows that the tile's rows are in,
  // and of the stage along K.
  Lanes rowsBefore =
      (isA ? tile.row : tile.col) * context.tile.scaledRowsOfEach;
  Lanes band = rowsBefore >> llvm::Log2_64(kTileRows);
  Lanes scaleTile = toI64(b, band) * toI64(b, product.bandTiles) +
                    (isA ? product.scalesA : product.scalesB) +
                    toI64(b, firstTile);
  Value target = context.memory.getShared(b, context.shared.scales, slot,
                                          context.shared.scaleBytes);
  for (const auto &[i, own] : llvm::enumerate(getOwners(isA))) {
    int64_t offset =
        static_cast<int64_t>(i) * spec.getStageScaleTiles() * kTileBytes;
    emitBulkCopy(tile, b.offset(target, b.getI8Type(), b.i32(offset)),
                 b.offset(isA ? arguments.scaleA : own.scaleB, b.getI8Type(),
                          scaleTile * kTileBytes),
                 bytes, slot);
  }
}

void StagedLoadEmitter::emitStage(const TileCoord &tile, Lanes stage,
                                  Value slot) {
  const StagedLayout &shared = context.shared;
  if (isPlain) {
    Lanes depth =
        tile.product.firstDepth + stage * (spec.getPlainSteps() * kDecodedStep);
    ring.full.emitExpect(b, slot, depth.like(shared.plainBytes));
    return emitPlain(tile, depth, slot);
  }
  if (format.isAcross())
    return emitAcross(tile, stage, slot);
  Lanes depth = tile.product.firstDepth + stage * spec.stageElements;
  // The last stage can have fewer tiles of scales. Boxes count in full,
  // whatever of them is beyond the operand.
  Lanes firstTile =
      (stage * spec.getStageSteps()) >> llvm::Log2_64(format.getTileSteps());
  Lanes left = tile.product.bandTiles - firstTile;
  Lanes scaleBytes =
      minUnsigned(left, left.like(spec.getStageScaleTiles())) * kTileBytes;
  Lanes codeBytes = left.like(shared.codeBytes);
  Lanes firstStep = stage * spec.getStageSteps(), blocks = left;
  if (format.isPacked) {
    blocks =
        minUnsigned(emitCeilDiv(b, arguments.depth, kDecodedStep) - firstStep,
                    left.like(spec.getStageSteps()));
    if (!hasPackedParts(spec))
      codeBytes = blocks * (context.tile.scaledRows * format.getCodeBytes());
  }
  Lanes bytes = codeBytes;
  if (format.hasScales)
    bytes = scaleBytes * context.tile.scaledOwners + codeBytes;
  ring.full.emitExpect(b, slot, bytes);
  if (format.isPacked)
    emitPackedCodes(tile, firstStep, blocks, slot);
  if (format.hasScales)
    emitScales(tile, firstTile, scaleBytes, slot);
  if (!format.isPacked)
    emitCodes(tile, depth, slot);
}

std::pair<Lanes, Lanes> StagedLoadEmitter::getStages(const TileCoord &tile) {
  Lanes begin = tile.begin, end = tile.end;
  if (!isPlain || spec.plainParts == 1)
    return {begin, end - begin};
  // Who multiplies waits for no part that begins behind K.
  Lanes depth = tile.product.depth;
  Lanes all = emitCeilDiv(b, depth, spec.getPlainSteps() * kDecodedStep);
  Lanes first = begin * spec.plainParts;
  return {first,
          minUnsigned(maxUnsigned(all, first), end * spec.plainParts) - first};
}

/// Tiles that run at the same time would read the same few lines of the plain
/// operand at the same time, from one place of the L2 cache. So each begins at
/// another stage. With more rows there are more lines, and reading weights in
/// the order of memory is worth more.
std::pair<Lanes, Lanes> StagedLoadEmitter::getRotation(const TileCoord &tile) {
  Lanes end = tile.end, begin = tile.begin;
  Lanes depth = tile.product.depth;
  Lanes full =
      minUnsigned(end, depth >> llvm::Log2_64(spec.stageElements)) - begin;
  Lanes number = format.isScaledA ? tile.row : tile.col;
  Lanes stages = maxUnsigned(full, full.like(1));
  Lanes first = number - divide(b, number, stages) * stages;
  Lanes areFew =
      compare(Predicate::ule, Lanes(b, getPlainRows(tile)), kRotatedRows);
  return {full, select(areFew, first, first.like(0))};
}

void StagedLoadEmitter::emit() {
  if (!isPlain) {
    readOnce = createPolicy(b, "evict_first");
    readOften = createPolicy(b, "evict_normal");
  }
  context.order.emitTiles(
      b, RingSlot::getFirst(b).get(),
      [&](const TileCoord &tile, ValueRange carried) {
        auto [begin, count] = getStages(tile);
        Lanes full = count, first = full.like(0);
        if (canRotate())
          std::tie(full, first) = getRotation(tile);
        return emitCount(b, count, carried,
                         [&, begin = begin](Lanes stage, ValueRange carried) {
                           RingSlot slot = RingSlot::of(carried);
                           ring.empty.emitWaitEmpty(b, slot);
                           if (canRotate()) {
                             Lanes rotated = stage + first;
                             rotated =
                                 select(compare(Predicate::uge, rotated, full),
                                        rotated - full, rotated);
                             stage =
                                 select(compare(Predicate::slt, stage, full),
                                        rotated, stage);
                           }
                           emitStage(tile, begin + stage, slot.index);
                           return slot
                               .getNext(b, isPlain ? spec.schedule.getStages()
                                                   : spec.getCodeStages())
                               .get();
                         });
      });
}

StagedLayout::StagedLayout(const StagedSpec &spec, int64_t sumPart)
    : DecodedLayout(spec, spec.getStageScaleTiles(), sumPart),
      boxBytes(std::min(spec.getStageSteps() * spec.format.getCodeBytes(),
                        numerics::kSwizzleLine)) {}

void StagedLayout::takeStageBarriers(const StagedSpec &spec) {
  int64_t stages = spec.getCodeStages();
  stageFull = take(stages * kBarrierBytes);
  stageEmpty = take(stages * kBarrierBytes);
}

/// Gives packed data a map of which a copy brings the parts of a stage. Behind
/// K these are blocks of the next rows, or zeros, which are not multiplied.
static void addPartMap(LaunchSite &site, const StagedSpec &spec,
                       OperandData &data) {
  ImplicitLocOpBuilder &b = site.b;
  requireAlignment(b, data.memory, kCopyBytes);
  int64_t rowBytes = spec.format.getCodeBytes();
  int64_t blockBytes = kPackedRows * rowBytes;
  Value blocks = emit::mul(
      b, emit::mul(b, data.matrices, getCeilDiv(b, data.rows, kPackedRows)),
      getCeilDiv(b, data.depth, kDecodedStep));
  data.map = TensorMapOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()),
      getGlobalPointer(b, data.memory),
      ValueRange{emit::getIndex(b, kPartPiece),
                 emit::getIndex(b, blockBytes / kPartPiece),
                 atLeast(b, blocks, 1)},
      ValueRange{emit::getIndex(b, kPartPiece), emit::getIndex(b, blockBytes)},
      ArrayRef<int64_t>{kPartPiece,
                        DecodedTile(spec).scaledRowsOfEach * rowBytes /
                            kPartPiece,
                        spec.getStageSteps()},
      MapElement::UInt8, /*swizzle=*/0);
}

OperandData getStagedData(const HostOperand &operand, const StagedSpec &spec,
                          int64_t boxBytes) {
  bool isScaled = operand.isA == spec.format.isScaledA;
  int64_t bits = spec.format.getBits(operand.isA);
  if (isScaled && spec.format.isPacked) {
    OperandData data = getData(operand, bits);
    if (hasPackedParts(spec))
      addPartMap(operand.site, spec, data);
    return data;
  }
  OperandData data = getAlignedData(operand, bits);
  if (operand.isMnMajor) {
    addMap(operand.site, spec, data,
           {kDecodedStep, kPlainStepBytes, /*multiple=*/kCopyBytes * 8 / bits,
            /*isPadded=*/false, /*isMnMajor=*/true});
    return data;
  }
  DecodedTile tile(spec);
  int64_t rows = isScaled ? tile.scaledRowsOfEach : tile.plainRowsOfEach;
  if (operand.isA)
    rows /= spec.schedule.getMulticast();
  addMap(operand.site, spec, data,
         {rows, isScaled ? boxBytes : kPlainStepBytes,
          /*multiple=*/kCopyBytes * 8 / bits});
  return data;
}

void emitStagedLoads(KernelBuilder &b, const StagedOperands &operands,
                     bool isPlain) {
  StagedLoadEmitter(b, operands, isPlain).emit();
}

} // namespace blockscale::products
