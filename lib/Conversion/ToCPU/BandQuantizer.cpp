//===- BandQuantizer.cpp - Quantization of a row of blocks ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BandQuantizer.h"
#include "Emission/FloatCodec.h"
#include "Panel.h"
#include "blockscale/Numerics/FourOverSix.h"
#include "blockscale/Numerics/Philox.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

static constexpr int64_t kColsPerStep = kBandColsPerStep;

/// Elements whose magnitudes are compared at a time.
static constexpr int64_t kElementsPerLoad = 32;

/// How many rows ahead elements are asked for: hardware does not know that the
/// row ends with the band.
static constexpr int64_t kRowsAhead = 4;

BandQuantizer::BandQuantizer(ImplicitLocOpBuilder &b, const BandForm &form,
                             Value x, Value rng)
    : b(b), form(form), x(x) {
  auto type = cast<MemRefType>(x.getType());
  element = getWorkingType(type.getElementType());
  if (!form.readsInPlace)
    elements = allocate(b, {form.getRows(), kQuantizePanelCols}, element);
  amaxes = allocate(b, {kQuantizePanelCols},
                    b.getIntegerType(element.getIntOrFloatBitWidth()));
  factors = allocate(b, {2, kQuantizePanelCols / 2}, b.getF32Type());
  if (form.format.getCodesPerByte() == 1)
    nanCodes = allocate(b, {kQuantizePanelCols}, b.getI8Type());
  if (rng)
    randomBytes.emplace(
        b, rng, getDim(b, x, type.getRank() - 1), form.getRows(),
        getIndex(b, kQuantizePanelCols + numerics::kRandomGroup));
}

void BandQuantizer::emitFree() {
  for (Value buffer : {elements, amaxes, factors, nanCodes})
    if (buffer)
      memref::DeallocOp::create(b, buffer);
  if (randomBytes)
    randomBytes->emitFree();
}

/// for col in [0, cols) step kColsPerStep, the last step beyond `cols`.
static void emitColSteps(ImplicitLocOpBuilder &b, Value cols, LoopBody body) {
  emitLoop(b, getIndex(b, 0), cols, body, kColsPerStep);
}

//===----------------------------------------------------------------------===//
// Elements and amaxes
//===----------------------------------------------------------------------===//

void BandQuantizer::emitLoad(ValueRange first, Value rows, Value cols) {
  origin = Indices(first);
  emitColSteps(b, cols, [&](Value col) {
    Lanes amax = loadLanes(b, amaxes, col, kColsPerStep);
    storeLanes(amax.like(0), amaxes, col);
  });
  emitLoop(b, getIndex(b, 0), rows, [&](Value row) {
    emitUnitSteps(b, cols, kElementsPerLoad, [&](Value col, int64_t count) {
      emitPrefetch(
          b, x, offsetBy(b, first, {add(b, row, getIndex(b, kRowsAhead)), col}),
          count);
      Lanes bits = loadElements(b, x, offsetBy(b, first, {row, col}), count);
      if (elements)
        storeLanes(bits, elements, {row, col});
      Lanes amax = loadLanes(b, amaxes, col, count);
      storeLanes(maxSigned(amax, emitMagnitudeBits(bits)), amaxes, col);
    });
  });
  if (randomBytes)
    emitDraw(first, rows, cols);
}

/// The elements of a step of a row.
Lanes BandQuantizer::emitLoadStep(Value row, Value col) {
  if (elements)
    return loadLanes(b, elements, {row, col}, kColsPerStep);
  return loadElements(b, x, offsetBy(b, origin, {row, col}), kColsPerStep);
}

