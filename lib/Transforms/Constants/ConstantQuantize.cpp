//===- ConstantQuantize.cpp - Quantization of constants -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantEvaluation.h"
#include "ConstantTensor.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Quantize.h"

#include "mlir/IR/Threading.h"

using namespace mlir;

namespace blockscale {

namespace {

/// One quantize, evaluated in bands of a block's rows.
class ConstantQuantizer {
public:
  ConstantQuantizer(QuantizeOp op, ConstantTensor x,
                    std::optional<ConstantTensor> global,
                    std::optional<ConstantTensor> blockAmax)
      : op(op), x(x), global(global), blockAmax(blockAmax),
        recipe(op.getArithmetic()),
        format(getElementFormat(op.getData().getType().getElementType())),
        blockRows(op.getBlock()[0]), blockCols(op.getBlock()[1]),
        data(op.getData().getType()), scale(op.getScale().getType()) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    rows = shape.take_back(2).front();
    cols = shape.back();
    for (int64_t size : shape.drop_back(2))
      batch *= size;
    bands = llvm::divideCeil(rows, blockRows);
    bandBlocks = llvm::divideCeil(cols, blockCols);
    compact.resize(batch * bands * bandBlocks);
  }

  ConstantResults evaluate() {
    // Without columns any number of bands holds no block.
    parallelFor(op.getContext(), 0, bandBlocks == 0 ? 0 : batch * bands,
                [&](size_t band) { quantizeBand(band / bands, band % bands); });
    writeScales();
    return {data.takeAttribute(), scale.takeAttribute()};
  }

private:
  numerics::GlobalFactors getFactors(int64_t element, int64_t row) {
    if (!global)
      return numerics::getGlobalFactors(recipe, {});
    GlobalOperand operand = op.getGlobalOperand();
    int64_t index = operand.extent == GlobalExtent::Row ? element * rows + row
                    : global->getCount() == 1           ? 0
                                                        : element;
    return numerics::getGlobalFactors(recipe, operand.kind,
                                      global->getFloat(index));
  }

  void quantizeBand(int64_t element, int64_t band) {
    int64_t first = band * blockRows;
    int64_t count = std::min(blockRows, rows - first);
    int64_t offset = (element * rows + first) * cols;
    std::vector<float> values(count * cols);
    std::vector<uint8_t> codes(count * cols);
    x.getFloats(offset, values);
    numerics::GlobalFactors factors = getFactors(element, first);
    uint8_t *scales = &compact[(element * bands + band) * bandBlocks];
    for (int64_t block = 0; block < bandBlocks; ++block) {
      int64_t col = block * blockCols;
      numerics::Tile tile{count, std::min(blockCols, cols - col), cols, 1};
      scales[block] =
          blockAmax ? numerics::quantizeBlockOfGivenAmax(
                          recipe, factors, &values[col], tile.cols,
                          blockAmax->getFloat(scales - compact.data() + block),
                          &codes[col])
                    : numerics::quantizeTile(recipe, format, factors,
                                             &values[col], tile, &codes[col]);
    }
    writeCodes(codes, element, first, count);
  }

  void writeCodes(ArrayRef<uint8_t> codes, int64_t element, int64_t first,
                  int64_t count) {
    MutableArrayRef<uint8_t> result =
        data.getElements<uint8_t>().slice(element * rows * cols, rows * cols);
    if (!op.getTransposed()) {
      llvm::copy(codes, result.begin() + first * cols);
      return;
    }
    for (int64_t col = 0; col < cols; ++col)
      for (int64_t row = 0; row < count; ++row)
        result[col * rows + first + row] = codes[row * cols + col];
  }

  /// Writes the scales, one for each block, in the form of the result.
  void writeScales() {
    ScaleForm form = op.getScaleForm();
    ArrayRef<int64_t> shape = op.getScale().getType().getShape().take_back(2);
    MutableArrayRef<uint8_t> result = scale.getElements<uint8_t>();
    std::array<int64_t, 2> blocks = {bands, bandBlocks}, index = {};
    for (size_t i = 0, e = result.size(); i < e; ++i) {
      int64_t element = i / (shape[0] * shape[1]);
      std::array<int64_t, 2> position = {int64_t(i) / shape[1] % shape[0],
                                         int64_t(i) % shape[1]};
      for (auto [extent, at] : llvm::zip_equal(form, position))
        index[extent.dim] = at * extent.divisor / op.getBlock()[extent.dim];
      result[i] =
          compact[(element * blocks[0] + index[0]) * blocks[1] + index[1]];
    }
  }

  QuantizeOp op;
  ConstantTensor x;
  std::optional<ConstantTensor> global, blockAmax;
  numerics::Recipe recipe;
  numerics::ElementFormat format;
  int64_t blockRows, blockCols;
  ConstantBuilder data, scale;
  int64_t batch = 1, rows, cols, bands, bandBlocks;
  /// One scale a block, [batch, bands, bandBlocks].
  std::vector<uint8_t> compact;
};

} // namespace

std::optional<ConstantResults> evaluate(QuantizeOp op) {
  if (op.getRng() || op.getOffsets() ||
      !op.getData().getType().hasStaticShape() ||
      !op.getScale().getType().hasStaticShape())
    return std::nullopt;
  std::optional<ConstantTensor> x = ConstantTensor::match(op.getX());
  FailureOr<std::optional<ConstantTensor>> global =
      ConstantTensor::matchOptional(op.getGlobal());
  FailureOr<std::optional<ConstantTensor>> blockAmax =
      ConstantTensor::matchOptional(op.getBlockAmax());
  if (!x || failed(global) || failed(blockAmax))
    return std::nullopt;
  return ConstantQuantizer(op, *x, *global, *blockAmax).evaluate();
}

} // namespace blockscale
