//===- PlainMmaMatrices.cpp - Elements as instructions take them ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix loads four matrices of eight rows and eight elements of K, a
// register of each. Lanes say where the rows are. Of an MN-major operand they
// give the lines of elements of K instead, each thread gets what is transposed,
// and the lines of one operand lie as the rows of the other one do.
//
//===----------------------------------------------------------------------===//

#include "PlainMmaRoles.h"
#include "Products/MatrixLoads.h"
#include "blockscale/Numerics/OperandFragments.h"
#include "blockscale/Numerics/SharedSwizzle.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;

SmallVector<Value> PlainMmaMatrices::load(Value slot, Lanes inStage,
                                          bool isPlain, int64_t number,
                                          int64_t instruction) {
  const PlainMmaLayout &shared = context.shared;
  const DecodedFormat &format = context.spec.format;
  bool isMnMajor = isPlain ? format.isPlainMnMajor() : format.isOtherMnMajor();
  int64_t rows = isPlain ? context.tile.plainRows : context.tile.scaledRows;
  Lanes first = isPlain ? thread.warpPlain : thread.warpRow;
  Value stage =
      isPlain ? context.getShared(b, shared.plain, slot, shared.plainBytes)
              : context.getShared(b, shared.codes, slot, shared.codeBytes);
  Lanes step = inStage * (rows * kPlainStepBytes);
  auto [line, piece] =
      isPlain == isMnMajor
          ? numerics::kMatrixRowsOfA.getElement({thread.lane})
          : numerics::getMatrixRowsOfB(llvm::ConstantLog2<kPlainFragment>())
                .getElement({thread.lane});
  // The lines and pieces from which on the thread's own count: sixteen lines
  // further, pieces are exchanged alike, and none of its pieces has the bits
  // of these.
  int64_t lines = number * kRows;
  int64_t pieces = instruction * kPlainMmaDepth / kPieceElements;
  int64_t lineBytes = kPlainStepBytes;
  if (isMnMajor) {
    int64_t owners =
        isPlain ? context.tile.plainOwners : context.tile.scaledOwners;
    int64_t rowsOfEach = rows / owners;
    lines = instruction * kPlainMmaDepth;
    pieces = number * kRows / kPieceElements;
    lineBytes = rowsOfEach * (kCopyBytes / kPieceElements);
    // Products of their own lie one behind the other.
    auto [owner, inOwner] = numerics::splitBits(first, rowsOfEach);
    piece = piece + (inOwner >> llvm::ConstantLog2<kPieceElements>());
    if (owners > 1)
      step = step + owner * (rowsOfEach * kPlainStepBytes);
  } else {
    step = step + first * lineBytes;
  }
  Lanes place = piece ^ numerics::getExchange(line, lineBytes) ^ pieces;
  Value address = b.offset(stage, b.getI8Type(),
                           step + line * lineBytes + place * kCopyBytes);
  return loadMatrices(
      b, b.offset(address, b.getI8Type(), b.i32(lines * lineBytes)),
      isMnMajor ? NVVM::MMALayout::col : NVVM::MMALayout::row);
}

} // namespace blockscale::products