/// Whole groups of random bits, the first of which may begin before the band.
void BandQuantizer::emitDraw(ValueRange first, Value rows, Value cols) {
  firstRandomCol = rem(b, first.back(), numerics::kRandomGroup);
  Value firstCol = sub(b, first.back(), firstRandomCol);
  ValueRange firstRow = first.drop_back();
  Value position =
      linearize(b, firstRow, getLeadingSizes(b, x, firstRow.size()));
  emitLoop(b, getIndex(b, 0), rows, [&](Value row) {
    randomBytes->emitDraw(row, add(b, position, row), firstCol,
                          add(b, firstRandomCol, cols));
  });
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The scales of the columns of a step, which are blocks, under a 4over6
/// recipe.
BlockScales BandQuantizer::emitChosenScales(Value col, Value rows, Lanes amax,
                                            const GlobalFactors &global) {
  numerics::Recipe recipe = form.format.recipe;
  auto candidates = numerics::getScaleCandidates(recipe, amax, global);
  Value none = amax.like(0.0f);
  SmallVector<Value> errors = emitReduction(
      b, getIndex(b, 0), rows, ValueRange{none, none},
      [&](Value row, ValueRange sums) -> SmallVector<Value> {
        Lanes x = emitDecodeFloat(element, emitLoadStep(row, col));
        auto addError = [&](Value sum,
                            const numerics::ScaleCandidate<Lanes> &candidate) {
          return Lanes(b, sum) +
                 numerics::getElementError(recipe, x, candidate, global);
        };
        return {addError(sums[0], candidates.six),
                addError(sums[1], candidates.four)};
      });
  Lanes bytes = numerics::chooseCandidate(candidates, Lanes(b, errors[0]),
                                          Lanes(b, errors[1]));
  return {bytes, numerics::getFactorOfByte(recipe, bytes, global)};
}

/// The scales of the blocks of a step.
BlockScales BandQuantizer::emitBlocks(Value col, Value rows,
                                      const GlobalFactors &global) {
  Lanes magnitudes = loadLanes(b, amaxes, col, kColsPerStep);
  if (form.blockCols != 1)
    return emitBlockScales(
        form.format, global,
        emitBlockAmax(splitPairs(magnitudes), kColsPerStep / form.blockCols));
  Lanes amax = emitDecodeFloat(element, magnitudes);
  return numerics::isFourOverSix(form.format.recipe)
             ? emitChosenScales(col, rows, amax, global)
             : emitBlockScales(form.format, global, amax);
}

void BandQuantizer::emitScales(const GlobalFactors &global, Value rows,
                               Value cols, const BufferRow &scales) {
  emitColSteps(b, cols, [&](Value col) {
    BlockScales blocks = emitBlocks(col, rows, global);
    Lanes bytes = truncate(blocks.bytes, 8);
    if (form.scaleCols < form.blockCols)
      bytes = repeatLanes(bytes, form.blockCols);
    storeLanes(bytes, scales.buffer, {scales.row, div(b, col, form.scaleCols)});
    emitFactors(col, blocks);
  });
}

/// The place of the factors of a step in their buffer.
static Indices getFactorIndices(ImplicitLocOpBuilder &b, bool isOdd,
                                Value col) {
  return {getIndex(b, isOdd), div(b, col, 2)};
}

void BandQuantizer::emitNanCodes(Value col, Lanes factor) {
  Lanes none(b, arith::ConstantOp::create(
                    b, b.getZeroAttr(factor.getTypeWith(b.getI8Type()))));
  Lanes nan = none.like(numerics::getFormatInfo(form.format.format).nanCode);
  storeLanes(repeatLanes(select(isNan(factor), nan, none), form.blockCols),
             nanCodes, col);
}

void BandQuantizer::emitFactors(Value col, const BlockScales &blocks) {
  if (nanCodes)
    emitNanCodes(col, blocks.factor);
  auto store = [&](Lanes even, Lanes odd) {
    storeLanes(toBits(even), factors, getFactorIndices(b, false, col));
    storeLanes(toBits(odd), factors, getFactorIndices(b, true, col));
  };
  if (form.blockCols == 1) {
    auto [even, odd] = deinterleave(blocks.factor);
    return store(even, odd);
  }
  Lanes factor = repeatLanes(blocks.factor, form.blockCols / 2);
  store(factor, factor);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

Lanes BandQuantizer::loadFactor(bool isOdd, Value col) {
  return toF32(
      loadLanes(b, factors, getFactorIndices(b, isOdd, col), kColsPerStep / 2));
}

/// Codes of E2M1.
ElementPairs BandQuantizer::emitEncodePairs(Value row, Value col) {
  ElementPairs x = splitPairs(emitLoadStep(row, col));
  std::optional<Lanes> randomEven, randomOdd;
  if (randomBytes)
    std::tie(randomEven, randomOdd) = deinterleave(
        randomBytes->load(row, add(b, firstRandomCol, col), kColsPerStep));
  auto encode = [&](Lanes bits, bool isOdd) {
    return emitEncodeElements(form.format, bits, loadFactor(isOdd, col),
                              isOdd ? randomOdd : randomEven);
  };
  return {encode(x.even, false), encode(x.odd, true)};
}

/// Codes of other formats as memory holds them.
Lanes BandQuantizer::emitEncodeBytes(Value row, Value col) {
  Lanes bits = emitLoadStep(row, col);
  ElementPairs x = splitPairs(bits);
  auto encode = [&](Lanes elements, bool isOdd) {
    return emitEncodeMagnitudes(form.format, elements, loadFactor(isOdd, col));
  };
  Lanes even = encode(x.even, false), odd = encode(x.odd, true);
  // Undefined bits of a column must not reach its neighbour of another block.
  if (form.blockCols == 1)
    even = even & 0xFF;
  Lanes codes = packPairs(form.format, even, odd);
  Lanes nan = loadLanes(b, nanCodes, col, kColsPerStep);
  return select(compare(arith::CmpIPredicate::eq, nan, 0),
                addSigns(form.format, codes, bits), nan);
}

void BandQuantizer::emitCodes(Value row, Value cols, const BufferRow &codes) {
  auto encode = [&](Value col) {
    if (nanCodes)
      return emitEncodeBytes(row, col);
    ElementPairs upper = emitEncodePairs(row, col);
    return form.pairsRows
               ? packRows(upper,
                          emitEncodePairs(add(b, row, getIndex(b, 1)), col))
               : packPairs(form.format, upper.even, upper.odd);
  };
  emitColSteps(b, cols, [&](Value col) {
    storeLanes(encode(col), codes.buffer,
               {codes.row, div(b, col, form.getByteCols())});
  });
}

} // namespace blockscale::cpu
