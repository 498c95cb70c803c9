//===- Jit.h - Link compiled code and call it ----------------- -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMIT_JIT_H
#define BLOCKSCALE_EMIT_JIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace blockscale {

/// An object for this machine, linked in this process.
class Jit {
public:
  /// A function of the host runtime that compiled code may call.
  struct Symbol {
    llvm::StringRef name;
    void *address;
  };

  /// Takes pointers to the argument values.
  using Function = void (*)(void **arguments);

  /// Links an object of emitPackedObject, whose features this machine must
  /// have, as far as `function` needs it, which is all of it. The object may go
  /// afterwards.
  static llvm::Expected<Jit> link(llvm::StringRef object,
                                  llvm::ArrayRef<Symbol> symbols,
                                  llvm::StringRef function);
  ~Jit();
  Jit(Jit &&) noexcept;

  /// A function that was emitted with a C interface: each memref argument is a
  /// pointer to its descriptor.
  llvm::Expected<Function> find(llvm::StringRef function) const;

private:
  struct Session;
  explicit Jit(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session;
};

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_JIT_H
