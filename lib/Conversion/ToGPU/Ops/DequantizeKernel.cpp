//===- DequantizeKernel.cpp - Values of narrow data and scales ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has up to 32 elements of a row: as many as divide every row.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCodec.h"
#include "DeviceEmission/ScaleStore.h"
#include "Emission/GlobalFactors.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "blockscale/Numerics/Dequantize.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Lanes;

static constexpr int64_t kDequantizeThreads = 128;
static constexpr int64_t kMostElements = 32;
static constexpr int64_t kDequantizeBytes = 16;

namespace {

/// Everything that the code of a dequantize kernel depends on.
struct DequantizeSpec {
  numerics::ElementFormat format;
  numerics::ScaleFormat scaleFormat;
  numerics::Recipe recipe;
  Type resultType;
  int64_t blockRows, blockCols;
  const numerics::ScaleLayout &layout;
  GlobalOperand global;
  /// Elements of a thread.
  int64_t elements;

  explicit DequantizeSpec(DequantizeOp op);

  int64_t getBits() const {
    return numerics::getFormatInfo(format).storageBits;
  }
  /// Whether a thread has half a byte.
  bool hasHalfBytes() const { return elements * getBits() < 8; }
  int64_t getDataAlignment() const {
    return hasHalfBytes()
               ? 1
               : std::min(elements * getBits() / 8, kDequantizeBytes);
  }
  int64_t getResultAlignment() const {
    return std::min<int64_t>(elements * resultType.getIntOrFloatBitWidth() / 8,
                             kDequantizeBytes);
  }
  /// Scales of a thread, which lie together.
  int64_t getScales() const {
    return std::max<int64_t>(elements / blockCols, 1);
  }
  int64_t getScaleAlignment() const {
    return std::min(getScales(), kDequantizeBytes);
  }
  /// Whether the kernel tells matrices apart.
  bool isBatched() const {
    return !layout.isLinear() || blockRows != 1 ||
           global.extent == GlobalExtent::Matrix;
  }
  std::string getKernelName() const;
};

/// The operands of the kernel. `global` is null where there is no global scale.
struct DequantizeOperands {
  Value data, scale, result;
  Lanes rows, cols, matrices;
  Value global;
};

class DequantizeEmitter {
public:
  DequantizeEmitter(KernelBuilder &b, const DequantizeSpec &spec,
                    const DequantizeOperands &operands)
      : b(b), spec(spec), data(operands.data), scale(operands.scale),
        result(operands.result), global(operands.global),
        rows(toIndex(b, operands.rows)), cols(toIndex(b, operands.cols)),
        matrices(toIndex(b, operands.matrices)) {}

  void emit();

private:
  SmallVector<Lanes> emitLoadData();
  SmallVector<Lanes> emitLoadScales();
  /// Loads the global scale; null where there is none.
  Value emitLoadGlobal();

  KernelBuilder &b;
  const DequantizeSpec &spec;
  Value data, scale, result, global;
  Lanes rows, cols, matrices;
  /// The position of the thread's first element. `rowNumber` counts the rows of
  /// the matrices before it as well.
  Lanes matrix, row, rowNumber, col;
};

} // namespace

DequantizeSpec::DequantizeSpec(DequantizeOp op)
    : format(getElementFormat(getElementTypeOrSelf(op.getData()))),
      scaleFormat(emit::getScaleFormat(op.getScale())),
      recipe(op.getArithmetic()),
      resultType(getElementTypeOrSelf(op.getResult())),
      blockRows(op.getBlock()[0]), blockCols(op.getBlock()[1]),
      layout(getScaleLayout(op.getScale().getType())),
      global(op.getGlobalOperand()) {
  int64_t k =
      cast<RankedTensorType>(op.getResult().getType()).getShape().back();
  if (!ShapedType::isDynamic(k))
    elements = std::gcd(k, kMostElements);
  else
    elements = acceptsTails(op.getEffectiveRecipe()) ? 1 : blockCols;
}

std::string DequantizeSpec::getKernelName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "dequantize_" << numerics::getFormatInfo(format).name;
  if (scaleFormat == numerics::ScaleFormat::E4M3)
    os << '_' << numerics::getName(recipe);
  os << '_' << resultType << '_' << blockRows << 'x' << blockCols << "_by"
     << elements;
  if (!layout.isLinear())
    os << "_swizzled";
  return name + getGlobalName(global);
}

