//===- LibFuzzerEntry.cpp - Entry points of libFuzzer ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "ToolOptions.h"

#include "llvm/ADT/STLExtras.h"

using namespace blockscale;

// The names are libFuzzer's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Tells the version of the tool. The call also links the sanitizers' options,
/// which are beside setToolVersion.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  setToolVersion(getFuzzer().getName());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  getFuzzer().run({reinterpret_cast<const char *>(data), size});
  return 0;
}

/// Text is mutated by tokens half of the time, descriptions by bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  llvm::StringRef input(reinterpret_cast<const char *>(data), size);
  if (size == 0 || isDescription(input) || random() % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string mutated = mutateText(input, getFuzzer().getVocabulary(), random);
  mutated.resize(std::min(mutated.size(), maxSize));
  llvm::copy(mutated, data);
  return mutated.size();
}
// NOLINTEND(readability-identifier-naming)
