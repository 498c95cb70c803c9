//===- PassDriver.h - Passes on a module ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_OPT_PASSDRIVER_H
#define BLOCKSCALE_TOOLS_OPT_PASSDRIVER_H

#include "mlir/IR/DialectRegistry.h"

namespace blockscale {

/// The program blockscale-opt with the passes that are registered and with
/// these dialects. Returns its exit status.
int runPassDriver(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_OPT_PASSDRIVER_H
