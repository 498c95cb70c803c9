//===- QuadKernel.h - Quantizers whose threads are quads --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantizers of blocks of one row that store codes in the prepacked layout
// (Numerics/DataLayout.h), or whose global operand takes the amax of an x that
// the kernel before has read.
//
// A CTA has 64 rows, and a warp 16 of them, as it has of a block in that
// layout. Four neighbouring threads, a quad, have the same two rows, eight
// apart:
//
//   columns ->   thread 0   thread 1   thread 2   thread 3
//   row r      | fragment | fragment | fragment | fragment |
//   row r + 8  | fragment | fragment | fragment | fragment |
//
// So a quad has all codes of the pieces (DeviceEmission/PrepackPiece.h) that
// its threads store, and exchanges them by shuffles. All that a thread loads of
// x it loads first, before it waits for the kernel before if it may, and the
// CTAs that begin first have the end of x, which that kernel has read last.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUADKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUADKERNEL_H

#include "DeviceEmission/LaunchSite.h"
#include "QuantizeSpec.h"

namespace blockscale {

/// Whether there is such a kernel for `spec`.
bool canHaveQuads(const QuantizeSpec &spec);

/// Elements of a thread of a quad in a row.
int64_t getQuadFragment(const QuantizeSpec &spec);

/// Launches the kernel of a `spec` whose threads are quads.
void launchQuadQuantize(LaunchSite &site, const QuantizeSpec &spec,
                        QuantizeOperands operands);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUADKERNEL_H
