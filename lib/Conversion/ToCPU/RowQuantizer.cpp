//===- RowQuantizer.cpp - Quantization along rows -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowQuantizer.h"
#include "GlobalFactorsSource.h"
#include "ScaleTiles.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale::cpu {

/// Elements of a step. 16 blocks of 16 fill a vector register with scales,
/// which amortizes the divisions of NVFP4; more elements do not stay in
/// registers.
static constexpr int64_t kElementsPerStep = 256;

Value countRowItems(QuantizeOp op, ImplicitLocOpBuilder &b, Value rows) {
  const numerics::ScaleLayout &layout = getScaleLayout(op.getScale().getType());
  return layout.isLinear() ? rows : ceilDiv(b, rows, layout.getTileRows());
}

static Value createTailBuffer(ImplicitLocOpBuilder &b, int64_t size,
                              Type element) {
  return memref::AllocaOp::create(b, MemRefType::get({size}, element));
}

RowQuantizer::RowQuantizer(QuantizeOp op, const ItemRange &range)
    : b(range.b), x(range.lookup(op.getX())), data(range.lookup(op.getData())),
      blockAmax(range.lookup(op.getBlockAmax())),
      format{op.getArithmetic(), getElementFormat(op.getData()),
             op.getBlockSize()} {
  int64_t rank = getTensorType(op.getX()).getRank();
  cols = getDim(b, x, rank - 1);
  wholeBlocks = div(b, cols, format.getBlockSize());
  tail = rem(b, cols, format.getBlockSize());
  if (!op.getRng() && !op.getBlockAmax() &&
      !numerics::isFourOverSix(format.recipe))
    streams.emplace(b, format, cast<MemRefType>(x.getType()).getElementType());
  if (op.getRng())
    randomBytes.emplace(b, range.lookup(op.getRng()), cols, /*rows=*/1,
                        roundUp(b, cols, format.getBlockSize()));
  if (!hasTail())
    return;
  tailX = createTailBuffer(b, format.getBlockSize(),
                           cast<MemRefType>(x.getType()).getElementType());
  tailData = createTailBuffer(
      b, format.getBlockSize() / format.getCodesPerByte(), b.getI8Type());
}

void RowQuantizer::emitFree() {
  if (streams)
    streams->emitFree();
  if (randomBytes)
    randomBytes->emitFree();
}

bool RowQuantizer::hasTail() const {
  return numerics::acceptsTails(format.recipe) && !matchPattern(tail, m_Zero());
}

/// The number of the byte of a row that has the code of an even column.
Value RowQuantizer::getByte(Value col) {
  return div(b, col, format.getCodesPerByte());
}

void RowQuantizer::emitRow(ValueRange row, Value scales, ValueRange scaleRow,
                           const GlobalFactors &global) {
  Value zero = getIndex(b, 0);
  ScaleRow target = {scales, Indices(scaleRow), zero};
  emitBeginRow(row);
  emitBlocks(row, zero, wholeBlocks, target, global);
  if (!hasTail())
    return;
  Value isPresent =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, tail, zero);
  emitIf(b, isPresent, [&] { emitTail(row, target, global); });
}

void RowQuantizer::emitBeginRow(ValueRange row) {
  if (!randomBytes)
    return;
  Value position = linearize(b, row, getLeadingSizes(b, x, row.size()));
  Value zero = getIndex(b, 0);
  randomBytes->emitDraw(zero, position, zero, cols);
}

BlockOperands RowQuantizer::loadOperands(ValueRange row, Value block,
                                         int64_t count) {
  BlockOperands operands;
  if (blockAmax)
    operands.amax = toF32(loadLanes(b, blockAmax, append(row, block), count));
  int64_t blockSize = format.getBlockSize();
  if (randomBytes)
    operands.randomBytes = randomBytes->load(
        getIndex(b, 0), mul(b, block, blockSize), count * blockSize);
  return operands;
}

