//===- PanelDecoder.cpp - Decoded operands of panel products --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PanelDecoder.h"
#include "Emission/FloatCodec.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/Dequantize.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Blocks of a row that are decoded in a step.
static constexpr int64_t kBlocksPerStep = 2;

/// Columns whose scales are transposed at a time.
static constexpr int64_t kTransposedCols = 16;
static_assert(kPairTileCols % kTransposedCols == 0);

/// Elements of a column that are decoded in a step: a part of any block.
static constexpr int64_t kTransposedDepth = 16;

/// The scales that decide how numbers are multiplied: plain ones are as exact
/// in f32 as those of NVFP4.
static numerics::ScaleFormat getScaleFormat(ProductOpInterface op) {
  Type scale = op.getScaleElementType();
  return scale ? blockscale::getScaleFormat(scale)
               : numerics::ScaleFormat::E4M3;
}

/// The type of values beside a plain operand, where it does not hold all of
/// them: MX beside bf16, and elements times a global scale.
static Type getRoundedType(ProductOpInterface op) {
  if (op.scalesElements())
    return getElementTypeOrSelf(op.getScaleA() ? op.getB() : op.getA());
  if (getScaleFormat(op) == numerics::ScaleFormat::E4M3)
    return {};
  for (Value operand : {Value(op.getA()), Value(op.getB())})
    if (Type element = getElementTypeOrSelf(operand); element.isBF16())
      return element;
  return {};
}

ProductNumbers::ProductNumbers(ProductOpInterface op,
                               numerics::TensorCores tensorCores)
    : scaleFormat(getScaleFormat(op)),
      blockSize(numerics::getBlockFormat(scaleFormat).blockSize),
      scalesElements(op.scalesElements()), roundedType(getRoundedType(op)) {
  MLIRContext *context = op.getContext();
  bool isWide = scaleFormat == numerics::ScaleFormat::E8M0;
  type = isWide && roundedType ? FloatType(Float64Type::get(context))
                               : FloatType(Float32Type::get(context));
  scalesSums = isWide && !roundedType;
  if (!op.keepsChain())
    return;
  chain.emplace(op, tensorCores);
  // Words are of values that are rounded already.
  roundedType = {};
  type = Float32Type::get(context);
  scalesSums = false;
}

bool ProductNumbers::mayBePairs(Type elementOfA) const {
  return !chain && !scalesElements && !scalesSums && !elementOfA.isF16();
}

Lanes MatmulOperand::getBlockFactors(const Lanes &values) const {
  if (!global)
    return values;
  Lanes factor(values.getBuilder(), global);
  return numerics::getBlockFactor(numerics::kProductRecipe, values,
                                  broadcast(factor, values));
}

Lanes ProductNumbers::round(const Lanes &values) const {
  return roundedType ? emitDecodeFloat(roundedType,
                                       emitEncodeFloat(roundedType, values))
                     : values;
}

Lanes ProductNumbers::encode(const Lanes &values) const {
  if (chain)
    return chain->encode(values);
  return toBits(type.isF64() ? extendToF64(values) : values);
}

PanelDecoder::PanelDecoder(ImplicitLocOpBuilder &b,
                           const ProductNumbers &numbers, ProductOpInterface op,
                           Value blocks)
    : b(b), numbers(numbers), tileCols(numbers.getTileCols()) {
  rowBuffer = allocate(b, {kPanelRows, kChunkDepth}, numbers.getStoredType());
  colBuffer = allocate(b, {kPanelCols / tileCols, kChunkDepth, tileCols},
                       numbers.getStoredType());
  transposed = allocate(b, {kTransposedDepth, kPairCols},
                        b.getIntegerType(op.getScaleB() ? 8 : 16));
  // Scales are decoded by whole tiles of them.
  Value paddedBlocks = roundUp(b, blocks, numerics::kTileCols);
  rowScales = allocate(b, {kPanelRows, ShapedType::kDynamic}, getScaleType(),
                       paddedBlocks);
  colScales = allocate(b, {ShapedType::kDynamic, kPanelCols}, getScaleType(),
                       paddedBlocks);
  scaleRows = allocate(b, {kTransposedCols, ShapedType::kDynamic},
                       getScaleType(), paddedBlocks);
  if (!op.getScaleB() || !numbers.mayBePairs(getElementTypeOrSelf(op.getA())))
    return;
  rowPairs = allocate(b, {kPanelRows, kChunkDepth / 2}, b.getI32Type());
  colPairs = allocate(b, {kPanelCols / kPairCols, kChunkDepth / 2, kPairCols},
                      b.getI32Type());
  if (isPacked(blockscale::getElementFormat(getElementTypeOrSelf(op.getB()))))
    decodeE2M1 = CpuFunction::createDecodeE2M1(b);
}

