//===- RoundTrip.h - Values of codes that were just made --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A round trip is a quantization and the dequantization of its codes. A GPU
// computes both in the kernel that quantizes, from codes and scales in
// registers, and stores codes and scales only if something else reads them:
//
//   %q, %s = blockscale.quantize %x ..
//   %v = blockscale.dequantize %q, %s ..
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_ROUNDTRIP_H
#define BLOCKSCALE_ANALYSIS_ROUNDTRIP_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

namespace blockscale {

/// The first `dequantize` of the codes and scales of `op` in its block; null if
/// there is none.
DequantizeOp findDecoder(QuantizeOp op);

/// Whether memory holds `value`, which an op in the body of a kernel computes.
bool isStored(mlir::Value value);

/// Why the kernel that computes `quantize` cannot compute `op` as well:
///
///  - round_trip_c1: it is the first dequantization of these codes and scales,
///    in their block.
///  - round_trip_c2: blocks of one row, data in the order of x, and rows of a
///    static length; a kernel of blocks of several rows, or of several
///    quantizations of one x, takes all.
///  - round_trip_c3: the dequantization has no global operand; in a kernel of
///    blocks of several rows, or of several quantizations, it may have that of
///    the quantization, or the scale of its amax that the kernel computes, for
///    all of x or for each matrix.
///  - round_trip_c4: the kernel quantizes x once, or it is one of blocks of
///    several rows, or of several quantizations, of one x.
///
/// `family` is that of the kernel, which has `ops`.
std::optional<FusionObstacle>
findRoundTripObstacle(QuantizeOp quantize, DequantizeOp op, KernelFamily family,
                      llvm::ArrayRef<mlir::Operation *> ops);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_ROUNDTRIP_H
