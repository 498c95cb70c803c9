//===- InstructionDescriptor.h - Descriptor of tcgen05.mma ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 32-bit descriptor of tcgen05.mma: types, shape and scale factors. PTX
// ISA, section "Instruction Descriptor" (three tables) and "Matrix Shape".
//
//   bits    f16, tf32, f8f6f4, i8   mxf8f6f4           mxf4, mxf4nvf4
//   0-1     sparsity selector       0                  0
//   2       sparse                  sparse             sparse
//   3       saturate (i8)           0                  0
//   4-5     type of D               B scale id 0-3     B scale id 0 or 2
//   6       0                       0                  0
//   7-9     type of A               type of A          type of A
//   10-12   type of B               type of B          type of B (12 is 0)
//   13, 14  negate A, B             the same           the same
//   15, 16  transpose A, B          the same           0
//   17-22   N >> 3                  N >> 3             N >> 3
//   23      0                       1 (UE8M0)          0 UE4M3, 1 UE8M0
//   24-28   M >> 4                  M >> 4 (24-26: 0)  M >> 4 (24-26: 0)
//   29-31   29: 0, 30-31: max shift 29-30: A scale id  the same, 31: K is 96
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_INSTRUCTIONDESCRIPTOR_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_INSTRUCTIONDESCRIPTOR_H

#include "blockscale/Emulator/Report.h"

namespace blockscale::emulator {

enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};

/// The name of a kind as PTX spells it after ".kind::".
llvm::StringRef getName(MmaKind kind);

inline bool isBlockScaled(MmaKind kind) { return kind >= MmaKind::MXF8F6F4; }

/// Whether the sparsity selector of a kind says which column has the metadata
/// of a sparse A.
inline bool hasSparsitySelector(MmaKind kind) {
  return kind == MmaKind::F16 || kind == MmaKind::TF32;
}

enum class MmaFormat : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  U8,
  S8,
};

enum class MmaAccumulator : uint8_t { F16, F32, S32 };

enum class ScaleFormat : uint8_t { UE4M3, UE8M0 };

struct InstructionDescriptor {
  MmaKind kind;
  unsigned m, n, k;
  MmaFormat a, b;
  MmaAccumulator accumulator;
  bool isSparse, saturate;
  /// 0 in kinds that have none (hasSparsitySelector).
  unsigned sparsitySelector;
  bool negateA, negateB;
  /// MN-major operands.
  bool transposeA, transposeB;
  /// Block-scaled kinds only: the scale factors' format, and the byte of a
  /// word of tensor memory at which an MMA's factors start.
  ScaleFormat scaleFormat;
  unsigned scaleIdA, scaleIdB;

  /// The values of K that A has, half of those of B if it is sparse.
  unsigned getStoredK() const { return isSparse ? k / 2 : k; }
};

/// What the instruction itself says besides the descriptor.
struct MmaVariant {
  MmaKind kind;
  /// 1 or 2: .cta_group.
  unsigned ctaGroup = 1;
  /// tcgen05.mma.ws.
  bool isWeightStationary = false;
  /// tcgen05.mma.sp.
  bool isSparse = false;
  /// Whether the chip has kLongK.
  bool mayHaveLongK = false;
};

/// The K of packed values that sm_103a has beside 64: three quarters of the 128
/// bytes that shared memory swizzles, so that every third product reads two
/// matrices.
inline constexpr unsigned kLongK = 96;

/// Reserved bits are faults that leave the descriptor good. None where a type,
/// the shape or a scale factor id is not one that the chip has.
std::optional<InstructionDescriptor>
decodeInstructionDescriptor(uint32_t bits, const MmaVariant &variant,
                            Faults &faults);

/// Blocks along K that an MMA has scales of. Those of a sparse product are
/// twice as long.
unsigned countBlocks(const InstructionDescriptor &descriptor,
                     unsigned blockSize);

/// Whether values of a block of `blockSize` along K may share a scale in this
/// kind: .block16 and .block32 (scale_vec::4X; 1X and 2X).
bool checkBlockSize(const InstructionDescriptor &descriptor, unsigned blockSize,
                    Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_INSTRUCTIONDESCRIPTOR_H
