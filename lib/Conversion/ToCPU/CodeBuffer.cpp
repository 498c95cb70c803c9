//===- CodeBuffer.cpp - Codes on their way to memory ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeBuffer.h"
#include "Transpose.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale::cpu {

/// Bytes that are stored at a time.
static constexpr int64_t kBytesPerStore = 64;

/// Rows and columns of bytes that are transposed in registers.
static constexpr int64_t kTransposed = 16;

/// Bytes between rows that are read down their columns, so that a column is not
/// in a few sets of the first cache alone.
static constexpr int64_t kRowPadding = 64;

CodeBuffer::CodeBuffer(ImplicitLocOpBuilder &b, Value data,
                       const BandForm &form, bool transposed)
    : b(b), data(data), form(form), transposed(transposed) {
  int64_t height = transposed ? kQuantizePanelRows / form.getByteRows() : 1;
  int64_t width = kQuantizePanelCols / form.getByteCols();
  buffer = allocate(b, {height, transposed ? width + kRowPadding : width},
                    b.getI8Type());
  if (transposed)
    columns = allocate(b, {kTransposed, height}, b.getI8Type());
}

void CodeBuffer::emitFree() {
  memref::DeallocOp::create(b, buffer);
  if (columns)
    memref::DeallocOp::create(b, columns);
}

BufferRow CodeBuffer::getRow(Value row) const {
  return {buffer,
          transposed ? div(b, row, form.getByteRows()) : getIndex(b, 0)};
}

/// Drops the upper code of the last of `bytes` bytes where `size` codes are
/// odd: it is not an element's.
static void emitDropPadding(ImplicitLocOpBuilder &b, Value size, Value buffer,
                            Value row, Value bytes) {
  std::optional<int64_t> known = getConstantIntValue(size);
  if (known && *known % 2 == 0)
    return;
  Value isOdd = compare(arith::CmpIPredicate::ne, rem(b, size, 2), 0);
  emitIf(b, isOdd, [&] {
    Value last = sub(b, bytes, getIndex(b, 1));
    storeBits(loadBits(b, buffer, {row, last}) & 0xF, buffer, {row, last});
  });
}

/// Copies bytes: target[first + i] = buffer[row, i], i < bytes.
static void emitStoreRow(ImplicitLocOpBuilder &b, Value buffer, Value row,
                         Value bytes, Value target, ValueRange first) {
  emitUnitSteps(b, bytes, kBytesPerStore, [&](Value byte, int64_t count) {
    storeLanes(loadLanes(b, buffer, {row, byte}, count), target,
               offsetBy(b, first, byte));
  });
}

void CodeBuffer::emitRowDone(const Panel &panel, Value row) {
  if (transposed)
    return;
  Value zero = getIndex(b, 0);
  Value bytes = ceilDiv(b, panel.cols, form.getByteCols());
  if (form.getByteCols() == 2)
    emitDropPadding(b, panel.cols, buffer, zero, bytes);
  Indices first =
      append(panel.batch, {add(b, panel.firstRow, row),
                           div(b, panel.firstCol, form.getByteCols())});
  emitStoreRow(b, buffer, zero, bytes, data, first);
}

/// columns[i, ..] = column firstCol + i of the first `rows` rows of the buffer.
void CodeBuffer::emitTransposeRows(Value firstCol, Value rows) {
  auto emitSquare = [&](Value row) {
    SmallVector<Lanes> lanes;
    for (int64_t i = 0; i < kTransposed; ++i)
      lanes.push_back(loadLanes(
          b, buffer, {add(b, row, getIndex(b, i)), firstCol}, kTransposed));
    for (auto [i, column] : llvm::enumerate(transposeRows(lanes)))
      storeLanes(column, columns, {getIndex(b, i), row});
  };
  emitLoop(b, getIndex(b, 0), rows, emitSquare, kTransposed);
}

void CodeBuffer::emitPanelDone(const Panel &panel) {
  if (!transposed)
    return;
  Value zero = getIndex(b, 0);
  Value bytes = ceilDiv(b, panel.rows, form.getByteRows());
  Value firstByte = div(b, panel.firstRow, form.getByteRows());
  auto emitColumn = [&](Value col, Value i) {
    if (form.getByteRows() == 2)
      emitDropPadding(b, panel.rows, columns, i, bytes);
    Value row = add(b, panel.firstCol, add(b, col, i));
    emitStoreRow(b, columns, i, bytes, data,
                 append(panel.batch, {row, firstByte}));
  };
  emitLoop(
      b, zero, panel.cols,
      [&](Value col) {
        emitTransposeRows(col, bytes);
        emitLoop(b, zero, getExtent(b, panel.cols, col, kTransposed),
                 [&](Value i) { emitColumn(col, i); });
      },
      kTransposed);
}

} // namespace blockscale::cpu
