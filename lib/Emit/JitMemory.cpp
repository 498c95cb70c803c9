//===- JitMemory.cpp - Memory for compiled code ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitMemory.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Process.h"

#include <sys/mman.h>

using llvm::sys::Memory;
using llvm::sys::MemoryBlock;

namespace blockscale {

/// The most that is reserved, so that distances have 31 bits, and the least,
/// where a process may have few addresses.
static constexpr size_t kMostBytes = size_t(2047) << 20;
static constexpr size_t kLeastBytes = size_t(32) << 20;

JitMemory::JitMemory() {
  for (size = kMostBytes; size >= kLeastBytes; size /= 2) {
    void *found = mmap(nullptr, size, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found != MAP_FAILED) {
      begin = static_cast<char *>(found);
      return;
    }
  }
  size = 0;
}

JitMemory::~JitMemory() {
  if (begin)
    munmap(begin, size);
}

MemoryBlock
JitMemory::allocateMappedMemory(llvm::SectionMemoryManager::AllocationPurpose,
                                size_t bytes, const MemoryBlock *,
                                unsigned flags, std::error_code &error) {
  size_t rounded =
      llvm::alignTo(bytes, llvm::sys::Process::getPageSizeEstimate());
  if (rounded < bytes || rounded > size - used) {
    error = std::make_error_code(std::errc::not_enough_memory);
    return MemoryBlock();
  }
  MemoryBlock block(begin + used, rounded);
  error = Memory::protectMappedMemory(block, flags);
  if (error)
    return MemoryBlock();
  used += rounded;
  return block;
}

std::error_code JitMemory::protectMappedMemory(const MemoryBlock &block,
                                               unsigned flags) {
  return Memory::protectMappedMemory(block, flags);
}

std::error_code JitMemory::releaseMappedMemory(MemoryBlock &block) {
  block = MemoryBlock();
  return std::error_code();
}

} // namespace blockscale
