//===- ExpandScaleKernel.cpp - Scales of square blocks, replicated --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has four scales of a row of the result, beside each other. Of tiles,
// threads have their words in the order of memory, those of padding included.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/ScaleStore.h"
#include "Emission/OperandChecks.h"
#include "Kernels.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;

namespace blockscale {

using emit::add;
using emit::getIndex;
using emit::Lanes;
using emit::mul;

static constexpr int64_t kExpandScaleThreads = 128;

namespace {

/// The properties of an expansion that its code depends on.
struct ExpandForm {
  bool alongK;
  bool toTiles;
  int64_t block;
  /// Bytes of a store.
  int64_t width;
};

/// The operands of the kernel.
struct ExpandOperands {
  Value source, result, rows, cols, matrices;
};

class ExpandEmitter {
public:
  ExpandEmitter(KernelBuilder &b, const ExpandForm &form,
                const ExpandOperands &operands)
      : b(b), form(form), source(operands.source), result(operands.result),
        rows(toIndex(b, operands.rows)), cols(toIndex(b, operands.cols)),
        matrices(toIndex(b, operands.matrices)), matrix(emitMatrixNumber(b)) {}

  void emit();

private:
  void emitLinear(Value item, Value words);
  void emitTile(Value item, Value words);
  /// The scale at a row and column of the result, 0 where there is none.
  Lanes emitLoad(Value row, Value col);

  KernelBuilder &b;
  const ExpandForm &form;
  /// Rows and columns are those of a matrix of the result.
  Value source, result, rows, cols, matrices, matrix;
};

} // namespace

Lanes ExpandEmitter::emitLoad(Value row, Value col) {
  Value exists =
      arith::AndIOp::create(b, isBelow(b, row, rows), isBelow(b, col, cols));
  return emitIfElseZero(b, exists,
                        [&] {
                          Value blocks = emit::ceilDiv(b, rows, form.block);
                          Value block = emit::div(b, row, form.block);
                          Value at = form.alongK
                                         ? add(b, mul(b, block, cols), col)
                                         : add(b, mul(b, col, blocks), block);
                          at = add(b, mul(b, matrix, mul(b, blocks, cols)), at);
                          return SmallVector<Lanes>{
                              emitLoadBits(b, source, b.getI8Type(), at)};
                        })
      .front();
}

void ExpandEmitter::emitLinear(Value item, Value words) {
  Value row = arith::DivUIOp::create(b, item, words);
  Value first = mul(b, arith::RemUIOp::create(b, item, words), kTileCols);
  Value rowNumber = add(b, mul(b, matrix, rows), row);
  Type type = b.getIntegerType(form.width * 8);
  for (int64_t at = 0; at < kTileCols; at += form.width) {
    Value col = add(b, first, getIndex(b, at));
    Value exists =
        arith::AndIOp::create(b, isBelow(b, row, rows), isBelow(b, col, cols));
    emit::emitIf(b, exists, [&] {
      Lanes packed(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
      for (int64_t i = 0; i < form.width; ++i) {
        Lanes scale = emitLoad(row, add(b, col, getIndex(b, i)));
        packed = form.width == 1
                     ? scale
                     : packed | (extend(scale, form.width * 8) << (8 * i));
      }
      b.store(packed,
              emitAddress(b, result, b.getI8Type(),
                          add(b, mul(b, rowNumber, cols), col)),
              form.width);
    });
  }
}

/// Word `item` of the matrix.
void ExpandEmitter::emitTile(Value item, Value words) {
  Value tile = emit::div(b, item, kTileRows);
  numerics::ScaleIndex<Lanes> place =
      numerics::getSwizzledWord(Lanes(b, item), Lanes(b, words));
  Value tiles = mul(b, emit::ceilDiv(b, rows, kTileRows), words);
  emit::emitIf(b, isBelow(b, tile, tiles), [&] {
    Lanes word(b, b.i32(0));
    for (int64_t i = 0; i < kTileCols; ++i) {
      Lanes scale = emitLoad(place.row, place.col + i);
      word = word | (extend(scale, 32) << (8 * i));
    }
    Value number = add(b, mul(b, mul(b, matrix, tiles), kTileRows), item);
    b.store(word, emitAddress(b, result, b.getI32Type(), number), kTileCols);
  });
}

void ExpandEmitter::emit() {
  Value item = emitGlobalThreadNumber(b, kExpandScaleThreads);
  Value words = emit::ceilDiv(b, cols, kTileCols);
  emit::emitIf(b, isBelow(b, matrix, matrices), [&] {
    if (form.toTiles)
      emitTile(item, words);
    else
      emitLinear(item, words);
  });
}

LogicalResult lowerKernel(ExpandScaleOp op, LaunchSite &site) {
  emit::requireOperands(op, site.call);
  site.emitAsserts();
  ImplicitLocOpBuilder &b = site.b;
  Value source = site.lookup(op.getSource());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t rank = type.getRank();
  ExpandForm form{op.getScaleDim() == ScaleDim::K, getLayout(type) != nullptr,
                  op.getBlock()[0], 1};
  if (int64_t cols = type.getShape().back();
      !form.toTiles && !ShapedType::isDynamic(cols) && cols % kTileCols == 0)
    form.width = kTileCols;

  emit::Indices sizes = emit::getLeadingSizes(b, source, rank);
  Value cols = sizes[form.alongK ? rank - 1 : rank - 2];
  Value matrices = emit::getProduct(b, ArrayRef<Value>(sizes).drop_back(2));
  // Tiles do not tell the rows of the result.
  Value rows = site.lookup(op.getSize());
  if (!rows)
    rows = getIndex(b, type.getDimSize(rank - 2));
  ExpandOperands operands{source, site.lookup(op.getResult()), rows, cols,
                          matrices};
  Value padded = form.toTiles ? emit::roundUp(b, rows, kTileRows) : rows;
  Value items = mul(b, padded, emit::ceilDiv(b, cols, kTileCols));

  std::string name;
  llvm::raw_string_ostream os(name);
  os << "expand_scale_" << (form.alongK ? "k" : "n") << '_' << form.block;
  if (form.toTiles)
    os << "_to_tiles";
  else
    os << "_x" << form.width;
  site.launch(
      name,
      {kExpandScaleThreads, getCeilDiv(b, items, kExpandScaleThreads),
       matrices},
      {{operands.source, 1},
       {operands.result, form.toTiles ? kTileCols : form.width},
       {operands.rows},
       {operands.cols},
       {operands.matrices}},
      [&](KernelBuilder &b) { ExpandEmitter(b, form, operands).emit(); });
  return success();
}

} // namespace blockscale
