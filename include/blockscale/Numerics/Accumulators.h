//===- Accumulators.h - Which register has a sum ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragments of accumulators that the PTX ISA draws, as maps of bits: which
// thread has the sum of a row and a column of a result, and in which register.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_ACCUMULATORS_H
#define BLOCKSCALE_NUMERICS_ACCUMULATORS_H

#include "blockscale/Numerics/BitLayout.h"

namespace blockscale::numerics {

/// The coordinates of the place of a sum: a thread, of those that share the
/// instruction, and one of its registers.
inline constexpr int kSumThread = 0;
inline constexpr int kSumRegister = 1;

/// Matrix D of mma.sync.m16n8, of any depth: a warp has 16 rows and 8 columns
/// ("Matrix Fragments for mma.m16n8k16").
inline constexpr BitLayout kMmaAccumulator = {
    {MatrixDim::Row, 3, kSumRegister, 1, 1},
    {MatrixDim::Row, 0, kSumThread, 2, 3},
    {MatrixDim::Col, 1, kSumThread, 0, 2},
    {MatrixDim::Col, 0, kSumRegister, 0, 1}};

/// Matrix D of wgmma.mma_async.m64n256: a warpgroup has 64 rows, and a narrower
/// instruction fewer of the registers ("Register Fragments for
/// wgmma.mma_async.m64nNk16", "Accumulator D").
inline constexpr BitLayout kWgmmaAccumulator = {
    {MatrixDim::Row, 4, kSumThread, 5, 2},
    {MatrixDim::Row, 0, kSumThread, 2, 3},
    {MatrixDim::Row, 3, kSumRegister, 1, 1},
    {MatrixDim::Col, 3, kSumRegister, 2, 5},
    {MatrixDim::Col, 1, kSumThread, 0, 2},
    {MatrixDim::Col, 0, kSumRegister, 0, 1}};

/// Which thread has the sums of a row and of a pair of neighbouring columns,
/// that are registers beside each other.
constexpr BitLayout getPairs(const BitLayout &sums) {
  return sums.inUnits(/*bits=*/1, kSumRegister);
}
static_assert(kMmaAccumulator.getContiguousBits(kSumRegister) == 1 &&
              kWgmmaAccumulator.getContiguousBits(kSumRegister) == 1);

/// What tcgen05.ld.32x32b.x128 brings to registers: a warpgroup has the 128
/// lanes of tensor memory, a thread a lane, and a narrower instruction fewer of
/// the registers ("Matrix fragments for shape .32x32b").
inline constexpr BitLayout kTensorMemoryAccumulator = {
    {MatrixDim::Row, 0, kSumThread, 0, 7},
    {MatrixDim::Col, 0, kSumRegister, 0, 7}};

/// The address of a lane and a column of tensor memory ("Tensor Memory
/// Addressing").
inline constexpr BitLayout kTensorMemoryAddress = {
    {MatrixDim::Row, 0, 0, 16, 7}, {MatrixDim::Col, 0, 0, 0, 9}};

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_ACCUMULATORS_H
