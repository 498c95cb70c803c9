//===- CompiledCase.h - A compiled function with its buffers ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_BENCHMARKS_COMPILEDCASE_H
#define BLOCKSCALE_BENCHMARKS_COMPILEDCASE_H

#include "Cases.h"

#include "blockscale/Emit/HostCode.h"
#include "blockscale/Emit/Jit.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace blockscale::bench {

/// Memory of large pages where the system has them, present and zero.
class Pages {
public:
  explicit Pages(int64_t bytes);

  int64_t getNumBytes() const { return bytes; }
  uint8_t *getData() { return data.get(); }

private:
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };

  int64_t bytes;
  std::unique_ptr<uint8_t, Free> data;
};

/// An argument or result in storage form, in memory of its own.
class Buffer : public Pages {
public:
  explicit Buffer(mlir::MemRefType type);

  /// What a packed call takes: the address of the pointer to the descriptor.
  void *getArgument() { return static_cast<void *>(&address); }

private:
  std::vector<int64_t> descriptor;
  void *address;
};

/// A case, compiled by the CPU pipeline for a CPU of this machine's kind, and
/// called once.
class CompiledCase {
public:
  static llvm::Expected<std::unique_ptr<CompiledCase>>
  create(const Case &source, const HostTarget &target);

  /// Bytes of all arguments and results: what a call reads and writes.
  int64_t getNumBytes() const;

  /// Fails where a run-time check of the function does.
  llvm::Error call();

private:
  CompiledCase(std::string name, Jit jit)
      : name(std::move(name)), jit(std::move(jit)) {}

  std::string name;
  Jit jit;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<void *> arguments;
};

} // namespace blockscale::bench

#endif // BLOCKSCALE_BENCHMARKS_COMPILEDCASE_H
