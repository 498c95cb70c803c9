//===- BlockDecoder.cpp - Code that reads data and scales -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecoder.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;

namespace blockscale::cpu {

Lanes emitLoadElements(ImplicitLocOpBuilder &b, Value data,
                       numerics::ElementFormat format, ValueRange row,
                       Value col, int64_t count) {
  if (!isPacked(format))
    return numerics::decodeBits(
        format, extend(loadLanes(b, data, append(row, col), count), 32));
  Lanes bytes = loadLanes(b, data, append(row, div(b, col, 2)), count / 2);
  Lanes codes = interleave(bytes & 0xF, bytes >> 4);
  return numerics::decodeBits(format, extend(codes, 32));
}

Lanes emitLoadElement(ImplicitLocOpBuilder &b, Value data,
                      numerics::ElementFormat format, ValueRange row,
                      Value col) {
  if (!isPacked(format))
    return numerics::decodeBits(
        format, extend(loadBits(b, data, append(row, col)), 32));
  Lanes byte = extend(loadBits(b, data, append(row, div(b, col, 2))), 32);
  Lanes isOdd = compare(arith::CmpIPredicate::ne, rem(b, col, 2), 0);
  return numerics::decodeBits(format, select(isOdd, byte >> 4, byte & 0xF));
}

/// Scales of a linear row that are decoded in a step.
static constexpr int64_t kScalesPerStep = 16;

Value allocateScaleRow(ImplicitLocOpBuilder &b, Value count) {
  return allocate(b, {ShapedType::kDynamic}, b.getF32Type(),
                  {roundUp(b, count, numerics::kTileCols)});
}

/// The values of scale bytes, as decodeScaleBits gives them, in fewer
/// operations: magnified numbers are normal f32, and so are the values.
static Lanes decodeScales(numerics::ScaleFormat format, Lanes bytes) {
  if (format == numerics::ScaleFormat::E8M0)
    return numerics::decodeScaleBits(format, bytes);
  constexpr auto element = numerics::ElementFormat::E4M3;
  return numerics::decodeMagnified(element, bytes, 0) *
         (1 / numerics::getMagnification(element));
}

void emitDecodeScaleRow(ImplicitLocOpBuilder &b, const ScaleMatrix &scales,
                        numerics::ScaleFormat format, Value row, Value first,
                        Value count, const DecodedScaleRow &values,
                        function_ref<Lanes(Lanes)> transform) {
  auto emitStep = [&](Value i, int64_t lanes) {
    Indices indices = scales.getIndices(row, add(b, first, i));
    Lanes bytes = loadLanes(b, scales.getMemRef(), indices, lanes);
    Lanes decoded = decodeScales(format, extend(bytes, 32));
    storeLanes(toBits(transform(decoded)), values.memref,
               append(values.prefix, i));
  };
  if (scales.isLinear())
    return emitUnitSteps(b, count, kScalesPerStep, emitStep);
  int64_t step = scales.beginsTile(first) ? numerics::kTileCols : 1;
  emitLoop(b, getIndex(b, 0), count, [&](Value i) { emitStep(i, step); }, step);
}

/// Decodes the scales of a tile line by line: those of four rows, each 32
/// behind the last one, are next to each other. Rows behind the last one are
/// decoded with it, and are padding.
static void emitDecodeScaleTiles(ImplicitLocOpBuilder &b,
                                 const ScaleMatrix &scales,
                                 numerics::ScaleFormat format, Value firstRow,
                                 Value rows, Value first, Value count,
                                 Value values) {
  auto emitLine = [&](Value col, Value line) {
    // Indices of the tile's first scale; `line` and `i` are those within it.
    Indices indices = scales.getIndices(firstRow, add(b, first, col));
    indices.end()[-3] = line;
    SmallVector<Lanes> bytes;
    for (int64_t i = 0; i < numerics::kTileLineRows; ++i) {
      indices.end()[-2] = getIndex(b, i);
      bytes.push_back(
          loadLanes(b, scales.getMemRef(), indices, numerics::kTileCols));
    }
    Lanes decoded = decodeScales(format, extend(concatenate(bytes), 32));
    for (int64_t i = 0; i < numerics::kTileLineRows; ++i) {
      Value row = add(b, line, getIndex(b, i * numerics::kTileRowGroup));
      storeLanes(
          toBits(slice(decoded, i * numerics::kTileCols, numerics::kTileCols)),
          values, {row, col});
    }
  };
  Value zero = getIndex(b, 0);
  Value lines = min(b, rows, getIndex(b, numerics::kTileRowGroup));
  // Lines are read across tiles; ask for them in the order of memory.
  emitLoop(
      b, zero, count,
      [&](Value col) {
        Indices tile = scales.getIndices(firstRow, add(b, first, col));
        emitPrefetch(b, scales.getMemRef(), tile,
                     numerics::kTileRows * numerics::kTileCols);
      },
      numerics::kTileCols);
  emitLoop(b, zero, lines, [&](Value line) {
    emitLoop(
        b, zero, count, [&](Value col) { emitLine(col, line); },
        numerics::kTileCols);
  });
}

void emitDecodeScaleRows(ImplicitLocOpBuilder &b, const ScaleMatrix &scales,
                         numerics::ScaleFormat format, Value firstRow,
                         Value rows, Value first, Value count, Value values) {
  if (scales.beginsTile(first))
    return emitDecodeScaleTiles(b, scales, format, firstRow, rows, first, count,
                                values);
  emitLoop(b, getIndex(b, 0), rows, [&](Value i) {
    emitDecodeScaleRow(b, scales, format, add(b, firstRow, i), first, count,
                       {values, {i}}, [](Lanes decoded) { return decoded; });
  });
}

} // namespace blockscale::cpu
