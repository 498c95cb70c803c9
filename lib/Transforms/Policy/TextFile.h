//===- TextFile.h - Files of JSON that passes read --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_POLICY_TEXTFILE_H
#define BLOCKSCALE_LIB_TRANSFORMS_POLICY_TEXTFILE_H

#include "blockscale/Runtime/Result.h"

#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// The longest text that is read.
inline constexpr uint64_t kMaxTextBytes = 1 << 20;

/// The content of a regular file of at most so many bytes. The message of a
/// failure names the file.
runtime::Result<std::string> readText(llvm::StringRef path);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_POLICY_TEXTFILE_H
