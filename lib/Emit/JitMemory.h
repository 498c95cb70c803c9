//===- JitMemory.h - Memory for compiled code -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_JITMEMORY_H
#define BLOCKSCALE_LIB_EMIT_JITMEMORY_H

#include "llvm/ExecutionEngine/SectionMemoryManager.h"

namespace blockscale {

/// Memory for the sections of one program, all of them near each other: code
/// reaches its tables and stubs by distances of 32 bits. The mapper that LLVM
/// uses otherwise takes whatever the system gives, which in a process with many
/// libraries may be farther apart; the distances are then cut off.
class JitMemory : public llvm::SectionMemoryManager::MemoryMapper {
public:
  JitMemory();
  ~JitMemory() override;
  JitMemory(const JitMemory &) = delete;
  JitMemory &operator=(const JitMemory &) = delete;

  /// The bytes that are reserved.
  size_t getSize() const { return size; }

  llvm::sys::MemoryBlock
  allocateMappedMemory(llvm::SectionMemoryManager::AllocationPurpose purpose,
                       size_t bytes, const llvm::sys::MemoryBlock *near,
                       unsigned flags, std::error_code &error) override;
  std::error_code protectMappedMemory(const llvm::sys::MemoryBlock &block,
                                      unsigned flags) override;
  /// Keeps the block: all of them are given back together.
  std::error_code releaseMappedMemory(llvm::sys::MemoryBlock &block) override;

private:
  /// Addresses that are reserved; memory is used when a section is in it.
  char *begin = nullptr;
  size_t size = 0;
  size_t used = 0;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_JITMEMORY_H
