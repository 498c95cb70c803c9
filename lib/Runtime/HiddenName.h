//===- HiddenName.h - Names of files in the making --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_RUNTIME_HIDDENNAME_H
#define BLOCKSCALE_LIB_RUNTIME_HIDDENNAME_H

#include <string>

namespace blockscale::runtime {

/// A name that no other process or thread comes upon, also one with the same
/// process id on another machine.
std::string makeHiddenName();

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_HIDDENNAME_H
