//===- TextMutator.h - Mutations of tokens and lines ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZING_TEXTMUTATOR_H
#define BLOCKSCALE_TOOLS_FUZZING_TEXTMUTATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <random>
#include <string>

namespace blockscale {

/// What texts of a language are made of.
struct Vocabulary {
  /// Words and numbers that change what a text means.
  llvm::ArrayRef<llvm::StringRef> tokens;
  /// What words have beside letters and digits.
  llvm::StringRef wordCharacters;
};

/// `text` with one token or line exchanged, repeated or left out. Mutated bytes
/// seldom parse; these often do.
std::string mutateText(llvm::StringRef text, const Vocabulary &vocabulary,
                       std::minstd_rand &random);

/// `bytes` with one byte changed, inserted or removed.
std::string mutateBytes(llvm::StringRef bytes, std::minstd_rand &random);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZING_TEXTMUTATOR_H
