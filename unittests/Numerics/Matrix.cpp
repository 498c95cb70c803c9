//===- Matrix.cpp - Quantized matrices to compare -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matrix.h"

#include "Expected.h"

#include "blockscale/Numerics/Dequantize.h"
#include "blockscale/Numerics/Pack.h"

#include <algorithm>
#include <utility>

namespace blockscale::numerics {

Matrix Matrix::transposed() const {
  Matrix result{cols, rows, std::vector<float>(values.size())};
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      result.values[c * rows + r] = values[r * cols + c];
  return result;
}

std::vector<Matrix> readInputs(const std::string &archive) {
  ExpectedArray array = readExpected(archive, "in_x");
  if (array.shape.size() != 2 && array.shape.size() != 3) {
    ADD_FAILURE() << archive << ": expected matrices";
    return {};
  }
  std::vector<float> values;
  if (array.itemSize == sizeof(uint16_t))
    for (uint16_t bits : array.getAs<uint16_t>())
      values.push_back(decodeBF16(bits));
  else
    for (uint32_t bits : array.getAs<uint32_t>())
      values.push_back(fromBits(bits));
  int64_t cols = array.shape.back();
  int64_t rows = array.shape[array.shape.size() - 2];
  std::vector<Matrix> matrices;
  for (auto at = values.begin(); at != values.end(); at += rows * cols)
    matrices.push_back({rows, cols, std::vector<float>(at, at + rows * cols)});
  return matrices;
}

Matrix readInput(const std::string &archive) {
  std::vector<Matrix> matrices = readInputs(archive);
  if (matrices.size() == 1)
    return matrices[0];
  ADD_FAILURE() << archive << ": expected one matrix";
  return {};
}

static bool isScaledToNan(Recipe recipe, float x, float factor) {
  return isNan(applyFactor(recipe, x, factor));
}

QuantizedMatrix quantizeMatrix(Recipe recipe, ElementFormat format,
                               const std::vector<GlobalFactors> &global,
                               const Matrix &x, BlockShape block) {
  QuantizedMatrix result;
  result.format = format;
  result.scaleFormat = getScaleFormat(recipe);
  result.rows = x.rows;
  result.cols = x.cols;
  result.codes.resize(x.values.size());
  result.nanBorn.resize(x.values.size());
  result.scaleRows = (x.rows + block.rows - 1) / block.rows;
  result.scaleCols = (x.cols + block.cols - 1) / block.cols;
  for (int64_t row = 0; row < x.rows; row += block.rows) {
    const GlobalFactors &factors = global.size() == 1 ? global[0] : global[row];
    for (int64_t col = 0; col < x.cols; col += block.cols) {
      int64_t start = row * x.cols + col;
      const float *from = &x.values[start];
      uint8_t *to = &result.codes[start];
      Tile tile{std::min(block.rows, x.rows - row),
                std::min(block.cols, x.cols - col), x.cols, 1};
      uint8_t scale = quantizeTile(recipe, format, factors, from, tile, to);
      result.scales.push_back(scale);
      float factor = getElementFactor(recipe, scale, factors);
      for (int64_t r = 0; r < tile.rows; ++r)
        for (int64_t c = 0; c < tile.cols; ++c)
          result.nanBorn[start + r * x.cols + c] =
              isScaledToNan(recipe, from[r * x.cols + c], factor);
    }
  }
  return result;
}

QuantizedMatrix stack(const std::vector<QuantizedMatrix> &matrices) {
  QuantizedMatrix result = matrices[0];
  for (size_t i = 1; i < matrices.size(); ++i) {
    const QuantizedMatrix &next = matrices[i];
    result.rows += next.rows;
    result.scaleRows += next.scaleRows;
    result.codes.insert(result.codes.end(), next.codes.begin(),
                        next.codes.end());
    result.nanBorn.insert(result.nanBorn.end(), next.nanBorn.begin(),
                          next.nanBorn.end());
    result.scales.insert(result.scales.end(), next.scales.begin(),
                         next.scales.end());
  }
  return result;
}

QuantizedMatrix expandScales(QuantizedMatrix quantized, ScaleDim dim,
                             int64_t blockSize) {
  std::vector<uint8_t> compact = quantized.scales;
  int64_t compactRows = quantized.scaleRows, compactCols = quantized.scaleCols;
  quantized.scaleRows = dim == ScaleDim::K ? quantized.rows : quantized.cols;
  quantized.scaleCols = dim == ScaleDim::K ? compactCols : compactRows;
  quantized.scales.clear();
  for (int64_t r = 0; r < quantized.scaleRows; ++r) {
    for (int64_t c = 0; c < quantized.scaleCols; ++c) {
      ElementIndex<int64_t> index = getCompactIndex(dim, blockSize, r, c);
      quantized.scales.push_back(
          compact[kLinear.getOffset(index.row, index.col, compactCols)]);
    }
  }
  return quantized;
}

QuantizedMatrix transposeScales(QuantizedMatrix quantized) {
  // Column r of the compact scales is row r of the result.
  return expandScales(std::move(quantized), ScaleDim::N, 1);
}

std::vector<uint8_t> swizzle(const std::vector<uint8_t> &scales, int64_t rows,
                             int64_t cols) {
  std::vector<uint8_t> result(k128x4.getBytes(rows, cols), kScalePadding);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      result[k128x4.getOffset(r, c, cols)] =
          scales[kLinear.getOffset(r, c, cols)];
  return result;
}

namespace {
/// Counts mismatches and reports them as one failure.
class Mismatches {
public:
  Mismatches(const std::string &archive, const std::string &array)
      : name(archive + "." + array) {}
  ~Mismatches() {
    EXPECT_EQ(count, 0) << name << ", first at " << first << ": got "
                        << firstGot << ", expected " << firstWant;
  }
  void add(int64_t index, uint32_t got, uint32_t want) {
    if (count++ != 0)
      return;
    first = index;
    firstGot = got;
    firstWant = want;
  }

private:
  std::string name;
  int64_t count = 0;
  int64_t first = 0;
  uint32_t firstGot = 0;
  uint32_t firstWant = 0;
};
} // namespace

void expectScales(const std::string &archive, const std::string &array,
                  ScaleFormat format, const std::vector<uint8_t> &scales) {
  auto want = readExpectedAs<uint8_t>(archive, array);
  ASSERT_EQ(scales.size(), want.size()) << archive << "." << array;
  Mismatches mismatches(archive, array);
  for (size_t i = 0; i < want.size(); ++i)
    if (scales[i] != want[i] &&
        !(isNanScale(format, scales[i]) && isNanScale(format, want[i])))
      mismatches.add(static_cast<int64_t>(i), scales[i], want[i]);
}

void expectCodes(const std::string &archive, const std::string &array,
                 const QuantizedMatrix &quantized) {
  ElementFormat format = quantized.format;
  auto bytes = readExpectedAs<uint8_t>(archive, array);
  bool isPacked = getFormatInfo(format).storageBits == 4;
  int64_t rowSize =
      static_cast<int64_t>(bytes.size()) / quantized.rows * (isPacked ? 2 : 1);
  ASSERT_GE(rowSize, quantized.cols) << archive << "." << array;
  Mismatches mismatches(archive, array);
  for (int64_t r = 0; r < quantized.rows; ++r) {
    std::vector<uint8_t> row(rowSize, 0);
    std::copy_n(&quantized.codes[r * quantized.cols], quantized.cols,
                row.begin());
    if (isPacked) {
      // Codes go through the packed form and back, so that packing is compared
      // too.
      packRow(row.data(), rowSize, row.data());
      row.resize(getPackedSize(rowSize));
      std::vector<uint8_t> packed = row;
      row.resize(rowSize);
      for (int64_t c = 0; c < rowSize; ++c)
        row[c] = unpackCode(packed.data(), c);
    }
    for (int64_t c = 0; c < rowSize; ++c) {
      int64_t index = r * rowSize + c;
      uint8_t want = isPacked ? unpackCode(bytes.data(), index) : bytes[index];
      bool nanBorn =
          c < quantized.cols && quantized.nanBorn[r * quantized.cols + c];
      bool bothNan = isNanCode(format, row[c]) && isNanCode(format, want);
      bool isOpen = nanBorn && !getFormatInfo(format).hasNan;
      if (row[c] != want && !bothNan && !isOpen)
        mismatches.add(index, row[c], want);
      if (nanBorn) {
        EXPECT_EQ(row[c], getFormatInfo(format).nanCode);
      }
    }
  }
}

void expectValues(const std::string &archive, const std::string &prefix,
                  Recipe recipe, const QuantizedMatrix &quantized,
                  BlockShape block, float decodeGlobal) {
  auto wantF32 = readExpectedAs<uint32_t>(archive, prefix + "f32");
  auto wantBF16 = readExpectedAs<uint16_t>(archive, prefix + "bf16");
  ASSERT_EQ(quantized.codes.size(), wantF32.size()) << archive << prefix;
  ASSERT_EQ(quantized.codes.size(), wantBF16.size()) << archive << prefix;
  Mismatches mismatchesF32(archive, prefix + "f32");
  Mismatches mismatchesBF16(archive, prefix + "bf16");
  for (int64_t r = 0; r < quantized.rows; ++r) {
    for (int64_t c = 0; c < quantized.cols; ++c) {
      int64_t index = r * quantized.cols + c;
      if (quantized.nanBorn[index] && !getFormatInfo(quantized.format).hasNan)
        continue;
      uint8_t scale =
          quantized
              .scales[r / block.rows * quantized.scaleCols + c / block.cols];
      float value =
          dequantizeElement(recipe, quantized.format, quantized.codes[index],
                            scale, decodeGlobal);
      if (toBits(value) != wantF32[index] &&
          !(isNan(value) && isNan(fromBits(wantF32[index]))))
        mismatchesF32.add(index, toBits(value), wantF32[index]);
      if (encodeBF16(value) != wantBF16[index] &&
          !(isNan(value) && isNan(decodeBF16(wantBF16[index]))))
        mismatchesBF16.add(index, encodeBF16(value), wantBF16[index]);
    }
  }
}

} // namespace blockscale::numerics
