//===- BlockStreams.h - Quantization of neighbours at full speed *- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H

#include "BlockQuantizer.h"

namespace blockscale::cpu {

/// emitQuantizeBlocks of blocks whose scales follow from their amaxes, rounded
/// to nearest: the case that all others are compared with for speed.
QuantizedBlocks emitQuantizeStreams(const BlockFormat &format,
                                    const GlobalFactors &global, Lanes x);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BLOCKSTREAMS_H
