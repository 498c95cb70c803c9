//===- TextNesting.h - How deep text of MLIR may nest -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser, its printer and many passes call themselves for what is nested
// in something, so that deep text overflows the stack of the process.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_TEXTNESTING_H
#define BLOCKSCALE_IR_TEXTNESTING_H

#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace blockscale {

/// Most levels that text may nest. A level is a pair of brackets, an operator
/// of an affine expression, or the definition of an alias that another one
/// uses. The stack of a thread with a megabyte has room for it.
inline constexpr unsigned kMostTextNesting = 256;

/// A place of a text that cannot be parsed, and why.
struct TextFault {
  size_t offset;
  std::string message;
};

/// The first place at which `text` nests too deep; none where it does not.
/// Brackets in strings and comments do not count, whatever they are.
std::optional<TextFault> findTextNestingFault(llvm::StringRef text);

} // namespace blockscale

#endif // BLOCKSCALE_IR_TEXTNESTING_H
