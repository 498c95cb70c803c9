//===- KernelTexts.h - PTX that was made before -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The PTX of kernels that this process compiled before. Modules often have
// kernels in common: graphs of one model, a graph compiled anew for other
// sizes, layers of one form. LLVM takes most of the time from a module to its
// PTX, and what it makes depends only on the kernel's LLVM IR and the chip.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_KERNELTEXTS_H
#define BLOCKSCALE_LIB_IR_KERNELTEXTS_H

#include "PtxSerializer.h"

#include "llvm/ADT/StringMap.h"

#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace blockscale {

/// A hash of all that the PTX of a module depends on.
std::string hashKernel(const llvm::Module &module, const PtxTarget &target);

/// Texts by hashes, of so many bytes at most: the oldest make room for others.
/// Threads may use it at once.
class KernelTexts {
public:
  explicit KernelTexts(size_t mostBytes) : mostBytes(mostBytes) {}

  std::optional<std::string> find(llvm::StringRef hash);
  void add(llvm::StringRef hash, llvm::StringRef text);

private:
  std::mutex mutex;
  llvm::StringMap<std::string> texts;
  /// The hashes of the texts, the oldest first.
  std::deque<std::string> order;
  size_t bytes = 0;
  const size_t mostBytes;
};

/// Those of this process.
KernelTexts &getKernelTexts();

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_KERNELTEXTS_H
