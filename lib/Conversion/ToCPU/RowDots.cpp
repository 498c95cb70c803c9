//===- RowDots.cpp - Products of a row by rows with scales ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowDots.h"
#include "Emission/FloatCodec.h"
#include "blockscale/Conversion/BF16Products.h"
#include "blockscale/Conversion/E2M1.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Codec.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace blockscale::cpu {

/// Lanes of numbers that are multiplied at a time, and words of codes of each.
static constexpr int64_t kLanes = kLanesOfE2M1, kWordsPerLane = 2;

/// Numbers of a row of A are brought into order in squares of this size, which
/// any CPU transposes in registers.
static constexpr int64_t kOrderedSquare = 4;

/// How far ahead codes are asked for: hardware does not look beyond a page.
static constexpr int64_t kBytesAhead = 4096;

/// What numbers of a plain bf16 row in f32 are multiplied by, so that a sum of
/// 16 products by magnified E2M1 codes, at most 16 * 24 * 2^128, stays in
/// range. Their products stay exact: a multiple of 2^-133 becomes one of
/// 2^-143.
static constexpr float kPlainFactor = 0x1p-10f;

/// Scales in this range make a bf16 of any MX element without rounding.
static constexpr MagnitudeRange kScales = {0x1p-100f, 0x1p100f};

/// Whether numbers of a row of `element` have kPlainFactor.
static bool hasPlainFactor(const ProductNumbers &numbers, Type element) {
  return element.isBF16() && !numbers.roundedType;
}

RowDots::RowDots(ImplicitLocOpBuilder &b, const ProductNumbers &numbers,
                 ProductOpInterface op, Value blocks)
    : b(b), numbers(numbers),
      format(blockscale::getElementFormat(getElementTypeOrSelf(op.getB()))),
      plainFactor(hasPlainFactor(numbers, getElementTypeOrSelf(op.getA()))
                      ? kPlainFactor
                      : 1),
      magnification(plainFactor * numerics::getMagnification(format)) {
  Value depth = mul(b, blocks, numbers.blockSize);
  for (Value *buffer : {&numbersOfRow, &orderedNumbers})
    *buffer = allocate(b, {ShapedType::kDynamic}, b.getF32Type(), depth);
  scalesOfRow =
      allocate(b, {ShapedType::kDynamic},
               numbers.scalesSums ? Type(b.getF64Type()) : Type(b.getF32Type()),
               {roundUp(b, blocks, numerics::kTileCols)});
  scales = allocate(b, {kPanelCols, ShapedType::kDynamic}, b.getF32Type(),
                    {roundUp(b, blocks, numerics::kTileCols)});
  if (format == numerics::ElementFormat::E2M1)
    decodeE2M1 = CpuFunction::createDecodeE2M1(b);
  if (RowPairs::suits(numbers, getElementTypeOrSelf(op.getA()), format))
    pairs.emplace(b, format, depth);
}

void RowDots::emitFree() {
  for (Value buffer : {numbersOfRow, orderedNumbers, scalesOfRow, scales})
    memref::DeallocOp::create(b, buffer);
  if (pairs)
    pairs->emitFree();
}

/// `count` elements along the last dimension, as they are.
static Lanes loadVector(ImplicitLocOpBuilder &b, Value memref, ValueRange first,
                        int64_t count) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return Lanes(b, vector::LoadOp::create(b, VectorType::get({count}, element),
                                         memref, first));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static int64_t getCodesPerWord(numerics::ElementFormat format) {
  return 32 / numerics::getFormatInfo(format).storageBits;
}

int64_t RowDots::getCodesPerLane() const {
  return kWordsPerLane * getCodesPerWord(format);
}

/// Blocks of a step.
int64_t RowDots::getStepBlocks() const {
  return kLanes * getCodesPerLane() / numbers.blockSize;
}

/// The blocks of whole steps of so many; the rest is multiplied element by
/// element.
Value RowDots::getWholeBlocks(Value blocks, int64_t stepBlocks) const {
  return mul(b, div(b, blocks, stepBlocks), stepBlocks);
}

