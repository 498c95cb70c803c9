//===- StorageConstants.cpp - Constants in storage form -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoragePatterns.h"
#include "blockscale/IR/ConstantBytes.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/Pack.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscale {

/// One byte an element, in logical order; nothing where `value` has none.
static std::optional<SmallVector<uint8_t>> getLogicalBytes(Attribute value,
                                                           int64_t count) {
  ConstantBytes raw(value);
  if (raw.isSplat && raw.bytes.size() == 1)
    return SmallVector<uint8_t>(count, static_cast<uint8_t>(raw.bytes[0]));
  if (static_cast<int64_t>(raw.bytes.size()) != count)
    return std::nullopt;
  return SmallVector<uint8_t>(raw.bytes.begin(), raw.bytes.end());
}

/// Codes [.., K] to [.., ceil(K / 2)] bytes.
static SmallVector<uint8_t> packCodes(ArrayRef<uint8_t> codes,
                                      RankedTensorType type,
                                      int64_t storageCount) {
  SmallVector<uint8_t> packed(storageCount);
  int64_t row = type.getShape().back();
  int64_t rowBytes = numerics::getPackedSize(row);
  for (int64_t i = 0, rows = row ? codes.size() / row : 0; i < rows; ++i)
    numerics::packRow(&codes[i * row], row, &packed[i * rowBytes]);
  return packed;
}

/// Scales [.., R, C] to zero-padded tiles, each batch element alone.
static SmallVector<uint8_t> swizzleScales(ArrayRef<uint8_t> scales,
                                          RankedTensorType type,
                                          int64_t storageCount) {
  const numerics::ScaleLayout &layout = getScaleLayout(type);
  SmallVector<uint8_t> tiles(storageCount, numerics::kScalePadding);
  int64_t rows = type.getDimSize(type.getRank() - 2);
  int64_t cols = type.getDimSize(type.getRank() - 1);
  int64_t matrix = rows * cols, matrixBytes = layout.getBytes(rows, cols);
  for (int64_t i = 0, e = scales.size(); i < e; ++i) {
    int64_t inMatrix = i % matrix;
    tiles[i / matrix * matrixBytes +
          layout.getOffset(inMatrix / cols, inMatrix % cols, cols)] = scales[i];
  }
  return tiles;
}

/// Codes [.., R, K] to zero-padded blocks, each batch element alone.
static SmallVector<uint8_t> prepackCodes(ArrayRef<uint8_t> codes,
                                         RankedTensorType type,
                                         int64_t storageCount) {
  SmallVector<uint8_t> blocks(storageCount, numerics::kDataPadding);
  int64_t rows = type.getDimSize(type.getRank() - 2);
  int64_t cols = type.getDimSize(type.getRank() - 1);
  int64_t bits = getPrepackedBits(type.getElementType());
  int64_t matrix = rows * cols,
          matrixBytes = numerics::getPrepackedSize(rows, cols, bits);
  for (int64_t i = 0, e = codes.size(); i < e; ++i) {
    int64_t inMatrix = i % matrix;
    numerics::storePrepacked(&blocks[i / matrix * matrixBytes], codes[i],
                             inMatrix / cols, inMatrix % cols, cols, bits);
  }
  return blocks;
}

namespace {

/// arith.constant dense<[1.0, 6.0, -1.0]> : tensor<3xf4E2M1FN>
///   ->  arith.constant dense<[0x72, 0x0A]> : tensor<2xi8>
struct ConvertConstant : public StoragePattern<arith::ConstantOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(arith::ConstantOp op, OpAdaptor,
                        ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    RankedTensorType storage = getStorage(type);
    if (getGroupedLayout(type))
      return rewriter.notifyMatchFailure(op, "tiles depend on the offsets");
    std::optional<SmallVector<uint8_t>> logical =
        getLogicalBytes(op.getValue(), type.getNumElements());
    if (!logical)
      return rewriter.notifyMatchFailure(op, "not one byte an element");
    int64_t count = storage.getNumElements();
    SmallVector<uint8_t> bytes = std::move(*logical);
    if (!getScaleLayout(type).isLinear())
      bytes = swizzleScales(bytes, type, count);
    else if (isPrepacked(type))
      bytes = prepackCodes(bytes, type, count);
    else if (isa<Float4E2M1FNType>(type.getElementType()))
      bytes = packCodes(bytes, type, count);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, getConstantOf(bytes, storage, op.getValue()));
    return success();
  }
};

} // namespace

void populateStorageConstantPatterns(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<ConvertConstant>(converter, patterns.getContext());
}

} // namespace blockscale
