//===- Fields.h - Pieces of command-line values -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_EMULATE_FIELDS_H
#define BLOCKSCALE_TOOLS_EMULATE_FIELDS_H

#include "blockscale/Runtime/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace blockscale::emulate {

/// The error "expected WHAT, but got 'FOUND'".
llvm::Error unexpected(const llvm::Twine &what, llvm::StringRef found);

llvm::Error toError(const runtime::Status &status);

/// A number of 64 bits without sign, decimal or with 0x.
llvm::Expected<uint64_t> parseNumber(llvm::StringRef text,
                                     const llvm::Twine &what);

/// The numbers of a list as "4x5x6".
llvm::Expected<std::vector<uint64_t>> parseNumbers(llvm::StringRef text,
                                                   const llvm::Twine &what,
                                                   char separator = 'x');

/// The place of `text` among `names`.
llvm::Expected<size_t> parseChoice(llvm::StringRef text,
                                   llvm::ArrayRef<std::string_view> names,
                                   const llvm::Twine &what);

} // namespace blockscale::emulate

#endif // BLOCKSCALE_TOOLS_EMULATE_FIELDS_H
