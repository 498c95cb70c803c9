//===- DequantizeKernel.cpp - Values of narrow data and scales ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has up to 32 elements of a row: as many as divide every row. It
// loads and stores them in pieces of 16 bytes of the result. As many threads as
// there are pieces share their elements, so that threads beside each other
// store pieces beside each other: a thread has the same piece of the elements
// of all of them.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/CvtEmitter.h"
#include "DeviceEmission/DeviceCode.h"
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
  int64_t getResultBytes() const {
    return resultType.getIntOrFloatBitWidth() / 8;
  }
  /// Elements of a piece.
  int64_t getPieceElements() const {
    return std::gcd(elements, kDequantizeBytes / getResultBytes());
  }
  int64_t getPieces() const { return elements / getPieceElements(); }
  int64_t getDataAlignment() const {
    return hasHalfBytes() ? 1 : getPieceElements() * getBits() / 8;
  }
  int64_t getResultAlignment() const {
    return getPieceElements() * getResultBytes();
  }
  /// Scales of a piece, which lie together.
  int64_t getScales() const {
    return std::max<int64_t>(getPieceElements() / blockCols, 1);
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

/// The position of a piece. `rowNumber` counts the rows of the matrices before
/// it as well.
struct DequantizePlace {
  Lanes row, rowNumber, col;
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
                    const target::Chip &chip,
                    const DequantizeOperands &operands)
      : b(b), spec(spec), chip(chip), data(operands.data),
        scale(operands.scale), result(operands.result), global(operands.global),
        rows(toIndex(b, operands.rows)), cols(toIndex(b, operands.cols)),
        matrices(toIndex(b, operands.matrices)) {}

  void emit();

private:
  /// The elements and the scales of a piece, as f32.
  SmallVector<Lanes> emitLoadElements(const DequantizePlace &place);
  SmallVector<Lanes> emitLoadScales(const DequantizePlace &place);
  /// Loads the global scale; null where there is none.
  Value emitLoadGlobal(const DequantizePlace &place);
  /// The values of a piece.
  SmallVector<Lanes> emitValues(const DequantizePlace &place);

  KernelBuilder &b;
  const DequantizeSpec &spec;
  const target::Chip &chip;
  Value data, scale, result, global;
  Lanes rows, cols, matrices;
  Lanes matrix;
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

SmallVector<Lanes>
DequantizeEmitter::emitLoadElements(const DequantizePlace &place) {
  int64_t count = spec.getPieceElements();
  auto decode = [&](Lanes code) {
    return Lanes(numerics::decodeByProduct(spec.format, code));
  };
  if (spec.hasHalfBytes()) {
    // Rows of an odd number of codes end with half a byte.
    Lanes byte = place.rowNumber * emit::ceilDiv(b, cols, 2) + place.col / 2;
    Lanes pair = extend(emitLoadBits(b, data, b.getI8Type(), byte), 32);
    return {decode(select(isEqual(place.col % 2, 1), pair >> 4, pair & 0xF))};
  }
  Lanes first = place.rowNumber * cols + place.col;
  if (spec.getBits() == 4)
    first = first / 2;
  Value address = emitAddress(b, data, b.getI8Type(), first);
  SmallVector<Lanes> elements;
  if (spec.format == numerics::ElementFormat::E4M3 && chip.hasFp8Cvt() &&
      count % 4 == 0) {
    std::unique_ptr<CvtEmitter> cvt = createCvtEmitter(chip);
    for (Lanes word : emitLoadWords(b, address, count, count))
      for (int shift : {0, 16}) {
        auto [low, high] = cvt->decodeE4M3Pair(b, truncate(word >> shift, 16));
        elements.append({low, high});
      }
    return elements;
  }
  for (Lanes code : emitLoadCodes(b, address, count, spec.getBits()))
    elements.push_back(decode(code));
  return elements;
}

SmallVector<Lanes>
DequantizeEmitter::emitLoadScales(const DequantizePlace &place) {
  Lanes scaleCols = emit::ceilDiv(b, cols, spec.blockCols);
  Lanes scaleRows = emit::ceilDiv(b, rows, spec.blockRows);
  Lanes scaleRow = place.row / spec.blockRows;
  Lanes scaleCol = place.col / spec.blockCols;
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

Value DequantizeEmitter::emitLoadGlobal(const DequantizePlace &place) {
  if (!global || spec.global.byValue)
    return global;
  Lanes index = spec.global.extent == GlobalExtent::Row      ? place.rowNumber
                : spec.global.extent == GlobalExtent::Matrix ? matrix
                                                             : getIndex(b, 0);
  return toF32(emitLoadBits(b, global, b.getF32Type(), index));
}

SmallVector<Lanes> DequantizeEmitter::emitValues(const DequantizePlace &place) {
  SmallVector<Lanes> values = emitLoadElements(place);
  SmallVector<Lanes> scales = emitLoadScales(place);
  Lanes decode = emit::emitGlobalFactors(b, spec.recipe, spec.global.kind,
                                         emitLoadGlobal(place))
                     .decode;
  for (Lanes &factor : scales)
    factor = numerics::getBlockFactor(spec.recipe, factor, decode);
  for (auto [i, value] : llvm::enumerate(values)) {
    Lanes factor =
        scales[std::min<size_t>(i / spec.blockCols, scales.size() - 1)];
    value = numerics::dequantizeValue(spec.recipe, value, factor, decode);
  }
  return values;
}

void DequantizeEmitter::emit() {
  matrix = emitMatrixNumber(b);
  int64_t count = spec.getPieces();
  auto [team, piece] =
      numerics::split(emitGlobalThreadNumber(b, kDequantizeThreads), count);
  DequantizePlace place;
  std::tie(place.row, place.col) =
      numerics::split(team * count, cols / spec.elements);
  place.col = place.col * spec.elements + piece * spec.getPieceElements();
  emit::emitIf(b, isBelow(place.row, rows) & isBelow(matrix, matrices), [&] {
    SmallVector<DequantizePlace> places;
    SmallVector<SmallVector<Lanes>> pieces;
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) {
        Lanes reached = place.col + spec.elements;
        Lanes isBehind = isBelow(cols, reached + 1);
        place.row = select(isBehind, place.row + 1, place.row);
        place.col = select(isBehind, reached - cols, reached);
      }
      // All pieces are loaded before one is stored: behind the last row, of it.
      DequantizePlace loaded = place;
      loaded.row = select(isBelow(place.row, rows), place.row, rows - 1);
      for (DequantizePlace *each : {&place, &loaded})
        each->rowNumber = matrix * rows + each->row;
      places.push_back(place);
      pieces.push_back(emitValues(loaded));
    }
    for (auto [stored, values] : llvm::zip_equal(places, pieces))
      emit::emitIf(
          b, isBelow(stored.row, rows), [&, &at = stored, &of = values] {
            emitStoreRounded(b, of, spec.resultType,
                             emitAddress(b, result, spec.resultType,
                                         at.rowNumber * cols + at.col));
          });
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
  site.launch(spec.getKernelName(),
              {kDequantizeThreads, getCeilDiv(b, items, kDequantizeThreads),
               matrices, spec.elements * spec.getBits() / 8},
              {{operands.data, spec.getDataAlignment()},
               {operands.scale, spec.getScaleAlignment()},
               {operands.result, spec.getResultAlignment()},
               {operands.rows},
               {operands.cols},
               {operands.matrices},
               {operands.global, sizeof(float)}},
              [&](KernelBuilder &b) {
                DequantizeEmitter(b, spec, site.getChip(), operands).emit();
              });
  return success();
}

} // namespace blockscale
