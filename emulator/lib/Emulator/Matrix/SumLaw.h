//===- SumLaw.h - How a tensor core adds products ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers by which the tensor cores of a device differ. All of them add in
// steps of some products of ascending K and the accumulator, whose terms are
// aligned to the greatest exponent among them (ProductSums.h).
//
//   device  A and B     products  aligned  result  least exponent  known from
//   sm_80   f16, bf16   8         24       23      -132            [1]
//           tf32        4         24       23      -132            [1]
//   sm_89   as sm_80; e4m3 and e5m2:                               [1]
//                       16        13       13      -132
//   sm_90   f16, bf16   16        25       23      -133            H100, H200
//           tf32        8         25       23      -133            H100, H200
//           e4m3, e5m2, of wgmma:                                  H100, H200
//                       32        13       13      -133
//           e4m3, e5m2, of mma.sync: brought to f16, and two steps as of it,
//           first of the values with k % 4 < 2, from 0; the accumulator is
//           added last, to nearest even (ptxas makes it of two HMMA and an
//           addition)
//                                                                  H200
//   sm_100  as sm_90; kind::f8f6f4:                                [1]
//                       32        25       23      -133
//   sm_120  as sm_90 for f16, bf16, tf32; e4m3 to e2m1:            [1]
//                       32        25       23      -133
//
// Into f16 the result of a step is rounded to nearest even and not cut, and the
// least exponent is -20 where it is -132 here, and -21 where it is -133 [1];
// FP8 into f16 is not known of sm_100's kind::f8f6f4 and of sm_120. Products
// with scales of blocks are not known of any device.
//
// [1] Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores",
// arXiv 2512.07004, and its repository, commit b12b5a7. Not run here, but the
// 5,000 outputs of each GPU and type that the repository has (A100, A2, Ada,
// L40S, B200) are those of this table; none of them is of tcgen05 or sm_120.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_SUMLAW_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_SUMLAW_H

#include "Emulator/Matrix/InstructionDescriptor.h"
#include "blockscale/Emulator/SumDevice.h"

namespace blockscale::emulator {

struct SumLaw {
  /// The products of a step; 0 for the sum in f64, rounded once.
  unsigned products = 0;
  /// The fraction bits of a term that are kept, below the greatest exponent.
  int alignedBits = 0;
  /// The fraction bits of a result in f32 that are kept.
  int resultBits = 0;
  /// The least exponent that terms are aligned to.
  int leastExponent = 0;
  /// Whether factors are brought to f16 and multiplied in two steps at least,
  /// first the values of K with k % 4 < 2, then the others.
  bool isByPairs = false;
  /// Whether steps begin with 0, and their result is added to the accumulator
  /// in the end, to nearest even.
  bool addsLast = false;
};

/// The instructions that hand products to the tensor core.
enum class MmaUnit : uint8_t {
  Warp,      ///< mma.sync
  Warpgroup, ///< wgmma
  Tensor,    ///< tcgen05.mma
};

/// The law of products without scales of blocks; S32 and what nobody has told
/// have the sum in f64.
SumLaw getSumLaw(SumDevice device, MmaUnit unit, MmaFormat a, MmaFormat b,
                 MmaAccumulator accumulator);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_SUMLAW_H
