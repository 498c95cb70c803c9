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

#include "llvm/ADT/StringRef.h"

#include <cstdint>
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

/// The 64-bit results of a kernel that executes an instruction, given without
/// operands as "add.rn.ftz.f32", for each column of sources: rows are operands,
/// the last one those of all that follow. There may be more than the columns.
std::vector<uint64_t> runInstruction(llvm::StringRef instruction,
                                     const NpyNumbers &sources);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_UNITTESTS_EMULATOR_PTXVECTORS_H
