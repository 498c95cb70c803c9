//===- MmaOperand.h - Operands of tcgen05.mma -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of tcgen05.mma as numbers. Each MMA takes 32 bytes of K a row,
// and of B of a sparse product 64:
//
//   f16, bf16               16 values of 2 bytes
//   tf32                    8 values of 4 bytes, the lowest 13 bits ignored
//   e4m3, e5m2, s8, u8      32 values of a byte
//   e2m3, e3m2, e2m1        32 values, 16 in the first 12 (8) of 16 bytes
//     in f8f6f4, mxf8f6f4   (b6x16_p32, b4x16_p64)
//   e2m1 in mxf4, mxf4nvf4  64 values, the even ones in the low halves
//
// With K = 96, of e2m1 in mxf4 and mxf4nvf4 alone, it takes 48 bytes. Those
// behind the end of 128 bytes, which the start address lies in, are the first
// ones of the matrix at the leading address.
//
// Scale factors lie in tensor memory: those of row r in lane r % 32 of column
// r / 32 of their own, a byte for each block along K, and the same in all four
// quarters of the lanes. Where a word has not all of them, they go on in the
// next word, which lies four columns further for each 128 rows that are begun.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_MMAOPERAND_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_MMAOPERAND_H

#include "Emulator/Matrix/InstructionDescriptor.h"
#include "Emulator/Memory/SmemDescriptor.h"
#include "Emulator/Memory/TensorMemory.h"
#include "blockscale/Emulator/Memory.h"

namespace blockscale::emulator {

/// The number that a code of the format stands for; bits above it are ignored
/// but those of U8. TF32 lies in the upper bits of 32.
double decodeMmaValue(MmaFormat format, uint32_t bits);

/// Numbers by row, `k` of each.
struct MmaMatrix {
  unsigned k = 0;
  std::vector<double> values;
  /// Of a sparse A, which of K each value stands for; else empty.
  std::vector<uint8_t> places;

  double *row(unsigned i) { return values.data() + size_t(i) * k; }
  const double *row(unsigned i) const { return values.data() + size_t(i) * k; }
};

/// Changes the sign of every value.
void negate(MmaMatrix &matrix);

struct MmaOperandLayout {
  MmaKind kind;
  MmaFormat format;
  Major major;
  /// Rows of M or N.
  unsigned rows;
  unsigned k;
};

/// Appends the operand's rows. False, and a fault, where it is refused.
bool readSharedOperand(const Memory &shared, unsigned rank, uint64_t descriptor,
                       const MmaOperandLayout &layout, MmaMatrix &matrix,
                       Faults &faults);

/// A K-major operand of full bytes that lies in tensor memory, row by lane.
bool readTensorOperand(const TensorMemory &memory, uint32_t address,
                       const MmaOperandLayout &layout, MmaMatrix &matrix,
                       Faults &faults);

/// The number that a scale factor stands for; UE4M3 has no sign.
double decodeScale(uint8_t byte, ScaleFormat format);
/// NaN, and UE4M3 with a sign, which is a fault at the row that has it.
bool isBadScale(uint8_t byte, ScaleFormat format);
void reportBadScale(unsigned row, uint8_t byte, ScaleFormat format,
                    Faults &faults);

struct ScaleLayout {
  ScaleFormat format;
  /// The first byte of the first word, and how many bytes are used.
  unsigned id;
  unsigned blocks;
  /// Rows, and the quarters of the lanes that hold them all alike.
  unsigned rows;
  unsigned firstQuarter = 0;
  unsigned quarters = 4;
};

/// Words of a row's scale factors, and the columns between them.
unsigned countScaleWords(unsigned id, unsigned blocks);
unsigned getScalePitch(unsigned rows);

/// Appends the scale factors' rows. A NaN, and a sign of UE4M3, is a fault that
/// lets the product go on.
bool readScales(const TensorMemory &memory, uint32_t address,
                const ScaleLayout &layout, MmaMatrix &scales, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_MMAOPERAND_H
