//===- QuantizeLaunch.h - Launches of row quantizers ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_QUANTIZELAUNCH_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_QUANTIZELAUNCH_H

#include "LaunchSite.h"
#include "QuantizeSpec.h"

namespace blockscale {

/// Launches the kernel of `spec` on the buffers of `operands`. Sizes come from
/// the type of x or are computed at run time.
void launchQuantize(LaunchSite &site, const QuantizeSpec &spec,
                    QuantizeOperands operands);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_QUANTIZELAUNCH_H
