//===- Fuzzer.h - What tells one fuzzer from another ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fuzzer takes texts, and descriptions of texts that it generates. libFuzzer
// drives it, or ReplayMain.cpp in builds without.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZING_FUZZER_H
#define BLOCKSCALE_TOOLS_FUZZING_FUZZER_H

#include "TextMutator.h"

namespace blockscale {

class Fuzzer {
public:
  virtual ~Fuzzer() = default;

  /// The name of the tool, as its help gives it.
  virtual const char *getName() const = 0;
  /// What the tool does, as its help says it.
  virtual const char *getOverview() const = 0;
  virtual const Vocabulary &getVocabulary() const = 0;

  /// The text that an input stands for.
  virtual std::string getText(llvm::StringRef input) const = 0;

  /// Runs an input. Aborts where a rule of the project is broken.
  virtual void run(llvm::StringRef input) = 0;

  /// What became of the inputs: one line.
  virtual std::string getSummary() const = 0;
};

/// The tool's; each tool defines it.
Fuzzer &getFuzzer();

/// An input whose first byte is not ASCII is a description, any other a text.
inline bool isDescription(llvm::StringRef input) {
  return !input.empty() && static_cast<unsigned char>(input.front()) >= 0x80;
}

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZING_FUZZER_H
