//===- QuantizeKernel.cpp - Structure of a quantize kernel ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeKernel.h"
#include "QuantizeArguments.h"
#include "QuantizeChunk.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

namespace {

class QuantizeKernelEmitter {
public:
  QuantizeKernelEmitter(gpu::GPUFuncOp kernel, const QuantizeSpec &spec,
                        const target::Chip &chip);

  void emit();

private:
  /// Emits `body` to run where the i1 `condition` holds, and `otherwise`, if
  /// given, to run elsewhere. Null conditions always hold.
  void emitIf(Value condition, function_ref<void()> body,
              function_ref<void()> otherwise = nullptr);
  Value isBelow(Value value, Value bound);
  /// Thread block number along a dimension of the grid, as i32.
  Value getBlockNumber(gpu::Dimension dimension);
  void emitPosition();

  void emitRow(ChunkEmitter &chunk);
  void emitPadding(ChunkEmitter &chunk);

  const QuantizeSpec &spec;
  const target::Chip &chip;
  ThreadMapping mapping;
  KernelBuilder b;

  QuantizeOperands arguments;
  ChunkPosition position;
  /// ceil(rows / 128).
  Value rowTiles;
};

} // namespace

QuantizeKernelEmitter::QuantizeKernelEmitter(gpu::GPUFuncOp kernel,
                                             const QuantizeSpec &spec,
                                             const target::Chip &chip)
    : spec(spec), chip(chip), mapping(spec),
      b(kernel.getLoc(), OpBuilder::atBlockBegin(&kernel.front())) {
  for (auto [argument, value] :
       llvm::zip_equal(getQuantizeArguments(kernel.getContext(), spec, chip),
                       kernel.getArguments()))
    arguments.*argument.place = value;
}

void QuantizeKernelEmitter::emitIf(Value condition, function_ref<void()> body,
                                   function_ref<void()> otherwise) {
  if (!condition)
    return body();
  auto branch =
      scf::IfOp::create(b, condition,
                        /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (otherwise) {
    b.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

Value QuantizeKernelEmitter::isBelow(Value value, Value bound) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, bound);
}

Value QuantizeKernelEmitter::getBlockNumber(gpu::Dimension dimension) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(),
                                      gpu::BlockIdOp::create(b, dimension));
}

void QuantizeKernelEmitter::emitPosition() {
  Value thread = arith::IndexCastUIOp::create(
      b, b.getI32Type(),
      gpu::ThreadIdOp::create(b, gpu::Dimension::x,
                              b.getIndexAttr(ThreadMapping::kThreads)));
  Value block = getBlockNumber(gpu::Dimension::x);
  Value blocksPerGroup = b.i32(mapping.blocksPerGroup);
  Value group = arith::DivUIOp::create(b, block, blocksPerGroup);
  Value inGroup = arith::RemUIOp::create(b, block, blocksPerGroup);
  inGroup = arith::MulIOp::create(b, inGroup, b.i32(ThreadMapping::kThreads));
  inGroup = arith::AddIOp::create(b, inGroup, thread);

  Value chunksPerRow = b.i32(mapping.chunksPerRow);
  position.chunk = arith::RemUIOp::create(b, inGroup, chunksPerRow);
  position.row =
      arith::MulIOp::create(b, b.zext64(group), b.i64(mapping.rowsPerGroup));
  position.row = arith::AddIOp::create(
      b, position.row,
      b.zext64(arith::DivUIOp::create(b, inGroup, chunksPerRow)));
  position.matrix = b.i64(0);
  if (!spec.batched)
    return;
  Value y = b.zext64(getBlockNumber(gpu::Dimension::y));
  Value z = b.zext64(getBlockNumber(gpu::Dimension::z));
  z = arith::MulIOp::create(b, z, b.i64(ThreadMapping::kMaxGridY));
  position.matrix = arith::AddIOp::create(b, z, y);
}

void QuantizeKernelEmitter::emit() {
  emitPosition();
  Value matrixExists;
  if (spec.batched)
    matrixExists = isBelow(position.matrix, arguments.matrices);
  if (spec.swizzled) {
    rowTiles = arith::AddIOp::create(b, arguments.rows, b.i64(kTileRows - 1));
    rowTiles =
        arith::ShRUIOp::create(b, rowTiles, b.i64(llvm::Log2_64(kTileRows)));
  }
  ChunkEmitter chunk(b, spec, chip, arguments, position, rowTiles);
  auto emitData = [&] { emitRow(chunk); };
  auto emitRest = [&] { emitPadding(chunk); };
  emitIf(matrixExists, [&] {
    Value hasData = isBelow(position.row, arguments.rows);
    if (spec.swizzled)
      emitIf(hasData, emitData, emitRest);
    else
      emitIf(hasData, emitData);
  });
  gpu::ReturnOp::create(b);
}

/// A row that holds data: full chunks, then the tail, then padding.
void QuantizeKernelEmitter::emitRow(ChunkEmitter &chunk) {
  auto isChunkBelow = [&](int64_t bound) -> Value {
    if (bound == mapping.chunksPerRow)
      return {};
    return isBelow(position.chunk, b.i32(bound));
  };
  auto emitTail = [&] {
    if (mapping.tailElements == 0)
      return chunk.storeZeroScales();
    emitIf(
        isChunkBelow(mapping.fullChunks + 1),
        [&] { chunk.emit(mapping.tailElements); },
        [&] { chunk.storeZeroScales(); });
  };
  if (mapping.fullChunks == 0)
    return emitTail();
  emitIf(
      isChunkBelow(mapping.fullChunks),
      [&] { chunk.emit(ThreadMapping::kChunkElements); }, emitTail);
}

/// A row below the last one: scales only, in its tile.
void QuantizeKernelEmitter::emitPadding(ChunkEmitter &chunk) {
  Value end = arith::MulIOp::create(b, rowTiles, b.i64(kTileRows));
  emitIf(isBelow(position.row, end), [&] { chunk.storeZeroScales(); });
}

void emitQuantizeKernel(gpu::GPUFuncOp kernel, const QuantizeSpec &spec,
                        const target::Chip &chip) {
  QuantizeKernelEmitter(kernel, spec, chip).emit();
}

} // namespace blockscale
