//===- PrepackedCodes.h - Codes that are stored prepacked -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of a GPU that quantizes x may store its codes in the prepacked
// layout (Numerics/DataLayout.h) instead of in rows, so that no other kernel
// reads and moves them:
//
//   %q, %s = blockscale.quantize %x ..
//   %p = blockscale.prepack %q ..
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_PREPACKEDCODES_H
#define BLOCKSCALE_ANALYSIS_PREPACKEDCODES_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

namespace blockscale {

/// The op that prepacks the codes of `op`, if it is in the same block and
/// nothing else reads the codes, but perhaps their sizes; null otherwise.
PrepackOp findPrepack(QuantizeOp op);

/// Why the kernel that computes `quantize` cannot store codes as `op`, which
/// prepacks them, does:
///
///  - prepacked_codes_c1: nothing else reads the codes, and `op` is in their
///    block.
///  - prepacked_codes_c2: blocks of one row, data in the order of x, and rows
///    of a static length, a multiple of four blocks.
///  - prepacked_codes_c3: the kernel has no other ops, but those that compute
///    the global operand.
///  - prepacked_codes_c4: no global operand for each row, block amaxes, random
///    bits or offsets.
///
/// `ops` are those of the kernel.
std::optional<FusionObstacle>
findPrepackObstacle(QuantizeOp quantize, PrepackOp op,
                    llvm::ArrayRef<mlir::Operation *> ops);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_PREPACKEDCODES_H
