//===- BuildIdentity.h - What code this is -------------------- -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_DRIVER_BUILDIDENTITY_H
#define BLOCKSCALE_LIB_DRIVER_BUILDIDENTITY_H

#include <string>

namespace blockscale {

/// What compiles modules: the identities that linkers gave this code, MLIR and
/// LLVM, whose versions do not tell builds apart. Empty where one has none.
const std::string &getBuildIdentity();

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DRIVER_BUILDIDENTITY_H
