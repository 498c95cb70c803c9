//===- Mma.h - Products of the tensor core ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.mma: D = A * B (+ D), with scale factors of blocks along K or
// without. PTX ISA, sections "tcgen05.mma", "Data path layout" and "Scale
// factors".
//
// Arithmetic: products are added as ProductSums.h has it. With scales they are
// exact in f64, their sum is taken in f64 in the order of K, D is added last,
// and the result is rounded once to the nearest even of D's type: how hardware
// does it is not public. kind::i8 is exact, and wraps or saturates.
//
// D, for row m of the rows of a CTA and column n, from its address on:
//
//   rows of a CTA   lane                    column
//   128             m                       n
//   64              m / 16 * 32 + m % 16    n
//   64 of a pair    m, from n = N/2 on      n % (N / 2)
//                   m + 64
//
// With cta_group::2 each CTA has half the rows of A and of B (of N), and the
// rows of D that belong to its A. Scale factors of A are those of its rows;
// those of B are all there, in each CTA; where a CTA has 64 rows, the two lower
// quarters of the lanes have those of the first half of N, the two upper ones
// those of the second.
//
// disable-output-lane has a bit for each lane, from the lowest bit of the first
// word on: of the lanes of the CTA, or of the even CTA and then of its peer.
// Where it is set nothing is written to the lane.
//
// The collector is a buffer for A of each CTA. collector::a::fill puts A there,
// use and lastuse may take A from there in place of memory, and nothing may use
// it behind lastuse or discard, which is the default. So A must be there, and
// be what memory holds.
//
// With .sp, A is sparse (SparseOperand.h), K is twice that of other products,
// and so are blocks that share a scale. All values of B that A has none for are
// left out, NaN too. Products are added as with scales.
//
// Not modelled: .ws, and .sp with 64 rows of A in a CTA.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_MMA_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_MMA_H

#include "Emulator/Matrix/SparseOperand.h"
#include "blockscale/Emulator/SumDevice.h"

#include <array>

namespace blockscale::emulator {

/// The matrix A in the collector of a CTA, without its scales; none where
/// nothing valid is there.
using Collector = std::optional<MmaMatrix>;

/// The memories of a CTA that takes part.
struct MmaCta {
  const Memory &shared;
  unsigned rank;
  TensorMemory &tensor;
  Collector &collector;
};

/// The modifier collector::a.
enum class CollectorUse : uint8_t { Discard, Fill, Use, LastUse };

/// The operands of the instruction.
struct MmaInstruction {
  MmaVariant variant;
  /// The device that adds.
  SumDevice sums = SumDevice::Exact;
  uint32_t d;
  /// A descriptor, or with `isAInTensorMemory` an address.
  uint64_t a;
  bool isAInTensorMemory = false;
  uint64_t b;
  /// The address of the metadata of a sparse A.
  uint32_t metadata = 0;
  uint32_t descriptor;
  /// enable-input-d.
  bool accumulate;
  /// scale-input-d: D is multiplied by 2 to the minus of it.
  unsigned scaleInputD = 0;
  CollectorUse collectorUse = CollectorUse::Discard;
  /// disable-output-lane, 32 lanes a word.
  std::array<uint32_t, 8> disabledLanes = {};
  /// Block-scaled kinds only: addresses, and values that share a scale.
  uint32_t scaleA = 0;
  uint32_t scaleB = 0;
  unsigned blockSize = 0;
};

/// The two top bits of an address of scales may name the byte of a word that
/// they begin in, which is also their id in the instruction descriptor; code of
/// CUTLASS leaves them there. They belong to no lane or column.
inline constexpr unsigned kScaleIdShift = 30;
constexpr uint32_t getScaleCell(uint32_t address) {
  return address & ((1u << kScaleIdShift) - 1);
}

/// Does it at once, on one CTA or on the two of a pair, the even one first.
/// False, and a fault, where it is refused.
bool runMma(const MmaInstruction &instruction, llvm::ArrayRef<MmaCta> ctas,
            Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_MMA_H
