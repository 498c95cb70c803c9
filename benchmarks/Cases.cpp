//===- Cases.cpp - The functions that are timed ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace blockscale::bench {

llvm::Expected<std::vector<Case>> readCases(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError(file.getError(), "'" + path + "'");
  llvm::SmallVector<llvm::StringRef> chunks;
  (*file)->getBuffer().split(chunks, "// -----\n");
  std::vector<Case> cases;
  for (llvm::StringRef chunk : chunks) {
    llvm::StringRef name = chunk.split("func.func @").second.split('(').first;
    if (name.empty())
      return llvm::createStringError("expected a function in each part of '" +
                                     path + "', but got '" + chunk.trim() +
                                     "'");
    cases.push_back({name.str(), chunk.str()});
  }
  return cases;
}

} // namespace blockscale::bench
