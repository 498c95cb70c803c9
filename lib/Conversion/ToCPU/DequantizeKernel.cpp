//===- DequantizeKernel.cpp - Dequantization of rows ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecoder.h"
#include "Emission/FloatCodec.h"
#include "GlobalFactorsSource.h"
#include "Kernels.h"
#include "blockscale/Numerics/Dequantize.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

/// Blocks of a step along a row, or elements where a block is one column wide:
/// enough to hide latencies in few registers.
static constexpr int64_t kDecodedBlocksPerStep = 4;
static constexpr int64_t kDecodedPerStep = 64;

Value countItems(DequantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getResult());
  return site.countItems(
      sizes, ceilDiv(b, toIndex(b, sizes.end()[-2]), op.getBlock()[0]));
}

namespace {

/// Emits the dequantization of rows of one kernel.
class RowDequantizer {
public:
  RowDequantizer(DequantizeOp op, const ItemRange &range)
      : b(range.b), op(op), data(range.lookup(op.getData())),
        scale(range.lookup(op.getScale())),
        result(range.lookup(op.getResult())),
        globals(b, op.getArithmetic(), op.getGlobalOperand(),
                range.lookup(op.getGlobalOperand().value)),
        format(getElementFormat(op.getData())), recipe(op.getArithmetic()),
        blockCols(op.getBlock()[1]) {
    int64_t rank = getTensorType(op.getResult()).getRank();
    cols = getDim(b, result, rank - 1);
    blocks = ceilDiv(b, cols, blockCols);
    factors = allocateScaleRow(b, blocks);
  }

  /// Decodes a row of scales, which the rows of its blocks share.
  void emitFactors(ValueRange scaleRow) {
    // Rows with global scales of their own have scales of their own.
    global = globals.get(scaleRow).decode;
    ScaleMatrix scales(b, scale, getScaleLayout(op.getScale().getType()),
                       scaleRow.drop_back());
    emitDecodeScaleRow(
        b, scales, getScaleFormat(op.getScale()), scaleRow.back(),
        getIndex(b, 0), blocks, {factors, {}}, [&](Lanes decoded) {
          return numerics::getBlockFactor(recipe, decoded, *global);
        });
  }

  /// Packed codes are read by pairs, which may be more than a block.
  void emitRow(ValueRange row) {
    int64_t unit = std::max<int64_t>(
        blockCols, 8 / numerics::getFormatInfo(format).storageBits);
    int64_t unitsPerStep =
        blockCols == 1 ? kDecodedPerStep / unit : kDecodedBlocksPerStep;
    Value whole = div(b, cols, unit);
    emitUnitSteps(b, whole, unitsPerStep, [&](Value first, int64_t count) {
      Value col = mul(b, first, unit);
      Lanes perBlock =
          toF32(loadLanes(b, factors, {mul(b, first, unit / blockCols)},
                          count * unit / blockCols));
      Lanes elements =
          emitLoadElements(b, data, format, row, col, count * unit);
      storeLanes(emitResult(elements, repeatLanes(perBlock, blockCols)), result,
                 append(row, col));
    });
    // The last block of a row that the recipe lets end early, or half a pair.
    emitLoop(b, mul(b, whole, unit), cols, [&](Value col) {
      Lanes factor = toF32(loadBits(b, factors, {div(b, col, blockCols)}));
      Lanes element = emitLoadElement(b, data, format, row, col);
      storeBits(emitResult(element, factor), result, append(row, col));
    });
  }

  void emitFree() { memref::DeallocOp::create(b, factors); }

private:
  Lanes emitResult(Lanes elements, Lanes factor) {
    Lanes x = numerics::dequantizeValue(recipe, elements, factor, *global);
    return emitEncodeFloat(op.getResult().getType().getElementType(), x);
  }

  ImplicitLocOpBuilder &b;
  DequantizeOp op;
  Value data, scale, result;
  GlobalFactorsSource globals;
  numerics::ElementFormat format;
  numerics::Recipe recipe;
  int64_t blockCols;
  Value cols, blocks, factors;
  std::optional<Lanes> global;
};

} // namespace

void emitItems(DequantizeOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getResult()).getRank();
  int64_t blockRows = op.getBlock()[0];
  Value rows = getDim(b, result, rank - 2);
  Indices bandSizes = getLeadingSizes(b, result, rank - 2);
  bandSizes.push_back(ceilDiv(b, rows, blockRows));
  RowDequantizer dequantizer(op, range);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices band = delinearize(b, item, bandSizes);
    dequantizer.emitFactors(band);
    if (blockRows == 1)
      return dequantizer.emitRow(band);
    ValueRange batch = ValueRange(band).drop_back();
    Value first = mul(b, band.back(), blockRows);
    Value last = min(b, add(b, first, getIndex(b, blockRows)), rows);
    emitLoop(b, first, last,
             [&](Value row) { dequantizer.emitRow(append(batch, row)); });
  });
  dequantizer.emitFree();
}

} // namespace blockscale::cpu
