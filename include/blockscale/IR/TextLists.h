//===- TextLists.h - Lists in text of MLIR ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers of linalg read a list of integers behind a word, as `permutation =
// [1, 0]`, and use it without a look at whether it was one: other text ends the
// process.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_TEXTLISTS_H
#define BLOCKSCALE_IR_TEXTLISTS_H

#include "blockscale/IR/TextNesting.h"

namespace blockscale {

/// The first place of `text` at which such a list is none; none where all are.
std::optional<TextFault> findTextListFault(llvm::StringRef text);

} // namespace blockscale

#endif // BLOCKSCALE_IR_TEXTLISTS_H
