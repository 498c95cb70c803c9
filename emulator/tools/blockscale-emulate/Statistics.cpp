//===- Statistics.cpp - Counts of instructions ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace blockscale::emulator;

namespace blockscale::emulate {

using Counts = std::map<std::string, uint64_t>;

/// The most frequent first, the rest by name.
static void printSorted(const Counts &counts, llvm::raw_ostream &os) {
  std::vector<std::pair<std::string, uint64_t>> sorted(counts.begin(),
                                                       counts.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (const auto &[spelling, count] : sorted)
    os << llvm::format_decimal(count, 12) << "  " << spelling << "\n";
}

void printCounts(const Module &module, llvm::raw_ostream &os) {
  size_t kernels = 0, functions = 0, instructions = 0;
  Counts counts;
  for (const Function &function : module.functions) {
    kernels += function.isEntry && function.hasBody;
    functions += !function.isEntry && function.hasBody;
    instructions += function.instructions.size();
    for (const Instruction &instruction : function.instructions)
      ++counts[instruction.getSpelling()];
  }
  os << "kernels: " << kernels << "\n"
     << "device functions: " << functions << "\n"
     << "instructions: " << instructions << "\n";
  printSorted(counts, os);
}

void printProfile(const Program &program, const Profile &profile,
                  llvm::raw_ostream &os) {
  os << "thread instructions: " << profile.threadInstructions << "\n"
     << "warp instructions: " << profile.warpInstructions << "\n";
  for (size_t i = 0; i < profile.bytesRead.size(); ++i) {
    uint64_t read = profile.bytesRead[i], written = profile.bytesWritten[i];
    if (read || written)
      os << "bytes of ." << getName(static_cast<StateSpace>(i)) << ": " << read
         << " read, " << written << " written\n";
  }
  if (profile.sectorsRead || profile.sectorsWritten)
    os << "sectors of .global: " << profile.sectorsRead << " read, "
       << profile.sectorsWritten << " written\n";
  os << "shared bank conflicts: " << profile.bankConflicts << "\n"
     << "tensor core instructions: " << profile.mmas << "\n";
  printSorted(countBySpelling(program, profile), os);
}

} // namespace blockscale::emulate
