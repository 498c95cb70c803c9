//===- QuantizeKernel.cpp - Structure of a quantize kernel ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeKernel.h"
#include "DeviceCode.h"
#include "LaunchSite.h"
#include "QuantizeArguments.h"
#include "QuantizeChunk.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

namespace {

class QuantizeKernelEmitter {
public:
  QuantizeKernelEmitter(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip, ValueRange values);

  void emit();

private:
  /// Emits `body` to run where the i1 `condition` holds, and `otherwise`, if
  /// given, to run elsewhere. Null conditions always hold.
  void emitIf(Value condition, function_ref<void()> body,
              function_ref<void()> otherwise = nullptr);
  /// Thread block number along a dimension of the grid, as i32.
  Value getBlockNumber(gpu::Dimension dimension);
  void emitPosition(Value blockNumber);
  void emitBlock(Value blockNumber, const GroupedScales *grouped);

  Value isChunkBelow(int64_t bound);
  Value isFullWarp();
  void emitRow(ChunkEmitter &chunk);
  void emitZeroScales(ChunkEmitter &chunk);
  void emitPadding(ChunkEmitter &chunk);

  const QuantizeSpec &spec;
  const target::Chip &chip;
  ThreadMapping mapping;
  KernelBuilder &b;

  QuantizeOperands arguments;
  /// i32 number in the thread block.
  Value thread;
  ChunkPosition position;
  /// ceil(rows / 128).
  Value rowTiles;
};

} // namespace

QuantizeKernelEmitter::QuantizeKernelEmitter(KernelBuilder &b,
                                             const QuantizeSpec &spec,
                                             const target::Chip &chip,
                                             ValueRange values)
    : spec(spec), chip(chip), mapping(spec, chip), b(b) {
  for (auto [argument, value] : llvm::zip_equal(
           getQuantizeArguments(b.getContext(), spec, chip), values))
    arguments.*argument.place = value;
}

void QuantizeKernelEmitter::emitIf(Value condition, function_ref<void()> body,
                                   function_ref<void()> otherwise) {
  if (!condition)
    return body();
  cpu::emitIf(b, condition, body, otherwise);
}

Value QuantizeKernelEmitter::getBlockNumber(gpu::Dimension dimension) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(),
                                      gpu::BlockIdOp::create(b, dimension));
}

/// `blockNumber` is that of the thread block along x, i32.
void QuantizeKernelEmitter::emitPosition(Value blockNumber) {
  auto split = [&](Value value, int64_t by) -> std::pair<Value, Value> {
    return {arith::DivUIOp::create(b, value, b.i32(by)),
            arith::RemUIOp::create(b, value, b.i32(by))};
  };
  auto mulAdd = [&](Value x, int64_t y, Value z) -> Value {
    Value product = arith::MulIOp::create(b, x, b.i32(y));
    return arith::AddIOp::create(b, product, z);
  };
  auto [warp, lane] = split(thread, kWarpThreads);
  auto [group, block] = split(blockNumber, mapping.blocksPerGroup);
  Value unit =
      mulAdd(block, mapping.unitsPerBlock, spec.swizzled ? warp : thread);
  auto [lineInGroup, unitInLine] = split(unit, mapping.unitsPerLine);
  Value line =
      arith::MulIOp::create(b, b.zext64(group), b.i64(mapping.linesPerGroup));
  line = arith::AddIOp::create(b, line, b.zext64(lineInGroup));
  if (spec.swizzled) {
    // Row 128 * tile + 32 * run + line in the tile.
    auto [run, chunk] = split(lane, mapping.runLanes);
    constexpr int64_t stride = ThreadMapping::kRowStride;
    Value tile = arith::AndIOp::create(b, line, b.i64(-stride));
    tile = arith::MulIOp::create(b, tile, b.i64(kTileRows / stride - 1));
    position.row = arith::AddIOp::create(b, line, tile);
    position.row = arith::AddIOp::create(
        b, position.row,
        b.zext64(arith::MulIOp::create(b, run, b.i32(stride))));
    position.chunk = mulAdd(unitInLine, mapping.runLanes, chunk);
  } else {
    position.row = line;
    position.chunk = unitInLine;
  }
  position.matrix = b.i64(0);
  if (!spec.batched)
    return;
  Value y = b.zext64(getBlockNumber(gpu::Dimension::y));
  Value z = b.zext64(getBlockNumber(gpu::Dimension::z));
  z = arith::MulIOp::create(b, z, b.i64(kMaxGridY));
  position.matrix = arith::AddIOp::create(b, z, y);
}

