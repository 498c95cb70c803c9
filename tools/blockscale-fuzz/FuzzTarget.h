//===- FuzzTarget.h - What one input of the fuzzer does ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_FUZZTARGET_H
#define BLOCKSCALE_TOOLS_FUZZ_FUZZTARGET_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscale {

/// How many modules were generated and how far they came, so that a generator
/// of nothing but refused ones is noticed.
struct FuzzCounts {
  unsigned generated = 0;
  unsigned toCPU = 0;
  unsigned toSM100 = 0;
};

/// The text of the module that an input stands for; descriptions are those of
/// ModuleGenerator.
std::string getModuleText(llvm::StringRef input);

/// Parses, verifies and lowers the module of `input`. Diagnostics are fine;
/// aborts where a rule of the project is broken that needs no reference: a
/// failure without a diagnostic, a printed module that does not parse, a
/// generated module that lowers to ops of other dialects than LLVM.
void runFuzzInput(llvm::StringRef input, FuzzCounts &counts);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_FUZZTARGET_H
