//===- BandQuantizer.cpp - Quantization of a row of blocks ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BandQuantizer.h"
#include "FourOverSixEmitter.h"
#include "Patch.h"
#include "blockscale/Numerics/Philox.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

/// Columns of a step: two blocks of 32, whose factors stay in registers.
static constexpr int64_t kColsPerStep = 64;

/// Elements that are copied at a time.
static constexpr int64_t kElementsPerCopy = 32;

BandQuantizer::BandQuantizer(ImplicitLocOpBuilder &b, const BandForm &form,
                             Value x, Value rng)
    : b(b), form(form), x(x) {
  auto type = cast<MemRefType>(x.getType());
  buffer = allocate(b, {form.getRows(), kPatchCols}, type.getElementType());
  if (rng)
    randomBytes.emplace(b, rng, getDim(b, x, type.getRank() - 1),
                        form.getRows(),
                        getIndex(b, kPatchCols + numerics::kRandomGroup));
}

void BandQuantizer::emitFree() {
  memref::DeallocOp::create(b, buffer);
  if (randomBytes)
    randomBytes->emitFree();
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void BandQuantizer::emitLoad(ValueRange first, Value rows, Value cols) {
  Value zero = getIndex(b, 0), height = getIndex(b, form.getRows());
  auto clear = [&](Value firstRow, Value firstCol) {
    emitLoop(b, firstRow, height, [&](Value row) {
      emitLoop(
          b, firstCol, getIndex(b, kPatchCols),
          [&](Value col) {
            Lanes lanes = loadLanes(b, buffer, {row, col}, kElementsPerCopy);
            storeLanes(lanes.like(0), buffer, {row, col});
          },
          kElementsPerCopy);
    });
  };
  emitIfLess(b, rows, form.getRows(), [&] { clear(rows, zero); });
  emitIfLess(b, cols, kPatchCols, [&] {
    clear(zero, mul(b, div(b, cols, kElementsPerCopy), kElementsPerCopy));
  });
  emitLoop(b, zero, rows, [&](Value row) {
    Indices source(first);
    source.end()[-2] = add(b, source.end()[-2], row);
    emitUnitSteps(b, cols, kElementsPerCopy, [&](Value col, int64_t count) {
      Indices from = source;
      from.back() = add(b, from.back(), col);
      storeLanes(loadLanes(b, x, from, count), buffer, {row, col});
    });
  });
  if (randomBytes)
    emitDraw(first, rows, cols);
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

/// Magnitude bits of the largest element of each column of a step. As signed
/// numbers, which targets without unsigned maxima have, they are ordered as the
/// magnitudes, NaN on top.
Lanes BandQuantizer::emitColumnMagnitudes(Value col) {
  auto load = [&](Value row) {
    Lanes x = loadLanes(b, buffer, {row, col}, kColsPerStep);
    unsigned width = x.getElementType().getIntOrFloatBitWidth();
    return x & ((uint64_t(1) << (width - 1)) - 1);
  };
  Lanes first = load(getIndex(b, 0));
  Value amax = emitReduction(b, getIndex(b, 1), getIndex(b, form.getRows()),
                             first, [&](Value row, Value carried) -> Value {
                               return maxSigned(Lanes(b, carried), load(row));
                             });
  return Lanes(b, amax);
}

/// f32 lanes of magnitude bits, in their order.
static Lanes toFloats(Lanes bits) {
  if (bits.getElementType().isInteger(16))
    bits = extend(bits, 32) << 16;
  return toF32(bits);
}

/// The scales of the columns of a step, which are blocks, under a 4over6
/// recipe.
BlockScales BandQuantizer::emitChosenScales(Value col, Lanes amax,
                                            const GlobalFactors &global) {
  numerics::Recipe recipe = form.format.recipe;
  ScaleCandidates candidates = emitScaleCandidates(recipe, amax, global);
  Value none = amax.like(0.0f);
  SmallVector<Value> errors = emitReduction(
      b, getIndex(b, 0), getIndex(b, form.getRows()), ValueRange{none, none},
      [&](Value row, ValueRange sums) -> SmallVector<Value> {
        Lanes x = toFloats(loadLanes(b, buffer, {row, col}, kColsPerStep));
        auto addError = [&](Value sum, const ScaleCandidate &candidate) {
          return Lanes(b, sum) + emitElementError(recipe, x, candidate, global);
        };
        return {addError(sums[0], candidates.six),
                addError(sums[1], candidates.four)};
      });
  Lanes bytes =
      emitChooseScale(candidates, Lanes(b, errors[0]), Lanes(b, errors[1]));
  return {bytes, emitElementScaling(recipe, bytes, global)};
}

/// The scales of the blocks of a step.
BlockScales BandQuantizer::emitScales(Value col, const GlobalFactors &global) {
  Lanes magnitudes = emitColumnMagnitudes(col);
  if (form.blockCols != 1)
    return emitBlockScales(
        form.format, global,
        emitBlockAmax(splitPairs(magnitudes), kColsPerStep / form.blockCols));
  Lanes amax = toFloats(magnitudes);
  return numerics::isFourOverSix(form.format.recipe)
             ? emitChosenScales(col, amax, global)
             : emitBlockScales(form.format, global, amax);
}

void BandQuantizer::emitQuantize(const GlobalFactors &global, Value cols,
                                 const BufferRow &codes,
                                 const BufferRow &scales) {
  auto emitStep = [&](Value col) {
    BlockScales blocks = emitScales(col, global);
    Lanes bytes = truncate(blocks.bytes, 8);
    if (form.scaleCols < form.blockCols)
      bytes = repeatLanes(bytes, form.blockCols);
    storeLanes(bytes, scales.buffer, {scales.row, div(b, col, form.scaleCols)});
    if (form.blockCols == 1) {
      auto [even, odd] = deinterleave(blocks.scaling.factor);
      bool divide = blocks.scaling.divide;
      emitCodes(col, {even, divide}, {odd, divide}, codes);
    } else {
      ElementScaling scaling =
          repeatScaling(blocks.scaling, form.blockCols / 2);
      emitCodes(col, scaling, scaling, codes);
    }
  };
  emitLoop(b, getIndex(b, 0), cols, emitStep, kColsPerStep);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

void BandQuantizer::emitCodes(Value col, const ElementScaling &even,
                              const ElementScaling &odd,
                              const BufferRow &codes) {
  auto encode = [&](Value row) -> ElementPairs {
    ElementPairs x = splitPairs(loadLanes(b, buffer, {row, col}, kColsPerStep));
    std::optional<Lanes> randomEven, randomOdd;
    if (randomBytes)
      std::tie(randomEven, randomOdd) = deinterleave(
          randomBytes->load(row, add(b, firstRandomCol, col), kColsPerStep));
    return {emitEncodeElements(form.format, x.even, even, randomEven),
            emitEncodeElements(form.format, x.odd, odd, randomOdd)};
  };
  auto emitRow = [&](Value row) {
    ElementPairs upper = encode(row);
    Lanes bytes = form.pairsRows
                      ? packRows(upper, encode(add(b, row, getIndex(b, 1))))
                      : packPairs(form.format, upper.even, upper.odd);
    storeLanes(bytes, codes.buffer,
               {add(b, codes.row, div(b, row, form.getByteRows())),
                div(b, col, form.getByteCols())});
  };
  emitLoop(b, getIndex(b, 0), getIndex(b, form.getRows()), emitRow,
           form.getByteRows());
}

} // namespace blockscale::cpu
