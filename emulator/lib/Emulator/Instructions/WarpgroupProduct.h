//===- WarpgroupProduct.h - Share of a warp in a wgmma ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The share of one warp in a product of its warpgroup.
//
// Warp i of a warpgroup has rows 16 i to 16 i + 15 of A and D, so that each
// warp does its own part of the product.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_WARPGROUPPRODUCT_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_WARPGROUPPRODUCT_H

#include "Emulator/Instructions/AsyncIssue.h"
#include "Emulator/Instructions/MatrixInstructions.h"

namespace blockscale::emulator {

constexpr unsigned kWarpsOfGroup = 4;
constexpr unsigned kRowsOfWarp = 16;

struct WarpgroupData : OpData {
  MatrixShape shape;
  FragmentFormat a, b;
  AccumulatorFormat accumulator;
  bool negateA = false, negateB = false;
  Major majorA = Major::K, majorB = Major::K;
  /// The accumulators, which are in flight until the wait. They are not among
  /// the op's own operands, which must not be in flight already.
  llvm::SmallVector<Result, 0> accumulators;
  /// A, where it is in registers; else its descriptor is the first source.
  llvm::SmallVector<Source, 4> registersA;
};

/// The values of the sources that all lanes share.
struct WarpgroupSources {
  uint64_t descriptorA = 0;
  uint64_t descriptorB = 0;
  bool accumulates = false;
  /// The values of A where it is in registers.
  std::vector<std::array<uint64_t, kWarpSize>> a;
};

/// A descriptor of wgmma as one of tcgen05, which lays matrices out alike;
/// none, and a fault, where reserved bits are set.
std::optional<uint64_t> translateDescriptor(uint64_t bits, Faults &faults);

/// The descriptor of the rows of A from `row` on, a multiple of 16 below 64.
uint64_t selectRows(uint64_t descriptor, Major major, unsigned row);

/// Reads memory and registers, and writes the accumulators in the frame of
/// `depth`.
void runWarpgroupProduct(const Issuer &issuer, const WarpgroupSources &sources,
                         uint32_t depth);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_WARPGROUPPRODUCT_H
