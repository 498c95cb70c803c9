//===- PanelProduct.cpp - Products of panels of rows ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PanelProduct.h"
#include "Emission/FloatCodec.h"
#include "blockscale/Numerics/BlockFormat.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Rows of B that are decoded at a time.
static constexpr int64_t kStepCols = 8;

/// Results of a register tile, rows and columns. Their sums fit in half of the
/// registers of AVX-512 and in all of those of AVX2.
static constexpr int64_t kTileSize = 2;

/// Bytes of a row of a chunk. The chunk of B and two rows of A, which are in
/// use together, fit in a first-level cache of 32 KiB.
static constexpr int64_t kChunkBytes = 3072;

/// Blocks that are decoded in a step.
static constexpr int64_t kBlocksPerStep = 4;

Span getPanel(ImplicitLocOpBuilder &b, Value index, int64_t panelSize,
              Value size) {
  Value first = mul(b, index, panelSize);
  return {first, min(b, getIndex(b, panelSize), sub(b, size, first))};
}

/// The type of values beside a plain operand, where it does not hold all of
/// them: MX beside bf16.
static Type getFactorType(ProductOpInterface op) {
  if (isNvfp4ScaleType(op.getScaleElementType()))
    return {};
  for (Value operand : {Value(op.getA()), Value(op.getB())})
    if (Type element = getElementTypeOrSelf(operand); element.isBF16())
      return element;
  return {};
}

PanelProduct::PanelProduct(ImplicitLocOpBuilder &b, ProductOpInterface op,
                           Value blocks, const ProductEpilogue &epilogue)
    : b(b), scaleFormat(blockscale::getScaleFormat(op.getScaleElementType())),
      factorType(getFactorType(op)), epilogue(epilogue) {
  bool isNvfp4 = scaleFormat == numerics::ScaleFormat::E4M3;
  blockSize = numerics::getBlockFormat(scaleFormat).blockSize;
  sumType = isNvfp4 ? FloatType(b.getF32Type()) : FloatType(b.getF64Type());
  lanes = isNvfp4 ? 32 : 16;
  int64_t elementBytes = sumType.getWidth() / 8;
  chunkBlocks = kChunkBytes / elementBytes / blockSize;
  // Behind the last element there is one step of zeros, part of which the last
  // step of a sum reads where K is not a multiple of the lanes.
  Value width = add(b, mul(b, blocks, blockSize), getIndex(b, lanes));
  rowsOfA = allocate(b, {kPanelRows, ShapedType::kDynamic}, sumType, width);
  rowsOfB = allocate(b, {kStepCols, chunkBlocks * blockSize + lanes}, sumType);
  scaleRow = allocateScaleRow(b, blocks);
  sums = allocate(b, {kPanelRows, kStepCols}, sumType);
}