SmallVector<Lanes> DequantizeEmitter::emitLoadData() {
  if (!spec.hasHalfBytes()) {
    Lanes first = rowNumber * cols + col;
    if (spec.getBits() == 4)
      first = first / 2;
    return emitLoadCodes(b, emitAddress(b, data, b.getI8Type(), first),
                         spec.elements, spec.getBits());
  }
  // Rows of an odd number of codes end with half a byte.
  Lanes byte = rowNumber * emit::ceilDiv(b, cols, 2) + col / 2;
  Lanes pair = extend(emitLoadBits(b, data, b.getI8Type(), byte), 32);
  return {select(isEqual(col % 2, 1), pair >> 4, pair & 0xF)};
}

SmallVector<Lanes> DequantizeEmitter::emitLoadScales() {
  Lanes scaleCols = emit::ceilDiv(b, cols, spec.blockCols);
  Lanes scaleRows = emit::ceilDiv(b, rows, spec.blockRows);
  Lanes scaleRow = row / spec.blockRows, scaleCol = col / spec.blockCols;
  const numerics::ScaleLayout &layout = spec.layout;
  Lanes before = matrix * layout.getRowTiles(scaleRows);
  Lanes tile = layout.getTileNumber(before, scaleRow, scaleCol,
                                    layout.getColTiles(scaleCols));
  Lanes byte = layout.getTiledOffset(tile, scaleRow, scaleCol);
  SmallVector<Lanes> scales;
  for (Lanes code : emitLoadCodes(b, emitAddress(b, scale, b.getI8Type(), byte),
                                  spec.getScales(), /*bits=*/8))
    scales.push_back(numerics::decodeScaleByProduct(spec.scaleFormat, code));
  return scales;
}

Value DequantizeEmitter::emitLoadGlobal() {
  if (!global || spec.global.byValue)
    return global;
  Lanes index = spec.global.extent == GlobalExtent::Row      ? rowNumber
                : spec.global.extent == GlobalExtent::Matrix ? matrix
                                                             : getIndex(b, 0);
  return toF32(emitLoadBits(b, global, b.getF32Type(), index));
}

void DequantizeEmitter::emit() {
  matrix = emitMatrixNumber(b);
  Lanes fragment;
  std::tie(row, fragment) = numerics::split(
      emitGlobalThreadNumber(b, kDequantizeThreads), cols / spec.elements);
  col = fragment * spec.elements;
  rowNumber = matrix * rows + row;
  emit::emitIf(b, isBelow(row, rows) & isBelow(matrix, matrices), [&] {
    SmallVector<Lanes> codes = emitLoadData(), scales = emitLoadScales();
    Lanes decode = emit::emitGlobalFactors(b, spec.recipe, spec.global.kind,
                                           emitLoadGlobal())
                       .decode;
    for (Lanes &factor : scales)
      factor = numerics::getBlockFactor(spec.recipe, factor, decode);
    SmallVector<Lanes> values;
    for (auto [i, code] : llvm::enumerate(codes)) {
      Lanes factor =
          scales[std::min<size_t>(i / spec.blockCols, scales.size() - 1)];
      values.push_back(numerics::dequantizeValue(
          spec.recipe, numerics::decodeByProduct(spec.format, code), factor,
          decode));
    }
    emitStoreRounded(
        b, values, spec.resultType,
        emitAddress(b, result, spec.resultType, rowNumber * cols + col));
  });
}

LogicalResult lowerKernel(DequantizeOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  DequantizeSpec spec(op);
  Value result = site.lookup(op.getResult());
  emit::Indices sizes = emit::getLeadingSizes(
      b, result, cast<MemRefType>(result.getType()).getRank());
  Lanes cols(b, sizes.pop_back_val());
  // A batch whose matrices are not told apart is one matrix with all of their
  // rows.
  Lanes rows = spec.isBatched() ? Lanes(b, sizes.pop_back_val())
                                : emit::getProduct(b, std::exchange(sizes, {}));
  Lanes matrices = emit::getProduct(b, sizes);
  Lanes items = rows * (cols / spec.elements);
  DequantizeOperands operands{site.lookup(op.getData()),
                              site.lookup(op.getScale()),
                              result,
                              rows,
                              cols,
                              matrices,
                              site.lookup(spec.global.value)};
  site.launch(
      spec.getKernelName(),
      {kDequantizeThreads, getCeilDiv(b, items, kDequantizeThreads), matrices,
       spec.elements * spec.getBits() / 8},
      {{operands.data, spec.getDataAlignment()},
       {operands.scale, spec.getScaleAlignment()},
       {operands.result, spec.getResultAlignment()},
       {operands.rows},
       {operands.cols},
       {operands.matrices},
       {operands.global, sizeof(float)}},
      [&](KernelBuilder &b) { DequantizeEmitter(b, spec, operands).emit(); });
  return success();
}

} // namespace blockscale
