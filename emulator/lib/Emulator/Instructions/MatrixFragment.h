//===- MatrixFragment.h - Matrices in the registers of a warp ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices as the registers of a warp hold them.
//
// PTX ISA, "Matrix Fragments for mma" and "Register Fragments for wgmma". All
// shapes follow one rule. With g = lane / 4, t = lane % 4 and e values in a
// register, value j of register i is
//
//   of A       row g + 8 (i % 2), column e t + j + 4 e (i / 2)
//   of B       row e t + j + 4 e i, column g
//   of C, D    row g + 8 (v / 2 % 2), column 2 t + v % 2 + 8 (v / 4),
//              where v counts the values of all registers
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_MATRIXFRAGMENT_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_MATRIXFRAGMENT_H

#include "Emulator/Machine/Warp.h"
#include "Emulator/Matrix/ProductSums.h"

namespace blockscale::emulator {

/// The registers of an operand: 32 values each.
using FragmentRegisters = llvm::ArrayRef<const uint64_t *>;

/// How values lie in a register of 32 bits.
struct FragmentFormat {
  MmaFormat format;
  /// The bits that a value takes in the register, padding among them.
  unsigned bits;
  /// The number of padding bits below the value.
  unsigned shift = 0;

  unsigned getCount() const { return 32 / bits; }
};

/// A, row by row; `rows` is 8 or 16.
void readFragmentA(FragmentRegisters registers, const FragmentFormat &format,
                   unsigned rows, MmaMatrix &a);
/// The 8 columns of B, one by one.
void readFragmentB(FragmentRegisters registers, const FragmentFormat &format,
                   MmaMatrix &b);

/// Where value `index` of a lane's part of C and D is.
struct FragmentPlace {
  unsigned row;
  unsigned column;
};
inline FragmentPlace getAccumulatorPlace(unsigned lane, unsigned index) {
  return {lane / 4 + index / 2 % 2 * 8,
          lane % 4 * 2 + index % 2 + index / 4 * 8};
}

/// Codes of the accumulators of `columns` columns, row by row, from the
/// registers that hold them in each lane.
std::vector<uint32_t> readAccumulators(FragmentRegisters registers,
                                       const AccumulatorFormat &format,
                                       unsigned rows, unsigned columns);
/// Register `i` of each lane, from all the codes.
void getAccumulators(llvm::ArrayRef<uint32_t> codes,
                     const AccumulatorFormat &format, unsigned columns,
                     unsigned i, uint64_t *values);

/// Faults unless all lanes of the warp execute a matrix instruction.
bool checkWholeWarp(Warp &warp, const Op &op, LaneMask active);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_MATRIXFRAGMENT_H