void PanelProduct::emitFree() {
  for (Value buffer : {rowsOfA, rowsOfB, scaleRow, sums})
    memref::DeallocOp::create(b, buffer);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static void storeFloats(Lanes lanes, Value memref, ValueRange indices) {
  storeLanes(toBits(lanes), memref, indices);
}

Lanes PanelProduct::toSumType(const Lanes &x) const {
  return sumType.isF64() ? extendToF64(x) : x;
}

/// The values of `count` blocks of a row from column `col` on, whose scales are
/// those of `scaleRow` from `block` on.
Lanes PanelProduct::emitDecodeBlocks(const MatmulOperand &operand,
                                     ValueRange dataRow, Value col, Value block,
                                     int64_t count) {
  if (!operand.scales)
    return toSumType(emitDecodeFloat(
        operand.element,
        loadLanes(b, operand.data, append(dataRow, col), count * blockSize)));
  Lanes codes = emitLoadElements(b, operand.data,
                                 blockscale::getElementFormat(operand.element),
                                 dataRow, col, count * blockSize);
  Lanes scales = toF32(loadLanes(b, scaleRow, block, count));
  if (!factorType)
    return toSumType(codes) * repeatLanes(toSumType(scales), blockSize);
  Lanes values = codes * repeatLanes(scales, blockSize);
  return toSumType(
      emitDecodeFloat(factorType, emitEncodeFloat(factorType, values)));
}

/// Decodes a row: buffer[bufferRow, k] = code * scale, with zeros behind.
void PanelProduct::emitDecodeRow(const MatmulOperand &operand, Value row,
                                 const Span &blocks, Value buffer,
                                 Value bufferRow) {
  if (operand.scales)
    emitDecodeScaleRow(b, *operand.scales, scaleFormat, row, blocks.first,
                       blocks.count, scaleRow);
  Indices dataRow = append(operand.batch, row);
  emitUnitSteps(
      b, blocks.count, kBlocksPerStep, [&](Value block, int64_t count) {
        Value col = mul(b, add(b, blocks.first, block), blockSize);
        storeFloats(emitDecodeBlocks(operand, dataRow, col, block, count),
                    buffer, {bufferRow, mul(b, block, blockSize)});
      });
  auto type = VectorType::get({lanes}, sumType);
  Lanes zeros(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
  storeFloats(zeros, buffer, {bufferRow, mul(b, blocks.count, blockSize)});
}

/// `rows`, and again the last one until there is a whole number of tiles, whose
/// results are not stored.
void PanelProduct::emitDecodeRows(const MatmulOperand &operand,
                                  const Span &rows, const Span &blocks,
                                  Value buffer) {
  Value last = sub(b, rows.count, getIndex(b, 1));
  emitLoop(b, getIndex(b, 0), roundUp(b, rows.count, kTileSize), [&](Value i) {
    Value row = add(b, rows.first, min(b, i, last));
    emitDecodeRow(operand, row, blocks, buffer, i);
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The sum of all lanes, halving them.
static Lanes emitSumOfLanes(Lanes x) {
  while (x.getCount() > 1) {
    auto [left, right] = splitHalves(x);
    x = left + right;
  }
  return getFirstLane(x);
}

void PanelProduct::emitClearSums() {
  auto type = VectorType::get({kStepCols}, sumType);
  Lanes zeros(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
  Value zero = getIndex(b, 0);
  emitLoop(b, zero, getIndex(b, kPanelRows),
           [&](Value row) { storeFloats(zeros, sums, {row, zero}); });
}

/// sums[row + i, col + j] += the sum over `depth` elements of a chunk, which
/// begins at firstA in the rows of A.
void PanelProduct::emitTile(Value row, Value col, Value firstA, Value depth) {
  auto type = VectorType::get({lanes}, sumType);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  SmallVector<Value> inits(kTileSize * kTileSize, zero);
  auto load = [&](Value buffer, Value first, int64_t i, Value k) {
    Indices indices = {add(b, first, getIndex(b, i)), k};
    return Lanes(b, vector::LoadOp::create(b, type, buffer, indices));
  };
  SmallVector<Value> partial = emitReduction(
      b, getIndex(b, 0), depth, inits,
      [&](Value k, ValueRange carried) {
        SmallVector<Lanes> left, right;
        for (int64_t i = 0; i < kTileSize; ++i) {
          left.push_back(load(rowsOfA, row, i, add(b, firstA, k)));
          right.push_back(load(rowsOfB, col, i, k));
        }
        SmallVector<Value> next;
        for (auto [position, sum] : llvm::enumerate(carried))
          next.push_back(addExactProduct(left[position / kTileSize],
                                         right[position % kTileSize],
                                         Lanes(b, sum)));
        return next;
      },
      lanes);
  for (auto [position, sum] : llvm::enumerate(partial)) {
    Indices indices = {add(b, row, getIndex(b, position / kTileSize)),
                       add(b, col, getIndex(b, position % kTileSize))};
    Lanes before(b, memref::LoadOp::create(b, sums, indices));
    storeBits(toBits(before + emitSumOfLanes(Lanes(b, sum))), sums, indices);
  }
}

/// Adds the chunk from `firstBlock` on, counted within the task.
void PanelProduct::emitAddChunk(const PanelTask &task, Value firstBlock,
                                const Span &cols) {
  Value zero = getIndex(b, 0);
  Value blockCount =
      min(b, getIndex(b, chunkBlocks), sub(b, task.blocks.count, firstBlock));
  Span chunk = {add(b, task.blocks.first, firstBlock), blockCount};
  emitDecodeRows(task.b, cols, chunk, rowsOfB);
  Value firstA = mul(b, firstBlock, blockSize);
  Value depth = mul(b, blockCount, blockSize);
  emitLoop(
      b, zero, task.rows.count,
      [&](Value row) {
        emitLoop(
            b, zero, cols.count,
            [&](Value col) { emitTile(row, col, firstA, depth); }, kTileSize);
      },
      kTileSize);
}

//===----------------------------------------------------------------------===//
// Result
//===----------------------------------------------------------------------===//

void PanelProduct::emitStoreRow(const PanelTask &task, Value bufferRow,
                                const Span &cols) {
  Value row = add(b, task.rows.first, bufferRow);
  emitUnitSteps(b, cols.count, kStepCols, [&](Value i, int64_t count) {
    auto type = VectorType::get({count}, sumType);
    Lanes sum(b, vector::LoadOp::create(b, type, sums, {bufferRow, i}));
    emitStoreResults(
        b, epilogue, roundToF32(sum),
        {task.resultPrefix, task.element, row, add(b, cols.first, i)});
  });
}

void PanelProduct::emit(const PanelTask &task) {
  Value zero = getIndex(b, 0);
  emitDecodeRows(task.a, task.rows, task.blocks, rowsOfA);
  auto emitCols = [&](Value firstCol) {
    Span cols = {
        add(b, task.cols.first, firstCol),
        min(b, getIndex(b, kStepCols), sub(b, task.cols.count, firstCol))};
    emitClearSums();
    emitLoop(
        b, zero, task.blocks.count,
        [&](Value firstBlock) { emitAddChunk(task, firstBlock, cols); },
        chunkBlocks);
    emitLoop(b, zero, task.rows.count,
             [&](Value row) { emitStoreRow(task, row, cols); });
  };
  emitLoop(b, zero, task.cols.count, emitCols, kStepCols);
}

} // namespace blockscale::cpu
