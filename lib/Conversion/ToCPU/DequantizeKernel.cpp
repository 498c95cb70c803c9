//===- DequantizeKernel.cpp - Dequantization of rows ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecoder.h"
#include "CodecEmitter.h"
#include "Kernels.h"
#include "RecipeEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using blockscale::numerics::GlobalScale;

namespace blockscale::cpu {

/// Blocks of a step: enough elements to hide latencies in few registers.
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
    blocks = ceilDiv(b, cols, blockSize);
    factors = allocateScaleRow(b, blocks);
  }

  void emitRow(ValueRange row) {
    Lanes decodeGlobal = emitDecodeGlobal(row.drop_back());
    ScaleMatrix scales(b, scale, getLayout(op.getScale().getType()),
                       row.drop_back());
    emitDecodeScaleRow(b, scales, getScaleFormat(op.getScale()), row.back(),
                       getIndex(b, 0), blocks, factors, [&](Lanes decoded) {
                         return multipliesScaleByGlobal()
                                    ? broadcast(decodeGlobal, decoded) * decoded
                                    : decoded;
                       });
    Value whole = div(b, cols, blockSize);
    emitUnitSteps(b, whole, kBlocksPerStep, [&](Value block, int64_t count) {
      Lanes perBlock = toF32(loadLanes(b, factors, block, count));
      Value col = mul(b, block, blockSize);
      Lanes elements =
          emitLoadElements(b, data, format, row, col, count * blockSize);
      storeLanes(
          emitResult(elements, repeatLanes(perBlock, blockSize), decodeGlobal),
          result, append(row, col));
    });
    // The last block of a row that the recipe lets end early.
    emitLoop(b, mul(b, whole, blockSize), cols, [&](Value col) {
      Lanes factor = toF32(loadBits(b, factors, div(b, col, blockSize)));
      Lanes element = emitLoadElement(b, data, format, row, col);
      storeBits(emitResult(element, factor, decodeGlobal), result,
                append(row, col));
    });
  }

  void emitFree() { memref::DeallocOp::create(b, factors); }

private:
  Lanes emitDecodeGlobal(ValueRange element) {
    auto kind = op.getGlobalScale()  ? GlobalScale::Kind::DecodeScale
                : op.getGlobalAmax() ? GlobalScale::Kind::Amax
                                     : GlobalScale::Kind::Absent;
    return emitGlobalFactors(b, recipe, kind, loadGlobal(b, global, element))
        .decode;
  }

  /// ModelOpt multiplies left to right: code, block scale, global scale.
  bool multipliesScaleByGlobal() const {
    return global && recipe != numerics::Recipe::Modelopt;
  }

  Lanes emitResult(Lanes elements, Lanes factor, Lanes decodeGlobal) {
    Lanes x = elements * factor;
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
  Value cols, blocks, factors;
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
