//===- Jit.h - Compile for this machine and call ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMIT_JIT_H
#define BLOCKSCALE_EMIT_JIT_H

#include "blockscale/Emit/HostCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace blockscale {

class JitMemory;

/// A compiled module of the LLVM dialect in this process.
class Jit {
public:
  /// A function of the host runtime that compiled code may call.
  struct Symbol {
    llvm::StringRef name;
    void *address;
  };

  /// Compiles for `target`, which this machine must be able to run.
  static llvm::Expected<Jit> create(mlir::ModuleOp module,
                                    llvm::ArrayRef<Symbol> symbols,
                                    const HostTarget &target = {"host", ""});
  ~Jit();
  Jit(Jit &&) noexcept;

  /// Calls `function`, which was emitted with a C interface: each memref
  /// argument is a pointer to its descriptor. `arguments` point to the
  /// argument values.
  llvm::Error call(llvm::StringRef function,
                   llvm::MutableArrayRef<void *> arguments);

private:
  Jit(std::unique_ptr<JitMemory> memory,
      std::unique_ptr<mlir::ExecutionEngine> engine);

  /// What the engine's code is in, which it therefore outlives.
  std::unique_ptr<JitMemory> memory;
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_JIT_H