/// Whether all lanes of the warp have a full chunk.
Value QuantizeKernelEmitter::isFullWarp() {
  Value hasChunk = isBelow(b, position.row, arguments.rows);
  auto require = [&](Value holds) {
    if (holds)
      hasChunk = arith::AndIOp::create(b, hasChunk, holds);
  };
  require(isChunkBelow(mapping.fullChunks));
  if (spec.batched)
    require(isBelow(b, position.matrix, arguments.matrices));
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(kAllLanes), hasChunk,
                                  NVVM::VoteSyncKind::all);
}

void QuantizeKernelEmitter::emit() {
  Value number = emitThreadNumber(b, ThreadMapping::kThreads);
  thread = arith::IndexCastUIOp::create(b, b.getI32Type(), number);
  if (!spec.groupedTiles)
    return emitBlock(getBlockNumber(gpu::Dimension::x), /*grouped=*/nullptr);
  int64_t blockElements = spec.getBlockElements();
  bool inColumns = spec.groupDim == GroupDim::Columns;
  GroupedScales grouped(b, {{ScaleExtent{0, 1}, {1, blockElements}},
                            inColumns,
                            inColumns ? blockElements : 1,
                            arguments.scale,
                            arguments.offsets,
                            toIndex(b, arguments.groups),
                            toIndex(b, arguments.rows),
                            cpu::getIndex(b, spec.rowElements),
                            toIndex(b, arguments.tiles)});
  grouped.emitBlocks(
      emitBlockNumber(b), cpu::div(b, number, kWarpThreads),
      cpu::rem(b, number, kWarpThreads), ThreadMapping::kThreads / kWarpThreads,
      [&](Value other) {
        emitBlock(arith::IndexCastUIOp::create(b, b.getI32Type(), other),
                  &grouped);
      });
}

/// The work of a thread block on x.
void QuantizeKernelEmitter::emitBlock(Value blockNumber,
                                      const GroupedScales *grouped) {
  emitPosition(blockNumber);
  Value matrixExists;
  if (spec.batched)
    matrixExists = isBelow(b, position.matrix, arguments.matrices);
  if (spec.swizzled) {
    rowTiles = arith::AddIOp::create(b, arguments.rows, b.i64(kTileRows - 1));
    rowTiles =
        arith::ShRUIOp::create(b, rowTiles, b.i64(llvm::Log2_64(kTileRows)));
  }
  ChunkEmitter chunk(b, spec, chip, arguments, position, rowTiles, grouped);
  std::optional<WarpStage> stage;
  if (mapping.isStaged) {
    stage.emplace(b, thread, ThreadMapping::kThreads,
                  mapping.chunkElements * spec.getInputBytes(),
                  mapping.runLanes);
    chunk.useStage(*stage, isFullWarp());
  }
  auto emitData = [&] { emitRow(chunk); };
  auto emitRest = [&] { emitPadding(chunk); };
  emitIf(matrixExists, [&] {
    Value hasData = isBelow(b, position.row, arguments.rows);
    if (spec.swizzled)
      emitIf(hasData, emitData, emitRest);
    else
      emitIf(hasData, emitData);
  });
}

/// Null where it holds for all threads of a line.
Value QuantizeKernelEmitter::isChunkBelow(int64_t bound) {
  if (bound == mapping.getPlacesPerRow(spec))
    return {};
  return isBelow(b, position.chunk, b.i32(bound));
}

/// A row that holds data: full chunks, then the tail, then padding.
void QuantizeKernelEmitter::emitRow(ChunkEmitter &chunk) {
  int64_t chunks = mapping.fullChunks + (mapping.tailElements != 0 ? 1 : 0);
  auto emitRest = [&] {
    if (chunks != mapping.chunksPerRow)
      emitZeroScales(chunk);
  };
  auto emitTail = [&] {
    if (mapping.tailElements == 0)
      return emitRest();
    emitIf(
        isChunkBelow(chunks), [&] { chunk.emit(mapping.tailElements); },
        emitRest);
  };
  if (mapping.fullChunks == 0)
    return emitTail();
  emitIf(
      isChunkBelow(mapping.fullChunks),
      [&] { chunk.emit(mapping.chunkElements); }, emitTail);
}

/// Scales of a chunk of padding; threads beyond the last one have none.
void QuantizeKernelEmitter::emitZeroScales(ChunkEmitter &chunk) {
  emitIf(isChunkBelow(mapping.chunksPerRow), [&] { chunk.storeZeroScales(); });
}

/// A row below the last one: scales only, in its tile.
void QuantizeKernelEmitter::emitPadding(ChunkEmitter &chunk) {
  Value end = arith::MulIOp::create(b, rowTiles, b.i64(kTileRows));
  emitIf(isBelow(b, position.row, end), [&] { emitZeroScales(chunk); });
}

void emitQuantizeKernel(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip, ValueRange arguments) {
  QuantizeKernelEmitter(b, spec, chip, arguments).emit();
}

} // namespace blockscale