/// Whether `count` f32 are in a range.
static Value emitAreIn(ImplicitLocOpBuilder &b, Value memref, ValueRange prefix,
                       Value count, MagnitudeRange range) {
  Value whole = mul(b, div(b, count, kLanes), kLanes);
  Lanes lanes = emitReduction(
      b, getIndex(b, 0), whole, MagnitudeRange::createFirst(b, kLanes),
      [&](Value i, Lanes farthest) -> Value {
        return range.raise(farthest,
                           loadLanes(b, memref, append(prefix, i), kLanes));
      },
      kLanes);
  Lanes farthest = emitReduction(
      b, whole, count, emitMaximum(lanes),
      [&](Value i, Lanes farthest) -> Value {
        return range.raise(farthest, loadBits(b, memref, append(prefix, i)));
      });
  return range.holds(farthest);
}

//===----------------------------------------------------------------------===//
// The row of A
//===----------------------------------------------------------------------===//

/// The elements [k, k + kLanes) of the row, all of one block.
Lanes RowDots::emitRowElements(const MatmulOperand &operand, Value row,
                               Value firstCol, Value k) const {
  Indices dataRow = append(operand.batch, row);
  Value col = add(b, firstCol, k);
  if (!operand.scales) {
    Lanes values = emitDecodeFloat(
        operand.element,
        loadLanes(b, operand.data, append(dataRow, col), kLanes));
    return hasPlainFactor(numbers, operand.element) ? values * kPlainFactor
                                                    : values;
  }
  Lanes values = emitLoadElements(b, operand.data,
                                  blockscale::getElementFormat(operand.element),
                                  dataRow, col, kLanes);
  if (numbers.scalesSums)
    return values;
  Lanes scale = toF32(loadBits(b, scalesOfRow, {div(b, k, numbers.blockSize)}));
  return values * broadcast(scale, values);
}

/// Copies the elements of a step, those that are multiplied by the first codes
/// of lanes first, then those for the second codes, and so on: transposes the
/// matrix whose rows are what the codes of a lane are multiplied by.
void RowDots::emitOrder(Value block) {
  Value zero = getIndex(b, 0);
  Value first = mul(b, block, numbers.blockSize);
  auto at = [&](Value row, int64_t i, int64_t rowLength, Value col) {
    Value begin = mul(b, add(b, row, getIndex(b, i)), rowLength);
    return add(b, first, add(b, begin, col));
  };
  auto emitSquare = [&](Value lane, Value code) {
    SmallVector<Lanes> rows;
    for (int64_t i = 0; i < kOrderedSquare; ++i)
      rows.push_back(loadVector(b, numbersOfRow,
                                {at(lane, i, getCodesPerLane(), code)},
                                kOrderedSquare));
    for (auto [i, col] : llvm::enumerate(transposeLanes(rows)))
      storeLanes(toBits(col), orderedNumbers, {at(code, i, kLanes, lane)});
  };
  emitLoop(
      b, zero, getIndex(b, getCodesPerLane()),
      [&](Value code) {
        emitLoop(
            b, zero, getIndex(b, kLanes),
            [&](Value lane) { emitSquare(lane, code); }, kOrderedSquare);
      },
      kOrderedSquare);
}