void PanelDecoder::emitFree() {
  for (Value buffer : {rowBuffer, colBuffer, transposed, rowScales, colScales,
                       scaleRows, rowPairs, colPairs})
    if (buffer)
      memref::DeallocOp::create(b, buffer);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// E8M0's products leave the range of f32.
Type PanelDecoder::getScaleType() const {
  return numbers.scalesSums ? Type(b.getF64Type()) : Type(b.getF32Type());
}

/// Calls `body(i, row)` for the rows of `span`, and again for the last one
/// until there is a multiple of `unit` of them.
static void emitRowLoop(ImplicitLocOpBuilder &b, const Span &span, int64_t unit,
                        function_ref<void(Value, Value)> body) {
  Value last = sub(b, span.count, getIndex(b, 1));
  emitLoop(b, getIndex(b, 0), roundUp(b, span.count, unit),
           [&](Value i) { body(i, add(b, span.first, min(b, i, last))); });
}

void PanelDecoder::emitRowScales(const MatmulOperand &operand, const Span &rows,
                                 const Span &blocks) {
  if (!operand.scales)
    return;
  auto toScaleType = [&](Lanes scales) {
    return numbers.scalesSums ? extendToF64(scales)
                              : operand.getBlockFactors(scales);
  };
  emitRowLoop(b, rows, kRegisterRows, [&](Value i, Value row) {
    emitDecodeScaleRow(b, *operand.scales, numbers.scaleFormat, row,
                       blocks.first, blocks.count, {rowScales, {i}},
                       toScaleType);
  });
}

void PanelDecoder::emitColScales(const MatmulOperand &operand, const Span &cols,
                                 const Span &blocks) {
  if (!operand.scales)
    return;
  Value zero = getIndex(b, 0);
  auto toScaleType = [&](Lanes scales) {
    return numbers.scalesSums ? extendToF64(scales)
                              : operand.getBlockFactors(scales);
  };
  Value last = sub(b, cols.count, getIndex(b, 1));
  auto emitTransposed = [&](Value firstCol) {
    emitLoop(b, zero, getIndex(b, kTransposedCols), [&](Value i) {
      Value col = add(b, cols.first, min(b, add(b, firstCol, i), last));
      emitDecodeScaleRow(b, *operand.scales, numbers.scaleFormat, col,
                         blocks.first, blocks.count, {scaleRows, {i}},
                         toScaleType);
    });
    emitLoop(
        b, zero, blocks.count,
        [&](Value block) {
          SmallVector<Lanes> rows;
          for (int64_t i = 0; i < kTransposedCols; ++i)
            rows.push_back(loadLanes(b, scaleRows, {getIndex(b, i), block},
                                     numerics::kTileCols));
          for (auto [i, scales] : llvm::enumerate(transposeLanes(rows)))
            storeLanes(scales, colScales,
                       {add(b, block, getIndex(b, i)), firstCol});
        },
        numerics::kTileCols);
  };
  emitLoop(b, zero, roundUp(b, cols.count, kPairTileCols), emitTransposed,
           kTransposedCols);
}

Lanes PanelDecoder::emitScaleProduct(Value row, Value tile, Value block) const {
  auto type = VectorType::get({tileCols}, b.getF64Type());
  Lanes cols(b,
             vector::LoadOp::create(b, type, colScales,
                                    ValueRange{block, mul(b, tile, tileCols)}));
  Lanes scale(b, memref::LoadOp::create(b, rowScales, ValueRange{row, block}));
  return broadcast(scale, cols) * cols;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void PanelDecoder::emitRow(const MatmulOperand &operand, Value row,
                           const Span &chunk, Value firstBlock, Value bufferRow,
                           UseRow use) {
  Indices dataRow = append(operand.batch, row);
  auto emitStep = [&](Value block, int64_t count) {
    int64_t lanes = count * numbers.blockSize;
    Value col = mul(b, add(b, chunk.first, block), numbers.blockSize);
    auto load = [&] {
      if (!operand.scales)
        return emitDecodeFloat(
            operand.element,
            loadLanes(b, operand.data, append(dataRow, col), lanes));
      Lanes values = emitLoadElements(
          b, operand.data, blockscale::getElementFormat(operand.element),
          dataRow, col, lanes);
      if (numbers.scalesSums)
        return values;
      Lanes scales = toF32(loadLanes(
          b, rowScales, {bufferRow, add(b, firstBlock, block)}, count));
      return numbers.round(values * repeatLanes(scales, numbers.blockSize));
    };
    use(load(), mul(b, block, numbers.blockSize));
  };
  emitUnitSteps(b, chunk.count, kBlocksPerStep, emitStep);
}

void PanelDecoder::emitRows(const MatmulOperand &operand, const Span &rows,
                            const Span &chunk, Value firstBlock) {
  emitRowLoop(b, rows, kRegisterRows, [&](Value i, Value row) {
    emitRow(operand, row, chunk, firstBlock, i, [&](Lanes values, Lanes first) {
      storeLanes(numbers.encode(values), rowBuffer, {i, first});
    });
  });
}

void PanelDecoder::emitRowPairs(const MatmulOperand &operand, const Span &rows,
                                const Span &chunk, Value firstBlock) {
  emitRowLoop(b, rows, kRegisterRows, [&](Value i, Value row) {
    emitRow(operand, row, chunk, firstBlock, i, [&](Lanes values, Lanes first) {
      Lanes words = truncate(toBits(values) >> 16, 16);
      storeLanes(bitcastLanes(words, b.getI32Type()), rowPairs,
                 {i, div(b, first, 2)});
    });
  });
}

/// Whether a byte of the operand has two elements.
static bool isPackedOperand(const MatmulOperand &operand) {
  return operand.scales &&
         isPacked(blockscale::getElementFormat(operand.element));
}

/// Stores the codes of the elements [col, col + kTransposedDepth) of `rows`: of
/// each element, or each pair that shares a byte, a vector of the rows.
void PanelDecoder::emitTranspose(const MatmulOperand &operand,
                                 ArrayRef<Value> rows, Value col) {
  int64_t perVector = isPackedOperand(operand) ? 2 : 1;
  SmallVector<Lanes> lanes;
  for (Value row : rows)
    lanes.push_back(loadLanes(
        b, operand.data, append(operand.batch, {row, div(b, col, perVector)}),
        kTransposedDepth / perVector));
  for (auto [i, codes] : llvm::enumerate(transposeLanes(lanes)))
    storeLanes(codes, transposed, {getIndex(b, i), getIndex(b, 0)});
}

/// The f32 values that vector i of transposed codes stands for: of one element,
/// or of two.
SmallVector<Lanes>
PanelDecoder::emitDecodeTransposed(const MatmulOperand &operand, Value i,
                                   bool ofPairs) {
  Lanes codes = loadLanes(b, transposed, {i, getIndex(b, 0)},
                          ofPairs ? kPairCols : tileCols);
  if (!operand.scales)
    return {emitDecodeFloat(operand.element, codes)};
  numerics::ElementFormat format =
      blockscale::getElementFormat(operand.element);
  auto decode = [&](Lanes x) {
    return numerics::decodeBits(format, extend(x, 32));
  };
  if (!isPacked(format))
    return {decode(codes)};
  if (ofPairs) {
    // Of a word the lowest four bits count.
    Lanes words = extend(codes, 32);
    return {decodeE2M1->emitCall(b, Value(words)),
            decodeE2M1->emitCall(b, Value(words >> 4))};
  }
  return {decode(codes & 0xF), decode(codes >> 4)};
}

void PanelDecoder::emitTiles(const MatmulOperand &operand, const Span &cols,
                             const Span &chunk, Value firstBlock, bool ofPairs,
                             UseCols use) {
  Value zero = getIndex(b, 0), last = sub(b, cols.count, getIndex(b, 1));
  Value firstElement = mul(b, chunk.first, numbers.blockSize);
  int64_t width = ofPairs ? kPairCols : tileCols;
  bool packed = isPackedOperand(operand);
  int64_t perVector = packed ? 2 : 1, vectors = ofPairs && !packed ? 2 : 1;
  auto loadScales = [&](Value k, Value firstCol) {
    Lanes scales = toF32(loadLanes(
        b, colScales,
        {add(b, firstBlock, div(b, k, numbers.blockSize)), firstCol}, width));
    // Pairs are decoded magnified.
    constexpr auto element = numerics::ElementFormat::E2M1;
    return ofPairs && packed
               ? scales * (1 / numerics::getMagnification(element))
               : scales;
  };
  Value tiles =
      div(b, roundUp(b, cols.count, ofPairs ? kPairTileCols : tileCols), width);
  // The codes of a tile lie in many rows, which hardware does not foresee.
  auto emitPrefetchNext = [&](Value tile, Value step) {
    Value next = add(b, tile, getIndex(b, 1));
    Lanes isLast =
        compare(arith::CmpIPredicate::eq, Lanes(b, next), Lanes(b, tiles));
    Value row = select(isLast, Lanes(b, zero), mul(b, next, width));
    Value element = select(isLast, Lanes(b, getIndex(b, kChunkDepth)), zero);
    emitPrefetch(b, operand.data,
                 append(operand.batch,
                        {add(b, cols.first, add(b, row, step)),
                         div(b, add(b, firstElement, element), perVector)}),
                 kChunkDepth / perVector);
  };
  auto emitTile = [&](Value tile) {
    Value firstCol = mul(b, tile, width);
    SmallVector<Value> rows;
    for (int64_t i = 0; i < width; ++i)
      rows.push_back(
          add(b, cols.first, min(b, add(b, firstCol, getIndex(b, i)), last)));
    auto emitStep = [&](Value k) {
      std::optional<Lanes> scales;
      if (operand.scales && !numbers.scalesSums)
        scales = loadScales(k, firstCol);
      emitTranspose(operand, rows, add(b, firstElement, k));
      emitPrefetchNext(tile, div(b, k, kTransposedDepth));
      emitLoop(
          b, zero, getIndex(b, kTransposedDepth / perVector),
          [&](Value i) {
            SmallVector<Lanes> elements;
            for (int64_t j = 0; j < vectors; ++j)
              elements.append(emitDecodeTransposed(
                  operand, add(b, i, getIndex(b, j)), ofPairs));
            for (Lanes &values : elements)
              if (scales)
                values = ofPairs ? values * *scales
                                 : numbers.round(values * *scales);
            use(tile, elements, add(b, k, mul(b, i, perVector)));
          },
          vectors);
    };
    emitLoop(b, zero, mul(b, chunk.count, numbers.blockSize), emitStep,
             kTransposedDepth);
  };
  emitLoop(b, zero, tiles, emitTile);
}

void PanelDecoder::emitCols(const MatmulOperand &operand, const Span &cols,
                            const Span &chunk, Value firstBlock) {
  emitTiles(operand, cols, chunk, firstBlock, /*ofPairs=*/false,
            [&](Value tile, ArrayRef<Lanes> elements, Value first) {
              for (auto [j, values] : llvm::enumerate(elements))
                storeLanes(
                    numbers.encode(values), colBuffer,
                    {tile, add(b, first, getIndex(b, j)), getIndex(b, 0)});
            });
}

void PanelDecoder::emitColPairs(const MatmulOperand &operand, const Span &cols,
                                const Span &chunk, Value firstBlock) {
  emitTiles(operand, cols, chunk, firstBlock, /*ofPairs=*/true,
            [&](Value tile, ArrayRef<Lanes> elements, Value first) {
              Lanes low = toBits(elements[0]) >> 16;
              Lanes high = toBits(elements[1]) & 0xFFFF0000u;
              storeLanes(low | high, colPairs,
                         {tile, div(b, first, 2), getIndex(b, 0)});
            });
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

Lanes PanelDecoder::emitAreOrdinary(const MatmulOperand &a, const Span &rows,
                                    const Span &cols,
                                    const Span &blocks) const {
  Lanes areOrdinary(b, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  Value zero = getIndex(b, 0);
  if (!a.scales) {
    Value firstCol = mul(b, blocks.first, numbers.blockSize);
    Value depth = mul(b, blocks.count, numbers.blockSize);
    Lanes largest = emitReduction(
        b, zero, rows.count, MagnitudeRange::createFirst(b, kPairCols),
        [&](Value i, Lanes ofRows) -> Value {
          Indices row = append(a.batch, add(b, rows.first, i));
          return emitReduction(
              b, zero, depth, ofRows,
              [&](Value k, Lanes ofRow) -> Value {
                Lanes codes = loadLanes(
                    b, a.data, append(row, add(b, firstCol, k)), kPairCols);
                return kNumbers.raise(
                    ofRow, toBits(emitDecodeFloat(a.element, codes)));
              },
              kPairCols);
        });
    areOrdinary = kNumbers.holds(largest);
  }
  if (numbers.scaleFormat == numerics::ScaleFormat::E4M3)
    return areOrdinary;
  Lanes largest = emitReduction(
      b, zero, blocks.count, MagnitudeRange::createFirst(b, kPairCols),
      [&](Value block, Lanes ofBlocks) -> Value {
        return emitReduction(
            b, zero, cols.count, ofBlocks,
            [&](Value col, Lanes ofBlock) -> Value {
              return kPairScales.raise(
                  ofBlock, loadLanes(b, colScales, {block, col}, kPairCols));
            },
            kPairCols);
      });
  return areOrdinary & kPairScales.holds(largest);
}

Lanes PanelDecoder::loadRowPair(Value row, Value pair) const {
  return Lanes(b, memref::LoadOp::create(b, rowPairs, ValueRange{row, pair}));
}

Lanes PanelDecoder::loadColPairs(Value tile, Value pair) const {
  return loadLanes(b, colPairs, {tile, pair, getIndex(b, 0)}, kPairCols);
}

Lanes PanelDecoder::loadRow(Value row, Value k) const {
  return Lanes(b, memref::LoadOp::create(b, rowBuffer, ValueRange{row, k}));
}

Lanes PanelDecoder::loadCols(Value tile, Value k) const {
  auto type = VectorType::get({tileCols}, numbers.getStoredType());
  return Lanes(b, vector::LoadOp::create(b, type, colBuffer,
                                         ValueRange{tile, k, getIndex(b, 0)}));
}

} // namespace blockscale::cpu
