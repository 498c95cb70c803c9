//===- KernelWriter.h - Text of one random kernel ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_KERNELWRITER_H
#define BLOCKSCALE_TOOLS_FUZZ_KERNELWRITER_H

#include "ByteSource.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <string>

namespace blockscale {

class KernelWriter {
public:
  explicit KernelWriter(llvm::StringRef input) : bytes(input) {}

  std::string write();

private:
  // KernelGenerator.cpp.
  void writeInstruction();
  void chooseModifiers(const emulator::InstructionForm &form);
  const emulator::InstructionForm *chooseForm();
  bool isNotModelled() const;
  void fitAccess();

  // KernelOperands.cpp.
  std::string writeOperand(const emulator::OperandSpec &spec);
  std::string writeConstant();
  std::string writeValue(const emulator::OperandSpec &spec);
  std::string writeList(const emulator::OperandSpec &spec, emulator::Type type,
                        unsigned count);
  std::string writeAddress();
  std::string writeImmediate(emulator::Type type);
  std::string getRegister(emulator::Type type);
  std::string define(llvm::StringRef name);
  std::string initialValue(llvm::StringRef name);
  bool has(llvm::StringRef modifier) const {
    return llvm::is_contained(modifiers, modifier);
  }
  unsigned getVectorCount(const emulator::OperandSpec &spec) const;

  ByteSource bytes;
  /// Name, modifiers and types of the instruction that is written.
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef> modifiers;
  llvm::SmallVector<emulator::Type> types;
  std::string body;
  /// Registers that the body names, and what makes their first values.
  std::map<std::string, std::string> initial;
};

/// Labels of a kernel, L0 and so on.
constexpr unsigned kLabels = 4;

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_KERNELWRITER_H
