//===- TextMutator.h - Mutations of tokens and lines ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_TEXTMUTATOR_H
#define BLOCKSCALE_TOOLS_FUZZ_TEXTMUTATOR_H

#include "llvm/ADT/StringRef.h"

#include <random>
#include <string>

namespace blockscale {

/// `text` with one token or line exchanged, repeated or left out. Mutated bytes
/// seldom parse; these often do.
std::string mutateText(llvm::StringRef text, std::minstd_rand &random);

/// `bytes` with one byte changed, inserted or removed.
std::string mutateBytes(llvm::StringRef bytes, std::minstd_rand &random);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_TEXTMUTATOR_H
