//===- OperandFragmentsTest.cpp - Fragments against published formulas ----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every register of every thread, against the formulas of the PTX ISA, written
// here as they stand there.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/OperandFragments.h"
#include "blockscale/Numerics/Accumulators.h"
#include "blockscale/Numerics/Warp.h"
#include "gtest/gtest.h"

#include <set>
#include <utility>

using namespace blockscale::numerics;

namespace {

using Element = ElementIndex<int64_t>;

/// The widths of elements, in bits, of the instructions of 32 bytes along K:
/// mma.m16n8k64, .m16n8k32 and .m16n8k16.
constexpr int64_t kWidths[] = {4, 8, 16};

/// The byte that element `i` of a thread's fragment begins in.
Element getByte(const BitLayout &layout, int64_t lane, int64_t i,
                int64_t bits) {
  int64_t byte = i * bits / 8;
  return layout.getElement({lane, byte / 4, byte % 4});
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16" and its neighbours. A register
// has n elements, and
//   groupID           = %laneid >> 2
//   threadID_in_group = %laneid % 4
//   row = groupID      for ai where 0 <= i < n || 2 n <= i < 3 n
//         groupID + 8  otherwise
//   col = (threadID_in_group * n) + (i & (n - 1))        for ai where i < 2 n
//         (threadID_in_group * n) + (i & (n - 1)) + 4 n  for ai where i >= 2 n
TEST(OperandFragments, A) {
  EXPECT_EQ(kMmaOperandA.getRows(), 16);
  EXPECT_EQ(kMmaOperandA.getCols(), 32);
  for (int64_t bits : kWidths) {
    int64_t n = 32 / bits;
    std::set<std::pair<int64_t, int64_t>> taken;
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < 4 * n; ++i) {
        int64_t group = lane >> 2, inGroup = lane % 4;
        bool isUpper = i < n || (2 * n <= i && i < 3 * n);
        int64_t row = isUpper ? group : group + 8;
        int64_t col = inGroup * n + (i & (n - 1)) + (i < 2 * n ? 0 : 4 * n);
        Element got = getByte(kMmaOperandA, lane, i, bits);
        EXPECT_EQ(got.row, row) << bits << ", " << lane << ", " << i;
        EXPECT_EQ(got.col, col * bits / 8) << bits << ", " << lane << ", " << i;
        taken.insert({row, col});
      }
    EXPECT_EQ(taken.size(), size_t(n * 16 * 8));
  }
}

//   row = (threadID_in_group * n) + (i & (n - 1))        for bi where i < n
//         (threadID_in_group * n) + (i & (n - 1)) + 4 n  for bi where i >= n
//   col = groupID
// K is the row there, and the column here.
TEST(OperandFragments, B) {
  EXPECT_EQ(kMmaOperandB.getRows(), 8);
  EXPECT_EQ(kMmaOperandB.getCols(), 32);
  for (int64_t bits : kWidths) {
    int64_t n = 32 / bits;
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < 2 * n; ++i) {
        int64_t row = lane % 4 * n + (i & (n - 1)) + (i < n ? 0 : 4 * n);
        Element got = getByte(kMmaOperandB, lane, i, bits);
        EXPECT_EQ(got.row, lane >> 2);
        EXPECT_EQ(got.col, row * bits / 8);
      }
  }
}

/// Checks that ldmatrix.x4 brings what `want` says to each byte of register i
/// of each thread. Matrix i is eight rows of 16 bytes, whose addresses threads
/// 8 i to 8 i + 7 give, and thread t gets bytes 4 (t % 4) and up of row t / 4
/// of it (PTX ISA, "ldmatrix").
template <typename GetElement>
void checkMatrices(const BitLayout &addresses, const GetElement &want) {
  for (int64_t thread = 0; thread < 32; ++thread)
    for (int64_t matrix = 0; matrix < 4; ++matrix) {
      Element first = addresses.getElement({8 * matrix + thread / 4});
      for (int64_t byte = 0; byte < 4; ++byte) {
        Element wanted = want(thread, matrix, byte);
        EXPECT_EQ(first.row, wanted.row) << thread << ", " << matrix;
        EXPECT_EQ(first.col * 16 + thread % 4 * 4 + byte, wanted.col)
            << thread << ", " << matrix;
      }
    }
}

