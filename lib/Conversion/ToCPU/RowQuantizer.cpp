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

Value countRowItems(const QuantizeSpec &spec, Value rows) {
  return spec.hasLayout() ? ceilDiv(spec.b, rows, spec.layout.getTileRows())
                          : rows;
}

static Value createTailBuffer(ImplicitLocOpBuilder &b, int64_t size,
                              Type element) {
  return memref::AllocaOp::create(b, MemRefType::get({size}, element));
}

RowQuantizer::RowQuantizer(const QuantizeSpec &spec)
    : spec(spec), b(spec.b), format(spec.format), cols(spec.getCols()) {
  wholeBlocks = div(b, cols, format.getBlockSize());
  tail = rem(b, cols, format.getBlockSize());
  if (!spec.rng && !spec.blockAmax && !numerics::isFourOverSix(format.recipe))
    streams.emplace(b, format, spec.getElement());
  if (spec.rng)
    randomBytes.emplace(b, spec.rng, cols, /*rows=*/1,
                        roundUp(b, cols, format.getBlockSize()));
  if (!hasTail())
    return;
  tailX = createTailBuffer(b, format.getBlockSize(), spec.getElement());
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
  emitIf(b, compare(arith::CmpIPredicate::ne, Lanes(b, tail), 0),
         [&] { emitTail(row, target, global); });
}

void RowQuantizer::emitBeginRow(ValueRange row) {
  if (!randomBytes)
    return;
  Value position = linearize(b, row, getLeadingSizes(b, spec.x, row.size()));
  Value zero = getIndex(b, 0);
  randomBytes->emitDraw(zero, position, zero, cols);
}

BlockOperands RowQuantizer::loadOperands(ValueRange row, Value block,
                                         int64_t count) {
  BlockOperands operands;
  if (spec.blockAmax)
    operands.amax =
        toF32(loadLanes(b, spec.blockAmax, append(row, block), count));
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
    Lanes elements =
        loadElements(b, spec.x, append(row, col), blocks * blockSize);
    QuantizedBlocks quantized = emitQuantizeBlocks(
        format, global, elements, loadOperands(row, block, blocks));
    storeLanes(quantized.data, spec.data, append(row, getByte(col)));
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
  BlockRun run = {spec.x,
                  spec.data,
                  scales.memref,
                  append(row, col),
                  append(row, getByte(col)),
                  append(scales.row, scales.firstCol)};
  auto emitRun = [&] { streams->emitRun(run, count, global); };
  if (known) {
    emitRun();
    return;
  }
  Value isMany = compare(arith::CmpIPredicate::uge, Lanes(b, count), kMany);
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
    storeBits(loadBits(b, spec.x, append(row, add(b, col, i))), tailX, i);
  });
  padded = loadElements(b, tailX, zero, blockSize);
  QuantizedBlocks blocks = emitQuantizeBlocks(
      format, global, padded, loadOperands(row, wholeBlocks, 1));
  storeLanes(blocks.data, tailData, zero);
  storeLanes(blocks.scales, scales.memref,
             append(scales.row, add(b, scales.firstCol, wholeBlocks)));
  emitLoop(b, zero, ceilDiv(b, tail, 2), [&](Value i) {
    Lanes byte = loadBits(b, tailData, i);
    Lanes hasOdd = isBelow(b, add(b, mul(b, i, 2), one), tail);
    storeBits(select(hasOdd, byte, byte & 0xF), spec.data,
              append(row, add(b, getByte(col), i)));
  });
}

static void emitLinear(const QuantizeSpec &spec, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Indices rowSizes = getLeadingSizes(b, spec.x, spec.getRank() - 1);
  RowQuantizer quantizer(spec);
  GlobalFactorsSource factors(spec);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices row = delinearize(b, item, rowSizes);
    GlobalFactors global = factors.get(row);
    quantizer.emitRow(row, spec.scale, row, global);
  });
  quantizer.emitFree();
}

static void emitSwizzled(const QuantizeSpec &spec, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value rows = spec.getRows();
  Value scaleCols = ceilDiv(b, spec.getCols(), spec.format.getBlockSize());
  RowQuantizer quantizer(spec);
  GlobalFactorsSource factors(spec);
  emitScaleBands(range,
                 {spec.scale, spec.layout, spec.getBatch(), rows, scaleCols},
                 [&](ValueRange batch, Value first, Value count, Value buffer) {
                   std::optional<GlobalFactors> global;
                   if (spec.global.extent != GlobalExtent::Row)
                     global = factors.get(batch);
                   emitLoop(b, getIndex(b, 0), count, [&](Value i) {
                     Indices row = append(batch, add(b, first, i));
                     quantizer.emitRow(row, buffer, i,
                                       global ? *global : factors.get(row));
                   });
                 });
  quantizer.emitFree();
}

void emitRowItems(const QuantizeSpec &spec, const ItemRange &range) {
  if (spec.hasLayout())
    emitSwizzled(spec, range);
  else
    emitLinear(spec, range);
}

} // namespace blockscale::cpu
