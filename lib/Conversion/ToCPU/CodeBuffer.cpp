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

CodeBuffer::CodeBuffer(ImplicitLocOpBuilder &b, Value data,
                       const BandForm &form, bool transposed)
    : b(b), data(data), form(form), transposed(transposed) {
  int64_t height =
      (transposed ? kPatchRows : form.getRows()) / form.getByteRows();
  int64_t width = kPatchCols / form.getByteCols();
  buffer = allocate(b, {height, width}, b.getI8Type());
  if (transposed)
    columns = allocate(b, {kTransposed, height}, b.getI8Type());
}

void CodeBuffer::emitFree() {
  memref::DeallocOp::create(b, buffer);
  if (columns)
    memref::DeallocOp::create(b, columns);
}

BufferRow CodeBuffer::getBand(Value first) const {
  return {buffer,
          transposed ? div(b, first, form.getByteRows()) : getIndex(b, 0)};
}

/// Zeros the upper codes of `count` bytes where `size` codes are odd: they
/// belong to padding, whose code is not zero where the factor is NaN.
static void emitDropPadding(ImplicitLocOpBuilder &b, Value size,
                            function_ref<void()> drop) {
  std::optional<int64_t> known = getConstantIntValue(size);
  if (known && *known % 2 == 0)
    return;
  emitIf(b,
         arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rem(b, size, 2),
                               getIndex(b, 0)),
         drop);
}

void CodeBuffer::emitBandDone(const Patch &patch, Value first, Value rows) {
  if (transposed)
    return;
  Value bytes = ceilDiv(b, patch.cols, form.getByteCols());
  Value firstByte = div(b, patch.firstCol, form.getByteCols());
  Value firstRow = add(b, patch.firstRow, first);
  emitLoop(b, getIndex(b, 0), rows, [&](Value row) {
    if (form.getByteCols() == 2)
      emitDropPadding(b, patch.cols, [&] {
        Value last = sub(b, bytes, getIndex(b, 1));
        storeBits(loadBits(b, buffer, {row, last}) & 0xF, buffer, {row, last});
      });
    emitUnitSteps(b, bytes, kBytesPerStore, [&](Value byte, int64_t count) {
      storeLanes(loadLanes(b, buffer, {row, byte}, count), data,
                 append(patch.batch,
                        {add(b, firstRow, row), add(b, firstByte, byte)}));
    });
  });
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

void CodeBuffer::emitPatchDone(const Patch &patch) {
  if (!transposed)
    return;
  Value zero = getIndex(b, 0);
  Value bytes = ceilDiv(b, patch.rows, form.getByteRows());
  Value firstByte = div(b, patch.firstRow, form.getByteRows());
  emitLoop(
      b, zero, patch.cols,
      [&](Value group) {
        emitTransposeRows(group, bytes);
        Value count = getExtent(b, patch.cols, group, kTransposed);
        emitLoop(b, zero, count, [&](Value i) {
          if (form.getByteRows() == 2)
            emitDropPadding(b, patch.rows, [&] {
              Value last = sub(b, bytes, getIndex(b, 1));
              storeBits(loadBits(b, columns, {i, last}) & 0xF, columns,
                        {i, last});
            });
          Value row = add(b, patch.firstCol, add(b, group, i));
          emitUnitSteps(
              b, bytes, kBytesPerStore, [&](Value byte, int64_t count) {
                storeLanes(loadLanes(b, columns, {i, byte}, count), data,
                           append(patch.batch, {row, add(b, firstByte, byte)}));
              });
        });
      },
      kTransposed);
}

} // namespace blockscale::cpu
