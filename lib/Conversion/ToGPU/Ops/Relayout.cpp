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

using emit::add;
using emit::getIndex;
using emit::Lanes;
using emit::mul;

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

using GetSource = function_ref<Value(KernelBuilder &, const RelayoutPlace &)>;

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
  void emitLinear(Value item, Value words);
  void emitTile(Value item, Value words);
  /// The scale at a row and column of the result, 0 where there is none.
  Lanes emitLoad(Value row, Value col);

  KernelBuilder &b;
  const numerics::ScaleLayout &layout;
  int64_t width;
  GetSource getSource;
  Value source, result, rows, cols, matrices, matrix;
};

} // namespace

Lanes RelayoutEmitter::emitLoad(Value row, Value col) {
  Value exists = isBelow(b, row, rows) & isBelow(b, col, cols);
  return emitIfElseZero(b, exists,
                        [&] {
                          Value at =
                              getSource(b, {matrix, row, col, rows, cols});
                          return SmallVector<Lanes>{
                              emitLoadBits(b, source, b.getI8Type(), at)};
                        })
      .front();
}

void RelayoutEmitter::emitLinear(Value item, Value words) {
  Lanes number(b, item), row = number / words;
  Lanes first = number % words * kRunScales;
  Value rowNumber = add(b, mul(b, matrix, rows), row);
  Type type = b.getIntegerType(width * 8);
  for (int64_t at = 0; at < kRunScales; at += width) {
    Value col = add(b, first, getIndex(b, at));
    Value exists = isBelow(b, row, rows) & isBelow(b, col, cols);
    emit::emitIf(b, exists, [&] {
      Lanes packed(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
      for (int64_t i = 0; i < width; ++i) {
        Lanes scale = emitLoad(row, add(b, col, getIndex(b, i)));
        packed =
            width == 1 ? scale : packed | (extend(scale, width * 8) << (8 * i));
      }
      b.store(packed,
              emitAddress(b, result, b.getI8Type(),
                          add(b, mul(b, rowNumber, cols), col)),
              width);
    });
  }
}

/// Run `item` of the matrix, which has `words` tiles beside each other.
void RelayoutEmitter::emitTile(Value item, Value words) {
  int64_t runs = layout.getTileBytes() / kRunScales;
  Value tile = emit::div(b, item, runs);
  auto [row, col] = layout.getRun(Lanes(b, item), Lanes(b, words));
  Value tiles = mul(b, emit::ceilDiv(b, rows, layout.getTileRows()), words);
  emit::emitIf(b, isBelow(b, tile, tiles), [&, row = row, col = col] {
    Lanes word(b, b.i32(0));
    for (int64_t i = 0; i < kRunScales; ++i) {
      Lanes scale = emitLoad(row, col + i);
      word = word | (extend(scale, 32) << (8 * i));
    }
    Value number = add(b, mul(b, mul(b, matrix, tiles), runs), item);
    b.store(word, emitAddress(b, result, b.getI32Type(), number), kRunScales);
  });
}

void RelayoutEmitter::emit() {
  Value item = emitGlobalThreadNumber(b, kRelayoutThreads);
  Value words = emit::ceilDiv(b, cols, kRunScales);
  emit::emitIf(b, isBelow(b, matrix, matrices), [&] {
    if (layout.isLinear())
      emitLinear(item, words);
    else
      emitTile(item, words);
  });
}

void launchRelayout(LaunchSite &site, Relayout relayout, GetSource getSource) {
  ImplicitLocOpBuilder &b = site.b;
  const numerics::ScaleLayout &layout = relayout.layout;
  Value padded = layout.isLinear()
                     ? relayout.rows
                     : emit::roundUp(b, relayout.rows, layout.getTileRows());
  Value items = mul(b, padded, emit::ceilDiv(b, relayout.cols, kRunScales));
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