void RowDots::emitRow(const MatmulOperand &operand, Value row,
                      const Span &blocks) {
  if (operand.scales)
    emitDecodeScaleRow(
        b, *operand.scales, numbers.scaleFormat, row, blocks.first,
        blocks.count, {scalesOfRow, {}}, [&](Lanes values) {
          return numbers.scalesSums ? extendToF64(values) : values;
        });
  Value depth = mul(b, blocks.count, numbers.blockSize);
  Value firstCol = mul(b, blocks.first, numbers.blockSize);
  emitLoop(
      b, getIndex(b, 0), depth,
      [&](Value k) {
        storeLanes(toBits(emitRowElements(operand, row, firstCol, k)),
                   numbersOfRow, k);
      },
      kLanes);
  if (pairs || (numbers.roundedType && !numbers.scalesElements))
    isOrdinaryRow = emitAreIn(b, numbersOfRow, {}, depth, kNumbers);
  Value zero = getIndex(b, 0);
  auto emitOrdered = [&] {
    emitLoop(
        b, zero, getWholeBlocks(blocks.count, getStepBlocks()),
        [&](Value block) { emitOrder(block); }, getStepBlocks());
  };
  if (!pairs)
    return emitOrdered();
  isInPairs = arith::AndIOp::create(b, pairs->emitHasProducts(), isOrdinaryRow);
  int64_t step = pairs->getStepElements();
  auto emitPaired = [&] {
    emitLoop(
        b, zero, mul(b, div(b, depth, step), step),
        [&](Value first) { pairs->emitOrder(numbersOfRow, first); }, step);
  };
  emitIf(b, isInPairs, emitPaired, emitOrdered);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The factors of `count` blocks, in f64.
Lanes RowDots::emitFactors(Value block, int64_t count) const {
  Lanes factors =
      extendToF64(loadVector(b, scales, {indexOfScales, block}, count));
  return numbers.scalesSums ? loadVector(b, scalesOfRow, block, count) * factors
                            : factors;
}

/// `count` bytes of codes in a row of B, from `block` of `blocks` on. Asks for
/// later ones.
Lanes RowDots::emitLoadCodes(const MatmulOperand &operand, Value row,
                             const Span &blocks, Value block,
                             int64_t count) const {
  int64_t bits = numerics::getFormatInfo(format).storageBits;
  Value col = mul(b, add(b, blocks.first, block), numbers.blockSize);
  Indices first = append(operand.batch, {row, div(b, mul(b, col, bits), 8)});
  emitPrefetch(b, operand.data, offsetBy(b, first, getIndex(b, kBytesAhead)),
               count);
  return loadLanes(b, operand.data, first, count);
}

/// The elements of a step in a row of B, magnified: of each code of a lane, a
/// vector of the lanes.
SmallVector<Lanes> RowDots::emitDecode(const MatmulOperand &operand, Value row,
                                       const Span &blocks, Value block) const {
  int64_t bits = numerics::getFormatInfo(format).storageBits;
  Lanes words = bitcastLanes(
      emitLoadCodes(operand, row, blocks, block, kLanes * kWordsPerLane * 4),
      b.getI32Type());
  SmallVector<Lanes> elements;
  for (Lanes word : splitByResidue(words, kWordsPerLane))
    for (int64_t bit = 0; bit < 32; bit += bits)
      elements.push_back(decodeE2M1
                             ? decodeE2M1->emitCall(b, Value(word >> bit))
                             : numerics::decodeMagnified(format, word, bit));
  return elements;
}

/// `sum` and the products of a step, divided by `magnification`.
Lanes RowDots::emitAddStep(ArrayRef<Lanes> elements, Value block,
                           const Lanes &sum) const {
  Value first = mul(b, block, numbers.blockSize);
  auto load = [&](int64_t code) {
    return loadVector(b, orderedNumbers,
                      {add(b, first, getIndex(b, code * kLanes))}, kLanes);
  };
  Lanes partial = load(0) * elements.front();
  for (auto [code, element] : llvm::drop_begin(llvm::enumerate(elements)))
    partial = addExactProduct(load(code), element, partial);
  Lanes factors = repeatLanes(emitFactors(block, getStepBlocks()),
                              kLanes / getStepBlocks());
  return addExactProduct(extendToF64(partial), factors, sum);
}

/// `sum` and the products of the elements [k, k + kLanes), all of one block.
Lanes RowDots::emitAddElements(const MatmulOperand &operand, Value row,
                               Value firstCol, Value k, bool rounds,
                               const Lanes &sum) const {
  Lanes left = loadVector(b, numbersOfRow, k, kLanes);
  Lanes elements =
      emitLoadElements(b, operand.data, format, append(operand.batch, row),
                       add(b, firstCol, k), kLanes);
  Value block = div(b, k, numbers.blockSize);
  if (rounds) {
    Lanes scale = operand.getBlockFactors(
        toF32(loadBits(b, scales, {indexOfScales, block})));
    Lanes rounded = numbers.round(elements * broadcast(scale, elements));
    return addExactProduct(extendToF64(left), extendToF64(rounded), sum);
  }
  Lanes factor = getFirstLane(emitFactors(block, 1)) * (1 / plainFactor);
  Lanes products = extendToF64(left * elements);
  return addExactProduct(products, broadcast(factor, products), sum);
}

static Lanes emitSumOfLanes(Lanes x) {
  return reduceLanes(x, [](Lanes left, Lanes right) { return left + right; });
}

/// The sum of products. With `rounds`, elements are scaled and rounded.
Lanes RowDots::emitSum(const MatmulOperand &operand, Value row,
                       const Span &blocks, bool rounds) {
  auto type = VectorType::get({kLanes}, b.getF64Type());
  Value sum = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value whole = getIndex(b, 0);
  if (!rounds) {
    whole = getWholeBlocks(blocks.count, getStepBlocks());
    sum = emitReduction(
        b, getIndex(b, 0), whole, sum,
        [&](Value block, Value sum) -> Value {
          return emitAddStep(emitDecode(operand, row, blocks, block), block,
                             Lanes(b, sum));
        },
        getStepBlocks());
    sum = Lanes(b, sum) * (1 / magnification);
  }
  return emitRest(operand, row, blocks, whole, rounds, sum);
}

/// The sum of all lanes of `sum` and of the products from `firstBlock` on.
Lanes RowDots::emitRest(const MatmulOperand &operand, Value row,
                        const Span &blocks, Value firstBlock, bool rounds,
                        Value sum) {
  Value firstCol = mul(b, blocks.first, numbers.blockSize);
  sum = emitReduction(
      b, mul(b, firstBlock, numbers.blockSize),
      mul(b, blocks.count, numbers.blockSize), sum,
      [&](Value k, Value sum) -> Value {
        return emitAddElements(operand, row, firstCol, k, rounds,
                               Lanes(b, sum));
      },
      kLanes);
  return emitSumOfLanes(Lanes(b, sum));
}

/// The sum of products by pairs.
Lanes RowDots::emitPairs(const MatmulOperand &operand, Value row,
                         const Span &blocks) {
  int64_t stepBlocks = pairs->getStepElements() / numbers.blockSize;
  Value whole = getWholeBlocks(blocks.count, stepBlocks);
  Lanes sum(b,
            emitReduction(
                b, getIndex(b, 0), whole, pairs->createZeroSum(),
                [&](Value block, Value sum) -> Value {
                  Lanes bytes =
                      emitLoadCodes(operand, row, blocks, block, kBF16Bytes);
                  return pairs->emitAddStep(
                      bytes, mul(b, block, numbers.blockSize),
                      loadVector(b, scales, {indexOfScales, block}, stepBlocks),
                      Lanes(b, sum));
                },
                stepBlocks));
  return emitRest(operand, row, blocks, whole, /*rounds=*/false,
                  extendToF64(sum) * (1 / plainFactor));
}

void RowDots::emitScales(const MatmulOperand &operand, const Span &rows,
                         const Span &blocks) {
  static_assert(kPanelCols == numerics::kTileRows,
                "columns of a panel begin a tile of scales");
  emitDecodeScaleRows(b, *operand.scales, numbers.scaleFormat, rows.first,
                      rows.count, blocks.first, blocks.count, scales);
}

/// Calls `use` for what the scales of the row at hand ask: whether elements are
/// scaled and rounded.
void RowDots::emitDotOfSums(const Span &blocks, function_ref<void(bool)> use) {
  if (!numbers.roundedType || numbers.scalesElements)
    return use(numbers.scalesElements);
  Value isOrdinary = emitAreIn(b, scales, indexOfScales, blocks.count, kScales);
  isOrdinary = arith::AndIOp::create(b, isOrdinary, isOrdinaryRow);
  emitIf(b, isOrdinary, [&] { use(false); }, [&] { use(true); });
}

void RowDots::emitDot(const MatmulOperand &operand, Value row, Value index,
                      const Span &blocks, function_ref<void(Lanes)> use) {
  indexOfScales = index;
  auto emitSums = [&] {
    emitDotOfSums(blocks, [&](bool rounds) {
      use(emitSum(operand, row, blocks, rounds));
    });
  };
  if (!pairs)
    return emitSums();
  auto emitByPairs = [&] { use(emitPairs(operand, row, blocks)); };
  // A row in the order of pairs is multiplied element by element where scales
  // are too large or too small.
  auto emitOfPairs = [&] {
    if (!numbers.roundedType)
      return emitByPairs();
    emitIf(b, emitAreIn(b, scales, indexOfScales, blocks.count, kPairScales),
           emitByPairs,
           [&] { use(emitSum(operand, row, blocks, /*rounds=*/true)); });
  };
  emitIf(b, isInPairs, emitOfPairs, emitSums);
}

} // namespace blockscale::cpu
