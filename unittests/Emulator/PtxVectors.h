//===- PtxVectors.h - Results of instructions on a GPU ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arrays that test/Data/make_ptx_vectors.py wrote, and the emulator's
// result for an instruction given as text.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMULATOR_PTXVECTORS_H
#define BLOCKSCALE_UNITTESTS_EMULATOR_PTXVECTORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blockscale::emulator {

/// Unsigned numbers of a .npy file of any width, row after row.
struct NpyNumbers {
  std::vector<uint64_t> values;
  size_t rows = 1, columns = 0;
  unsigned bytes = 0;
};

/// The array `archive`/`name` of test/Data; empty, with a failure, without it.
NpyNumbers readNumbers(const std::string &archive, const std::string &name);

/// Names of the arrays of an archive.
std::vector<std::string> listNumbers(const std::string &archive);

using Evaluator = std::function<uint64_t(const uint64_t *sources)>;

/// What the emulator does for an instruction without operands, as
/// "add.rn.ftz.f32"; null for one it does not know. Families of instructions:
Evaluator findEvaluator(llvm::StringRef instruction);
Evaluator findFloatEvaluator(llvm::ArrayRef<llvm::StringRef> words);
Evaluator findIntegerEvaluator(llvm::ArrayRef<llvm::StringRef> words);
Evaluator findConvertEvaluator(llvm::ArrayRef<llvm::StringRef> words);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_UNITTESTS_EMULATOR_PTXVECTORS_H
