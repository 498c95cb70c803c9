//===- Program.h - Modules ready for execution ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A verified module laid out and decoded: every function's instructions in one
// list of ops, its registers as slots, its parameters, shared and local
// variables at their offsets, and the module's variables in the memories of a
// device.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_PROGRAM_H
#define BLOCKSCALE_EMULATOR_PROGRAM_H

#include "blockscale/Emulator/Device.h"
#include "blockscale/Emulator/Op.h"

#include "llvm/ADT/SmallBitVector.h"

#include <deque>
#include <unordered_map>

namespace blockscale::emulator {

/// Where variables of one kind lie, by their index in the function or module.
struct VariableLayout {
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
};

/// A variable of shared memory.
struct SharedVariable {
  const Variable *variable;
  uint64_t offset;
};

struct ProgramFunction {
  const Function *function = nullptr;
  /// The first of the program's ops that is the function's, and the first that
  /// is not; `entry == end` for a declaration.
  uint32_t entry = 0;
  uint32_t end = 0;
  /// The slot of each register, by the register's index.
  std::vector<uint32_t> slots;
  uint32_t slotCount = 0;
  /// The carry flag's slot.
  uint32_t carrySlot = 0;
  /// Parameters, of a kernel in its parameter space, else in the frame.
  VariableLayout parameters;
  /// Results and `.param` variables of the body, in the frame behind the
  /// parameters.
  VariableLayout results;
  /// Variables of the body by their index, each in its own space: `.param` in
  /// the frame, `.local` in the lane's memory, `.shared` in that of the CTA.
  VariableLayout variables;
  uint64_t frameBytes = 0;
  uint64_t localBytes = 0;
  uint64_t localAlignment = 1;
  /// The sized shared variables that a kernel and what it calls use, by rising
  /// offset, and the bytes up to the end of the last one.
  std::vector<SharedVariable> shared;
  uint64_t staticSharedBytes = 0;
  /// The alignment of its unsized shared arrays, which all lie together behind
  /// the sized variables.
  uint64_t dynamicSharedAlignment = 16;
  /// The functions that may run with a kernel, the kernel among them.
  llvm::SmallBitVector reached;
  /// The instructions that execution does not model, a line each:
  /// "LINE:COL: error: MESSAGE".
  std::vector<std::string> notModelled;
};

class Program {
public:
  /// Parses, checks, lays out and decodes PTX. The error joins those of all
  /// instructions.
  static llvm::Expected<std::unique_ptr<Program>> load(llvm::StringRef ptx,
                                                       Device &device);

  /// Lays out and decodes a verified module, whose global and constant
  /// variables become buffers of `device`. The error is a Diagnostic at a
  /// variable that cannot be made; instructions that are not modelled are an
  /// error of the kernels that may run them.
  static llvm::Expected<std::unique_ptr<Program>> create(Module module,
                                                         Device &device);

  const Module &getModule() const { return module; }
  llvm::ArrayRef<Op> getOps() const { return ops; }
  llvm::ArrayRef<ProgramFunction> getFunctions() const { return functions; }
  const ProgramFunction &getFunctionOf(uint32_t op) const;

  /// The kernel of this name, or null.
  const ProgramFunction *findKernel(llvm::StringRef name) const;
  /// Names of the kernels in the order of the text.
  llvm::SmallVector<llvm::StringRef> getKernelNames() const;

  const uint64_t *getConstant(uint32_t index) const {
    return constants[index].data();
  }
  /// The constant of this value in all lanes.
  uint32_t addConstant(uint64_t value);

  /// What a function's name stands for as a value, and back; null for an
  /// address of no function.
  static uint64_t getAddress(uint32_t function);
  const ProgramFunction *findFunction(uint64_t address) const;

private:
  explicit Program(Module module) : module(std::move(module)) {}

  Module module;
  std::vector<Op> ops;
  std::vector<ProgramFunction> functions;
  std::deque<std::array<uint64_t, kWarpSize>> constants;
  /// The index of each constant by its value. A DenseMap would reserve two
  /// values.
  std::unordered_map<uint64_t, uint32_t> constantIndices;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_PROGRAM_H
