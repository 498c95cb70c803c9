//===- Relayout.cpp - Kernels that move scales ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relayout.h"
#include "DeviceEmission/DeviceCode.h"
#include "Emission/Lanes.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static constexpr int64_t kRelayoutThreads = 128;
/// Scales of a thread, neighbours in a row. Tiles of all layouts have runs of
/// as many consecutive bytes.
static constexpr int64_t kRunScales = 4;
static_assert(
    [] {
      for (const numerics::ScaleLayout *layout : numerics::kTiledLayouts)
        if (layout->getTileCols() != kRunScales ||
            layout->getRunBytes() != kRunScales)
          return false;
      return true;
    }(),
    "a row of a tile is one run");

int64_t Relayout::getWidth() const {
  bool isWhole =
      !ShapedType::isDynamic(staticCols) && staticCols % kRunScales == 0;
  return !layout.isLinear() || isWhole ? kRunScales : 1;
}

namespace {

using GetSource = function_ref<Lanes(KernelBuilder &, const RelayoutPlace &)>;

class RelayoutEmitter {
public:
  RelayoutEmitter(KernelBuilder &b, const Relayout &relayout,
                  GetSource getSource)
      : b(b), layout(relayout.layout), width(relayout.getWidth()),
        getSource(getSource), source(relayout.source), result(relayout.result),
        rows(toIndex(b, relayout.rows)), cols(toIndex(b, relayout.cols)),
        matrices(toIndex(b, relayout.matrices)), matrix(emitMatrixNumber(b)) {}

  void emit();

private:
  void emitLinear(Lanes item, Lanes words);
  void emitTile(Lanes item, Lanes words);
  Lanes exists(Lanes row, Lanes col) {
    return isBelow(row, rows) & isBelow(col, cols);
  }
  /// The scale at a row and column of the result, 0 where there is none.
  Lanes emitLoad(Lanes row, Lanes col);

  KernelBuilder &b;
  const numerics::ScaleLayout &layout;
  int64_t width;
  GetSource getSource;
  Value source, result;
  Lanes rows, cols, matrices, matrix;
};

} // namespace

Lanes RelayoutEmitter::emitLoad(Lanes row, Lanes col) {
  return emitIfElseZero(b, exists(row, col),
                        [&] {
                          Lanes at =
                              getSource(b, {matrix, row, col, rows, cols});
                          return SmallVector<Lanes>{
                              emitLoadBits(b, source, b.getI8Type(), at)};
                        })
      .front();
}

void RelayoutEmitter::emitLinear(Lanes item, Lanes words) {
  Lanes row = item / words, first = item % words * kRunScales;
  Lanes rowNumber = matrix * rows + row;
  Type type = b.getIntegerType(width * 8);
  for (int64_t at = 0; at < kRunScales; at += width) {
    Lanes col = first + at;
    emit::emitIf(b, exists(row, col), [&] {
      Lanes packed(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
      for (int64_t i = 0; i < width; ++i) {
        Lanes scale = emitLoad(row, col + i);
        packed =
            width == 1 ? scale : packed | (extend(scale, width * 8) << (8 * i));
      }
      b.store(packed,
              emitAddress(b, result, b.getI8Type(), rowNumber * cols + col),
              width);
    });
  }
}

/// Run `item` of the matrix, which has `words` tiles beside each other.
void RelayoutEmitter::emitTile(Lanes item, Lanes words) {
  int64_t runs = layout.getTileBytes() / kRunScales;
  auto [row, col] = layout.getRun(item, words);
  Lanes tiles = layout.getRowTiles(rows) * words;
  emit::emitIf(b, isBelow(item / runs, tiles), [&, row = row, col = col] {
    Lanes word(b, b.i32(0));
    for (int64_t i = 0; i < kRunScales; ++i) {
      Lanes scale = emitLoad(row, col + i);
      word = word | (extend(scale, 32) << (8 * i));
    }
    Lanes number = matrix * tiles * runs + item;
    b.store(word, emitAddress(b, result, b.getI32Type(), number), kRunScales);
  });
}

void RelayoutEmitter::emit() {
  Lanes item = emitGlobalThreadNumber(b, kRelayoutThreads);
  Lanes words = emit::ceilDiv(b, cols, kRunScales);
  emit::emitIf(b, isBelow(matrix, matrices), [&] {
    if (layout.isLinear())
      emitLinear(item, words);
    else
      emitTile(item, words);
  });
}

void launchRelayout(LaunchSite &site, Relayout relayout, GetSource getSource) {
  ImplicitLocOpBuilder &b = site.b;
  const numerics::ScaleLayout &layout = relayout.layout;
  Lanes padded = layout.isLinear()
                     ? relayout.rows
                     : emit::roundUp(b, relayout.rows, layout.getTileRows());
  Lanes items = padded * emit::ceilDiv(b, relayout.cols, kRunScales);
  site.launch(relayout.name,
              {kRelayoutThreads, getCeilDiv(b, items, kRelayoutThreads),
               relayout.matrices},
              {{relayout.source, 1},
               {relayout.result, relayout.getWidth()},
               {relayout.rows},
               {relayout.cols},
               {relayout.matrices}},
              [&](KernelBuilder &b) {
                RelayoutEmitter(b, relayout, getSource).emit();
              });
}

} // namespace blockscale