void RowQuantizer::emitBlocks(ValueRange row, Value first, Value count,
                              const ScaleRow &scales,
                              const GlobalFactors &global) {
  int64_t blockSize = format.getBlockSize();
  auto emitStep = [&](Value step, int64_t blocks) {
    Value block = add(b, first, step);
    Value col = mul(b, block, blockSize);
    Lanes elements = loadElements(b, x, append(row, col), blocks * blockSize);
    QuantizedBlocks quantized = emitQuantizeBlocks(
        format, global, elements, loadOperands(row, block, blocks));
    storeLanes(quantized.data, data, append(row, getByte(col)));
    storeLanes(quantized.scales, scales.memref,
               append(scales.row, add(b, scales.firstCol, step)));
  };
  constexpr int64_t kMany = BlockStreams::kBlocks;
  std::optional<int64_t> known = getConstantIntValue(count);
  if (!streams || (known && *known < kMany)) {
    emitUnitSteps(b, count, kElementsPerStep / blockSize, emitStep);
    return;
  }
  Value col = mul(b, first, blockSize);
  BlockRun run = {x,
                  data,
                  scales.memref,
                  append(row, col),
                  append(row, getByte(col)),
                  append(scales.row, scales.firstCol)};
  auto emitRun = [&] { streams->emitRun(run, count, global); };
  if (known) {
    emitRun();
    return;
  }
  Value isMany = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, count,
                                       getIndex(b, kMany));
  emitIf(b, isMany, emitRun, [&] {
    emitLoop(b, getIndex(b, 0), count, [&](Value step) { emitStep(step, 1); });
  });
}

/// The last block of a row, from a copy padded with zeros. Only E2M1 has tails.
/// The codes of the padding are not stored: they are not zero where the block's
/// factor is NaN or infinity.
void RowQuantizer::emitTail(ValueRange row, const ScaleRow &scales,
                            const GlobalFactors &global) {
  int64_t blockSize = format.getBlockSize();
  Value zero = getIndex(b, 0), one = getIndex(b, 1);
  Value col = mul(b, wholeBlocks, blockSize);
  Lanes padded = loadLanes(b, tailX, zero, blockSize);
  storeLanes(padded.like(0), tailX, zero);
  emitLoop(b, zero, tail, [&](Value i) {
    storeBits(loadBits(b, x, append(row, add(b, col, i))), tailX, i);
  });
  padded = loadElements(b, tailX, zero, blockSize);
  QuantizedBlocks blocks = emitQuantizeBlocks(
      format, global, padded, loadOperands(row, wholeBlocks, 1));
  storeLanes(blocks.data, tailData, zero);
  storeLanes(blocks.scales, scales.memref,
             append(scales.row, add(b, scales.firstCol, wholeBlocks)));
  emitLoop(b, zero, ceilDiv(b, tail, 2), [&](Value i) {
    Lanes byte = loadBits(b, tailData, i);
    Lanes hasOdd(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                          add(b, mul(b, i, 2), one), tail));
    storeBits(select(hasOdd, byte, byte & 0xF), data,
              append(row, add(b, getByte(col), i)));
  });
}

static void emitLinear(QuantizeOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), scale = range.lookup(op.getScale());
  int64_t rank = getTensorType(op.getX()).getRank();
  Indices rowSizes = getLeadingSizes(b, x, rank - 1);
  RowQuantizer quantizer(op, range);
  GlobalFactorsSource factors(op, range);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    GlobalFactors global = factors.get(row);
    quantizer.emitRow(row, scale, row, global);
  });
  quantizer.emitFree();
}

static void emitSwizzled(QuantizeOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), scale = range.lookup(op.getScale());
  int64_t rank = getTensorType(op.getX()).getRank();
  Value rows = getDim(b, x, rank - 2);
  Value scaleCols = ceilDiv(b, getDim(b, x, rank - 1), op.getBlockSize());
  RowQuantizer quantizer(op, range);
  GlobalFactorsSource factors(op, range);
  emitScaleBands(range,
                 {scale, getScaleLayout(op.getScale().getType()),
                  getLeadingSizes(b, x, rank - 2), rows, scaleCols},
                 [&](ValueRange batch, Value first, Value count, Value buffer) {
                   std::optional<GlobalFactors> global;
                   if (op.getGlobalOperand().extent != GlobalExtent::Row)
                     global = factors.get(batch);
                   emitLoop(b, getIndex(b, 0), count, [&](Value i) {
                     Indices row = append(batch, add(b, first, i));
                     quantizer.emitRow(row, buffer, i,
                                       global ? *global : factors.get(row));
                   });
                 });
  quantizer.emitFree();
}

void emitRowItems(QuantizeOp op, const ItemRange &range) {
  if (getScaleLayout(op.getScale().getType()).isLinear())
    return emitLinear(op, range);
  emitSwizzled(op, range);
}

} // namespace blockscale::cpu
