//===- SparseOperand.h - A of sparse products -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A of mma.sp and tcgen05.mma.sp, of which half of the values are stored. PTX
// ISA, sections "Sparse matrix storage" and "Sparse Matrices".
//
// K is cut into chunks, each with four parts, of which two are stored. Four
// bits of metadata name them: the two lower bits the part that is stored first,
// the two upper ones the other.
//
//   values of a chunk   stored   where
//   2                   1        tf32: a part is half a value, so that 0100
//                                and 1110 name the first and the second value
//   4                   2        16 and 8 bits
//   8                   4        e2m1 in mxf4 and mxf4nvf4: a part is a pair
//
// Metadata of tcgen05.mma.sp lie in tensor memory. Chunk i of row r begins, in
// the lane and at the bit of the columns from the address on,
//
//   f16, tf32   r / 16 * 16 + r % 8 + 8 (i / 4)   16 (r / 8 % 2) + 4 (i % 4)
//   other       r                                 4 i
//
// f16 and tf32 take the first or second column from there on, as the sparsity
// selector says, other kinds two columns. No figure of PTX ISA was at hand for
// this; it is as CUTLASS's tmem_e_frg has it.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_SPARSEOPERAND_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_SPARSEOPERAND_H

#include "Emulator/Matrix/MmaOperand.h"

namespace blockscale::emulator {

/// Four bits for each chunk of a row, row by row.
using SparseMetadata = std::vector<uint8_t>;

/// Which metadata an instruction knows.
enum class MetadataOrder : uint8_t {
  /// mma.sp: any two parts.
  Any,
  /// mma.sp::ordered_metadata: the lower part first.
  Ascending,
  /// tcgen05.mma.sp: the lower part first, or 0110.
  Tensor,
};

/// The values of K that a chunk has.
unsigned getSparseChunk(MmaFormat format, bool isPacked);

/// Sets the places of the values of A, K/2 of each row. Metadata that mean
/// nothing are a fault, told once, where a value that is not zero goes by them.
void placeValues(MmaMatrix &a, unsigned chunk, const SparseMetadata &metadata,
                 MetadataOrder order, FaultKind kind, Faults &faults);

/// Where metadata of tcgen05.mma.sp lie.
struct MetadataLayout {
  MmaKind kind;
  unsigned rows;
  /// The sparsity selector of f16 and tf32; 0 for other kinds.
  unsigned selector;

  /// Where what is read begins, of metadata at an address, and its columns.
  uint32_t getFirst(uint32_t address) const { return address + selector; }
  unsigned getColumns() const { return hasSparsitySelector(kind) ? 1 : 2; }
};

/// False, and a fault, where the cells are not there.
bool readMetadata(const TensorMemory &memory, uint32_t address,
                  const MetadataLayout &layout, SparseMetadata &metadata,
                  Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_SPARSEOPERAND_H
