//===- AsyncTest.h - Kernels with asynchronous work -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_EMULATOR_ASYNCTEST_H
#define BLOCKSCALE_UNITTESTS_EMULATOR_ASYNCTEST_H

#include "KernelTest.h"

#include "blockscale/Emulator/TensorMap.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace blockscale::emulator {

using TensorMapBytes = std::array<uint8_t, kTensorMapBytes>;

/// Runs kernels under the prompt schedule, and several adversarial and random
/// ones.
struct AsyncTest : KernelTest {
  static constexpr unsigned kSeeds = 6;

  /// A kernel of this name that takes `from` in %from and `to` in %to; it finds
  /// its thread in %t, and %r, %q, %h, %w and %p are ranges of 32, 64, 16 and
  /// 128 bits and of predicates. `shared` declares its shared memory.
  static std::string makeKernel(const std::string &shared,
                                const std::string &body,
                                const std::string &name = "kernel");

  /// Loads and launches the body in every schedule, `threads` threads a CTA,
  /// on a buffer `from` of these values and one `to` of as many bytes; calls
  /// `check` behind each.
  void runSchedules(const std::string &shared, const std::string &body,
                    unsigned threads, const std::vector<uint32_t> &from,
                    llvm::function_ref<void()> check);

  /// No schedule has a finding, and `to` holds these values.
  void expectResult(const std::string &shared, const std::string &body,
                    unsigned threads, const std::vector<uint32_t> &from,
                    const std::vector<uint32_t> &to);

  /// Every schedule, or all but one that is drawn, has a finding of this kind
  /// that says this.
  void expectFault(FaultKind kind, llvm::StringRef text,
                   const std::string &shared, const std::string &body,
                   unsigned threads, const std::vector<uint32_t> &from);

  /// Whether the last launch has such a finding.
  bool hasFinding(FaultKind kind, llvm::StringRef text) const;
};

/// Text with the one occurrence of `line` left out.
std::string without(std::string text, llvm::StringRef line);

/// Text with the first occurrence of `from` replaced.
std::string replace(std::string text, const std::string &from,
                    const std::string &to);

/// 0, 1, 2 and so on, and the like with another start or step.
std::vector<uint32_t> count(unsigned size, uint32_t first = 0,
                            uint32_t step = 1);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_UNITTESTS_EMULATOR_ASYNCTEST_H
