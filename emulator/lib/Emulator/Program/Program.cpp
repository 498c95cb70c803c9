//===- Program.cpp - Modules ready for execution --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Program.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Addresses of functions, away from every window of data.
static constexpr uint64_t kFunctionBase = 0x0500'0000'0000;
static constexpr uint64_t kFunctionStride = 16;

uint64_t Program::getAddress(uint32_t function) {
  return kFunctionBase + function * kFunctionStride;
}

const ProgramFunction *Program::findFunction(uint64_t address) const {
  uint64_t distance = address - kFunctionBase;
  if (distance % kFunctionStride != 0 ||
      distance / kFunctionStride >= functions.size())
    return nullptr;
  return &functions[distance / kFunctionStride];
}

const ProgramFunction &Program::getFunctionOf(uint32_t op) const {
  // Functions follow each other; a declaration is empty.
  auto next = llvm::upper_bound(
      functions, op,
      [](uint32_t op, const ProgramFunction &f) { return op < f.end; });
  return next == functions.end() ? functions.back() : *next;
}

const ProgramFunction *Program::findKernel(llvm::StringRef name) const {
  auto it = llvm::find_if(functions, [&](const ProgramFunction &f) {
    return f.function->isEntry && f.function->hasBody &&
           f.function->name == name;
  });
  return it == functions.end() ? nullptr : &*it;
}

llvm::SmallVector<llvm::StringRef> Program::getKernelNames() const {
  llvm::SmallVector<llvm::StringRef> names;
  for (const ProgramFunction &f : functions)
    if (f.function->isEntry && f.function->hasBody)
      names.push_back(f.function->name);
  return names;
}

uint32_t Program::addConstant(uint64_t value) {
  auto [it, isNew] = constantIndices.try_emplace(
      value, static_cast<uint32_t>(constants.size()));
  if (isNew) {
    constants.emplace_back();
    constants.back().fill(value);
  }
  return it->second;
}

} // namespace blockscale::emulator