TEST(OperandFragments, MatricesOfA) {
  checkMatrices(kMatrixRowsOfA,
                [](int64_t thread, int64_t matrix, int64_t byte) {
                  return kMmaOperandA.getElement({thread, matrix, byte});
                });
}

TEST(OperandFragments, MatricesOfB) {
  for (int distance = 3; distance < 8; ++distance)
    checkMatrices(
        getMatrixRowsOfB(distance),
        [&](int64_t thread, int64_t matrix, int64_t byte) {
          int64_t instruction = matrix / 2;
          Element own = kMmaOperandB.getElement({thread, matrix % 2, byte});
          return Element{own.row + (instruction << distance), own.col};
        });
}

TEST(OperandFragments, MatricesOfLongB) {
  checkMatrices(
      kMatrixRowsOfLongB, [](int64_t thread, int64_t matrix, int64_t byte) {
        // An instruction has 32 bytes of a row.
        Element own = kMmaOperandB.getElement({thread, matrix % 2, byte});
        return Element{own.row, own.col + matrix / 2 * 32};
      });
}

/// Checks what ldmatrix.x4.trans brings of elements of 16 bits, whose columns
/// lie one after another: thread t gets elements 2 (t % 4) and the next one of
/// column t / 4 of each matrix.
template <typename GetElement>
void checkTransposed(const BitLayout &addresses, const GetElement &want) {
  for (int64_t thread = 0; thread < 32; ++thread)
    for (int64_t matrix = 0; matrix < 4; ++matrix)
      for (int64_t byte = 0; byte < 4; ++byte) {
        int64_t line = thread % 4 * 2 + byte / 2;
        Element first = addresses.getElement({8 * matrix + line});
        Element wanted = want(thread, matrix, byte);
        EXPECT_EQ(first.col * 8 + thread / 4, wanted.row)
            << thread << ", " << matrix;
        EXPECT_EQ(first.row * 2 + byte % 2, wanted.col)
            << thread << ", " << matrix;
      }
}

TEST(OperandFragments, TransposedMatricesOfA) {
  checkTransposed(getMatrixRowsOfB(/*distance=*/3),
                  [](int64_t thread, int64_t matrix, int64_t byte) {
                    return kMmaOperandA.getElement({thread, matrix, byte});
                  });
}

TEST(OperandFragments, TransposedMatricesOfB) {
  checkTransposed(
      kMatrixRowsOfA, [](int64_t thread, int64_t matrix, int64_t byte) {
        Element own = kMmaOperandB.getElement({thread, matrix % 2, byte});
        return Element{own.row + matrix / 2 * 8, own.col};
      });
}

// PTX ISA, "Block Scaling for mma.sync", figures for thread-id 0: of each four
// threads the first has scales of row groupID of A, the second of row
// groupID + 8, and the first of column groupID of B.
TEST(OperandFragments, Scales) {
  for (int64_t group = 0; group < 8; ++group) {
    EXPECT_EQ(kMmaScalesOfA.getElement({4 * group}).row, group);
    EXPECT_EQ(kMmaScalesOfA.getElement({4 * group + 1}).row, group + 8);
    EXPECT_EQ(kMmaScalesOfB.getElement({4 * group}).row, group);
  }
}

// PTX ISA, "Tensor Memory Addressing": the lane is in bits 31 to 16 of an
// address, the column in bits 15 to 0.
TEST(OperandFragments, TensorMemoryAddress) {
  for (int64_t lane = 0; lane < 128; ++lane)
    for (int64_t col = 0; col < 512; ++col)
      EXPECT_EQ(kTensorMemoryAddress.getPlace(lane, col), lane << 16 | col);
}

// A warp is 32 threads (PTX ISA, "WARP_SZ"), and digits make the number again.
TEST(Warp, Digits) {
  for (int64_t thread = 0; thread < 256; ++thread) {
    EXPECT_EQ(getWarp(thread), thread >> 5);
    EXPECT_EQ(getLane(thread), thread & 31);
    for (int64_t size : {1, 4, 32}) {
      auto [run, inRun] = split(thread, size);
      EXPECT_EQ(run * size + inRun, thread);
      EXPECT_LT(inRun, size);
      EXPECT_EQ(splitBits(thread, size), split(thread, size));
    }
  }
}

} // namespace
