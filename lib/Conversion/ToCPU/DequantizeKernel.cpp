//===- DequantizeKernel.cpp - Dequantization of rows ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodecEmitter.h"
#include "Kernels.h"
#include "RecipeEmitter.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using blockscale::numerics::GlobalScale;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

/// Blocks of a step.
static constexpr int64_t kBlocksPerStep = 4;

Value prepareCall(DequantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getResult());
  ArrayRef<OpFoldResult> batch = ArrayRef<OpFoldResult>(sizes).drop_back(2);
  if (!acceptsTails(op.getEffectiveRecipe()))
    site.requireMultiple(sizes.back(), op.getBlockSize(),
                         "the last dimension of the result");
  site.requireSizes("data", op.getData(), sizes, "the result");
  site.requireSizes("scale", op.getScale(),
                    getScaleSizes(b, b.getLoc(), sizes, op.getBlockSize()),
                    "the result");
  site.requireGlobalSizes("global_scale", op.getGlobalScale(), batch,
                          "the result");
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(), batch,
                          "the result");
  Value items = getIndex(b, 1);
  for (OpFoldResult size : ArrayRef<OpFoldResult>(sizes).drop_back())
    items = mul(b, items, toIndex(b, size));
  return items;
}

namespace {

/// Emits the dequantization of rows of one kernel.
class RowDequantizer {
public:
  RowDequantizer(DequantizeOp op, const ItemRange &range)
      : b(range.b), op(op), data(range.lookup(op.getData())),
        scale(range.lookup(op.getScale())),
        result(range.lookup(op.getResult())),
        global(range.lookup(op.getGlobalScale() ? op.getGlobalScale()
                                                : op.getGlobalAmax())),
        format(getElementFormat(op.getData())),
        recipe(getNumerics(op.getEffectiveRecipe())),
        blockSize(op.getBlockSize()) {
    int64_t rank = getTensorType(op.getResult()).getRank();
    cols = getDim(b, result, rank - 1);
    Value blocks = ceilDiv(b, cols, blockSize);
    factors = allocate(b, {ShapedType::kDynamic}, b.getF32Type(), blocks);
  }

  void emitRow(ValueRange row) {
    Lanes decodeGlobal = emitDecodeGlobal(row.drop_back());
    emitFactors(row, decodeGlobal);
    // Row data are bytes of one code, or of two whose values interleave.
    Value whole = div(b, cols, blockSize);
    emitUnitSteps(b, whole, kBlocksPerStep, [&](Value block, int64_t count) {
      Lanes perBlock = loadLanes(b, factors, block, count);
      Lanes factor = repeatLanes(toF32(perBlock), blockSize);
      Value col = mul(b, block, blockSize);
      Lanes codes = emitLoadCodes(row, col, count * blockSize);
      storeLanes(emitElements(codes, factor, decodeGlobal), result,
                 append(row, col));
    });
    emitLoop(b, mul(b, whole, blockSize), cols, [&](Value col) {
      Lanes factor = toF32(loadBits(b, factors, div(b, col, blockSize)));
      storeBits(emitElements(emitLoadCode(row, col), factor, decodeGlobal),
                result, append(row, col));
    });
  }

  void emitFree() { memref::DeallocOp::create(b, factors); }

private:
  bool isPacked() const {
    return numerics::getFormatInfo(format).storageBits == 4;
  }

  Lanes emitDecodeGlobal(ValueRange element) {
    auto kind = op.getGlobalScale()  ? GlobalScale::Kind::DecodeScale
                : op.getGlobalAmax() ? GlobalScale::Kind::Amax
                                     : GlobalScale::Kind::Absent;
    return emitGlobalFactors(b, recipe, kind, loadGlobal(b, global, element))
        .decode;
  }

  /// factors[c] = what the codes of block c are multiplied by first.
  void emitFactors(ValueRange row, Lanes decodeGlobal) {
    emitLoop(b, getIndex(b, 0), ceilDiv(b, cols, blockSize), [&](Value col) {
      Lanes byte = extend(loadBits(b, scale, getScaleIndices(row, col)), 32);
      Lanes factor = emitDecodeScale(getScaleFormat(op.getScale()), byte);
      if (multipliesScaleByGlobal())
        factor = decodeGlobal * factor;
      storeBits(toBits(factor), factors, col);
    });
  }

  /// ModelOpt multiplies left to right: code, block scale, global scale.
  bool multipliesScaleByGlobal() const {
    return global && recipe != numerics::Recipe::Modelopt;
  }

  Indices getScaleIndices(ValueRange row, Value col) {
    if (!getLayout(op.getScale().getType()))
      return append(row, col);
    Value r = row.back();
    Value inTile = rem(b, r, kTileRows);
    return append(row.drop_back(),
                  {div(b, r, kTileRows), div(b, col, kTileCols),
                   rem(b, inTile, 32), div(b, inTile, 32),
                   rem(b, col, kTileCols)});
  }

  /// Codes of `count` columns from the even column `col` on, as i32 lanes.
  Lanes emitLoadCodes(ValueRange row, Value col, int64_t count) {
    if (!isPacked())
      return extend(loadLanes(b, data, append(row, col), count), 32);
    Lanes bytes = loadLanes(b, data, append(row, div(b, col, 2)), count / 2);
    return extend(interleave(bytes & 0xF, bytes >> 4), 32);
  }

  Lanes emitLoadCode(ValueRange row, Value col) {
    if (!isPacked())
      return extend(loadBits(b, data, append(row, col)), 32);
    Lanes byte = extend(loadBits(b, data, append(row, div(b, col, 2))), 32);
    Lanes isOdd = compare(arith::CmpIPredicate::ne, Lanes(b, rem(b, col, 2)),
                          Lanes(b, getIndex(b, 0)));
    return select(isOdd, byte >> 4, byte & 0xF);
  }

  Lanes emitElements(Lanes codes, Lanes factor, Lanes decodeGlobal) {
    Lanes x = emitDecode(format, codes) * factor;
    if (global && !multipliesScaleByGlobal())
      x = x * broadcast(decodeGlobal, x);
    return emitEncodeFloat(op.getResult().getType().getElementType(), x);
  }

  ImplicitLocOpBuilder &b;
  DequantizeOp op;
  Value data, scale, result, global;
  numerics::ElementFormat format;
  numerics::Recipe recipe;
  int64_t blockSize;
  Value cols, factors;
};

} // namespace

void emitItems(DequantizeOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getResult()).getRank();
  Indices rowSizes = getLeadingSizes(b, result, rank - 1);
  RowDequantizer dequantizer(op, range);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    dequantizer.emitRow(delinearize(b, item, rowSizes));
  });
  dequantizer.emitFree();
}

} // namespace blockscale::cpu
