//===- Matrix.h - Quantized matrices to compare -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_NUMERICS_MATRIX_H
#define BLOCKSCALE_UNITTESTS_NUMERICS_MATRIX_H

#include "blockscale/Numerics/Quantize.h"
#include "blockscale/Numerics/ScaleLayout.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace blockscale::numerics {

inline constexpr float kInfinity = __builtin_huge_valf();

struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> values;

  Matrix transposed() const;
  /// The largest magnitude; NaN propagates.
  float amax() const {
    return computeAmax(values.data(), static_cast<int64_t>(values.size()));
  }
};

/// Names the tests of a case after it.
inline std::string
getCaseName(const testing::TestParamInfo<const char *> &info) {
  return info.param;
}

/// The bf16 or f32 input `in_x` of an archive, of rank 2 or 3.
std::vector<Matrix> readInputs(const std::string &archive);

/// The input of an archive with one matrix.
Matrix readInput(const std::string &archive);

/// Codes are one to a byte; `nanBorn` marks elements whose scaled value is NaN.
struct QuantizedMatrix {
  ElementFormat format = ElementFormat::E2M1;
  ScaleFormat scaleFormat = ScaleFormat::E4M3;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<uint8_t> codes;
  std::vector<bool> nanBorn;
  int64_t scaleRows = 0;
  int64_t scaleCols = 0;
  std::vector<uint8_t> scales;
};

struct BlockShape {
  int64_t rows;
  int64_t cols;
};

/// Quantizes row by row of blocks; `global` has one entry, or one a row for
/// blocks of one row. Blocks may hang over the end of the matrix.
QuantizedMatrix quantizeMatrix(Recipe recipe, ElementFormat format,
                               const std::vector<GlobalFactors> &global,
                               const Matrix &x, BlockShape block);

/// One matrix under the other.
QuantizedMatrix stack(const std::vector<QuantizedMatrix> &matrices);

/// The scales of square blocks as a product takes them.
QuantizedMatrix expandScales(QuantizedMatrix quantized, ScaleDim dim,
                             int64_t blockSize);

/// The scales of a column of blocks, one row for each column of the matrix.
QuantizedMatrix transposeScales(QuantizedMatrix quantized);

/// The matrix in the 128x4 layout.
std::vector<uint8_t> swizzle(const std::vector<uint8_t> &scales, int64_t rows,
                             int64_t cols);

/// Compares scale bytes with an expected array; NaN equals NaN.
void expectScales(const std::string &archive, const std::string &array,
                  ScaleFormat format, const std::vector<uint8_t> &scales);

/// Compares codes with an expected array, which for E2M1 is packed. A row of
/// the array may be longer; the rest is code 0. NaN equals NaN; where the
/// format has none, codes of elements scaled to NaN are not compared.
void expectCodes(const std::string &archive, const std::string &array,
                 const QuantizedMatrix &quantized);

/// Compares the dequantized matrix with the arrays `prefix` + `f32` and, after
/// rounding, `prefix` + `bf16`. NaN equals NaN.
void expectValues(const std::string &archive, const std::string &prefix,
                  Recipe recipe, const QuantizedMatrix &quantized,
                  BlockShape block, float decodeGlobal);

} // namespace blockscale::numerics

#endif // BLOCKSCALE_UNITTESTS_NUMERICS_MATRIX_H
