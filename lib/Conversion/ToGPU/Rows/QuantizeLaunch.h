//===- QuantizeLaunch.h - Launches of row quantizers ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZELAUNCH_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZELAUNCH_H

#include "DeviceEmission/LaunchSite.h"
#include "QuantizeSpec.h"

namespace blockscale {

/// Asserts that the first `count` dimensions of an operand `name`, if it is
/// there, are those of `like`.
void requireSizes(mlir::ImplicitLocOpBuilder &b, mlir::Value operand,
                  int64_t count, mlir::Value like, llvm::StringRef name,
                  llvm::StringRef source);
/// Product of the sizes of dimensions [begin, end) of a memref.
emit::Lanes getSizeProduct(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                           int64_t begin, int64_t end);

/// Reads the numbers of groups and of their tiles off the buffers of
/// `operands`. Gives the number of CTAs, of `threads` threads: `blocks`, which
/// are those on x, and those that fill up tiles of groups.
emit::Lanes addGroups(mlir::ImplicitLocOpBuilder &b, const QuantizeSpec &spec,
                      QuantizeOperands &operands, emit::Lanes blocks,
                      int64_t threads);

/// Launches the kernel of `spec` on the buffers of `operands`. Sizes come from
/// the type of x or are computed at run time.
void launchQuantize(LaunchSite &site, const QuantizeSpec &spec,
                    QuantizeOperands operands);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZELAUNCH_H
