//===- Cases.h - The functions that are timed -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_BENCHMARKS_CASES_H
#define BLOCKSCALE_BENCHMARKS_CASES_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace blockscale::bench {

/// A module of one public function.
struct Case {
  /// The function's name.
  std::string name;
  std::string text;
};

/// The modules of a file, which lines `// -----` separate. They are not parsed,
/// so that one in error does not hide the others.
llvm::Expected<std::vector<Case>> readCases(const std::string &path);

} // namespace blockscale::bench

#endif // BLOCKSCALE_BENCHMARKS_CASES_H
