//===- ConstantEvaluation.cpp - Ops of the dialect on constants -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantEvaluation.h"
#include "ConstantTensor.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/GlobalScale.h"
#include "blockscale/Numerics/Hadamard.h"
#include "blockscale/Numerics/ScaleSweep.h"
#include "blockscale/Numerics/Tile.h"

#include "mlir/IR/Threading.h"

using namespace mlir;

namespace blockscale {

namespace {

/// Sizes of a matrix and the number of them in a batch.
struct Matrices {
  explicit Matrices(RankedTensorType type)
      : rows(type.getShape().take_back(2).front()),
        cols(type.getShape().back()) {
    for (int64_t size : type.getShape().drop_back(2))
      batch *= size;
  }

  /// Rows that hold elements. Without columns any number of rows holds none.
  int64_t countRows() const { return cols == 0 ? 0 : batch * rows; }

  int64_t batch = 1;
  int64_t rows, cols;
};

} // namespace

std::optional<ConstantResults> evaluate(AmaxOp op) {
  std::optional<ConstantTensor> x = ConstantTensor::match(op.getX());
  if (!x || op.getOffsets() || !op.getType().hasStaticShape())
    return std::nullopt;
  Matrices matrices(op.getX().getType());
  ConstantBuilder result(op.getType());
  MutableArrayRef<float> amaxes = result.getElements<float>();
  int64_t elements = amaxes.empty() ? 0 : x->getCount() / amaxes.size();
  // One value may stand for the whole tensor, so its rows are maximized alone.
  std::vector<float> rowAmaxes(matrices.countRows());
  parallelFor(op.getContext(), 0, rowAmaxes.size(), [&](size_t row) {
    SmallVector<float> values(matrices.cols);
    x->getFloats(row * matrices.cols, values);
    rowAmaxes[row] = numerics::computeAmax(values.data(), values.size());
  });
  int64_t rows = matrices.cols == 0 ? 0 : elements / matrices.cols;
  for (auto [i, amax] : llvm::enumerate(amaxes))
    amax = numerics::computeAmax(rowAmaxes.data() + i * rows, rows);
  return ConstantResults{result.takeAttribute()};
}

std::optional<ConstantResults> evaluate(GlobalScaleOp op) {
  std::optional<ConstantTensor> amax = ConstantTensor::match(op.getAmax());
  if (!amax || !op.getType().hasStaticShape())
    return std::nullopt;
  numerics::Recipe recipe = op.getArithmetic();
  ConstantBuilder result(op.getType());
  for (auto [i, scale] : llvm::enumerate(result.getElements<float>()))
    scale = numerics::getDecodeScale(
        recipe, numerics::readGlobal(op.getAmaxKind(), amax->getFloat(i)));
  return ConstantResults{result.takeAttribute()};
}

std::optional<ConstantResults> evaluate(HadamardOp op) {
  std::optional<ConstantTensor> x = ConstantTensor::match(op.getX());
  if (!x || !op.getType().hasStaticShape())
    return std::nullopt;
  Matrices matrices(op.getX().getType());
  ConstantBuilder result(op.getType());
  MutableArrayRef<uint16_t> codes = result.getElements<uint16_t>();
  bool alongRows = op.getDim() == 1;
  int64_t bandRows = alongRows ? 1 : numerics::kHadamardSize;
  int64_t bandSize = bandRows * matrices.cols;
  int64_t bands = codes.empty() ? 0 : codes.size() / bandSize;
  parallelFor(op.getContext(), 0, bands, [&](size_t band) {
    MutableArrayRef<uint16_t> part = codes.slice(band * bandSize, bandSize);
    for (auto [i, code] : llvm::enumerate(part))
      code = x->getRaw<uint16_t>(band * bandSize + i);
    int64_t step = alongRows ? numerics::kHadamardSize : 1;
    int64_t stride = alongRows ? 1 : matrices.cols;
    for (int64_t col = 0; col < matrices.cols; col += step)
      numerics::transformHadamardBF16(part.data() + col, op.getSignMask(),
                                      stride);
  });
  return ConstantResults{result.takeAttribute()};
}

std::optional<ConstantResults> evaluate(ScaleSweepOp op) {
  std::optional<ConstantTensor> x = ConstantTensor::match(op.getX());
  std::optional<ConstantTensor> global =
      ConstantTensor::match(op.getGlobalAmax());
  FailureOr<std::optional<ConstantTensor>> hessian =
      ConstantTensor::matchOptional(op.getHessian());
  if (!x || !global || failed(hessian) || !op.getType().hasStaticShape())
    return std::nullopt;
  constexpr int64_t kBlock = numerics::kSweepBlock;
  Matrices matrices(op.getX().getType());
  int64_t rowBlocks = matrices.cols / kBlock;
  ConstantBuilder result(op.getType());
  MutableArrayRef<float> amaxes = result.getElements<float>();
  std::vector<float> weights(*hessian ? (*hessian)->getCount() : 0);
  if (*hessian)
    (*hessian)->getFloats(0, weights);
  parallelFor(op.getContext(), 0, matrices.countRows(), [&](size_t row) {
    float globalAmax = numerics::readGlobal(
        op.getGlobalOperand().kind,
        global->getFloat(global->getCount() == 1 ? 0 : row / matrices.rows));
    numerics::SweepScales scales = numerics::getSweepScales(globalAmax);
    SmallVector<float> values(matrices.cols);
    x->getFloats(row * matrices.cols, values);
    for (int64_t block = 0; block < rowBlocks; ++block) {
      const float *w = values.data() + block * kBlock;
      int best = *hessian
                     ? numerics::findBestScale(
                           w, scales, weights.data() + block * kBlock * kBlock)
                     : numerics::findBestScale(w, scales);
      amaxes[row * rowBlocks + block] =
          numerics::getSweepAmax(best, globalAmax);
    }
  });
  return ConstantResults{result.takeAttribute()};
}

std::optional<ConstantResults> evaluate(ExpandScaleOp op) {
  std::optional<ConstantTensor> source = ConstantTensor::match(op.getSource());
  if (!source || !op.getType().hasStaticShape())
    return std::nullopt;
  Matrices from(op.getSource().getType()), to(op.getType());
  bool alongK = op.getScaleDim() == ScaleDim::K;
  int64_t block = op.getBlock().front();
  ConstantBuilder result(op.getType());
  MutableArrayRef<uint8_t> scales = result.getElements<uint8_t>();
  parallelFor(op.getContext(), 0, to.countRows(), [&](size_t item) {
    int64_t batch = item / to.rows, expanded = item % to.rows / block;
    for (int64_t col = 0; col < to.cols; ++col) {
      int64_t fromRow = alongK ? expanded : col;
      int64_t fromCol = alongK ? col : expanded;
      scales[item * to.cols + col] = source->getRaw<uint8_t>(
          (batch * from.rows + fromRow) * from.cols + fromCol);
    }
  });
  return ConstantResults{result.takeAttribute()};
}

/// The elements of `source` with the layout of `type`: a constant holds its
/// logical elements whatever its layout.
static std::optional<ConstantResults> changeLayout(Value source,
                                                   RankedTensorType type) {
  std::optional<ConstantTensor> constant = ConstantTensor::match(source);
  if (!constant || !type.hasStaticShape())
    return std::nullopt;
  ConstantBuilder result(type);
  for (auto [i, element] : llvm::enumerate(result.getElements<uint8_t>()))
    element = constant->getRaw<uint8_t>(i);
  return ConstantResults{result.takeAttribute()};
}

std::optional<ConstantResults> evaluate(SwizzleOp op) {
  if (op.getOffsets())
    return std::nullopt;
  return changeLayout(op.getSource(), op.getType());
}

std::optional<ConstantResults> evaluate(PrepackOp op) {
  return changeLayout(op.getSource(), op.getType());
}

} // namespace blockscale
