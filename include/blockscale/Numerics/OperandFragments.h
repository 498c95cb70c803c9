//===- OperandFragments.h - Which thread has an operand ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragments of operands of mma.sync, and of their scales, that the PTX ISA
// draws, as maps of bits. An instruction takes 32 bytes along K, of elements of
// any width. Rows of B are the columns of the product: K runs along the columns
// of both operands.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_OPERANDFRAGMENTS_H
#define BLOCKSCALE_NUMERICS_OPERANDFRAGMENTS_H

#include "blockscale/Numerics/BitLayout.h"

namespace blockscale::numerics {

/// The coordinates of the place of a byte of an operand: a thread of the warp,
/// one of its registers, and a byte of this one.
inline constexpr int kOperandThread = 0;
inline constexpr int kOperandRegister = 1;
inline constexpr int kOperandByte = 2;

/// Operands A and B of mma.sync.m16n8: k16 of 16 bits, k32 of 8 and k64 of 4
/// ("Matrix Fragments for mma.m16n8k16", ".. mma.m16n8k32", ".. mma.m16n8k64").
inline constexpr BitLayout kMmaOperandA = {
    {MatrixDim::Row, 3, kOperandRegister, 0, 1},
    {MatrixDim::Row, 0, kOperandThread, 2, 3},
    {MatrixDim::Col, 4, kOperandRegister, 1, 1},
    {MatrixDim::Col, 2, kOperandThread, 0, 2},
    {MatrixDim::Col, 0, kOperandByte, 0, 2}};
inline constexpr BitLayout kMmaOperandB = {
    {MatrixDim::Row, 0, kOperandThread, 2, 3},
    {MatrixDim::Col, 4, kOperandRegister, 0, 1},
    {MatrixDim::Col, 2, kOperandThread, 0, 2},
    {MatrixDim::Col, 0, kOperandByte, 0, 2}};

/// Which row, and which 16 bytes of it, a thread gives the address of, so that
/// ldmatrix.x4 brings operand A to registers: those of matrix i, which goes to
/// register i, come from threads 8 i to 8 i + 7 ("ldmatrix"). With .trans it
/// brings operand B of two instructions, whose rows are eight apart, where row
/// and column are exchanged: a line for each element of K, of pieces of eight
/// rows.
inline constexpr BitLayout kMatrixRowsOfA = {{MatrixDim::Row, 0, 0, 0, 4},
                                             {MatrixDim::Col, 0, 0, 4, 1}};

/// The same for operand B of two instructions, whose rows are two to the power
/// of `distance` apart, three at least. The registers of the second follow
/// those of the first. With .trans, and rows eight apart, it is operand A.
constexpr BitLayout getMatrixRowsOfB(int distance) {
  return {{MatrixDim::Row, distance, 0, 4, 1},
          {MatrixDim::Row, 0, 0, 0, 3},
          {MatrixDim::Col, 0, 0, 3, 1}};
}

/// The same for operand B of two instructions with the same rows, of which the
/// second has the columns behind those of the first.
inline constexpr BitLayout kMatrixRowsOfLongB = {{MatrixDim::Row, 0, 0, 0, 3},
                                                 {MatrixDim::Col, 0, 0, 3, 2}};

/// Whose scales a thread gives to mma.sync.m16n8 with block scaling, where the
/// thread-ids of both operands are 0: of each four threads the first two for
/// rows of A, and the first for a row of B ("Block Scaling for mma.sync").
/// Scales of other threads are not read.
inline constexpr BitLayout kMmaScalesOfA = {{MatrixDim::Row, 0, 0, 2, 3},
                                            {MatrixDim::Row, 3, 0, 0, 1}};
inline constexpr BitLayout kMmaScalesOfB = {{MatrixDim::Row, 0, 0, 2, 3}};

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_OPERANDFRAGMENTS_H
