//===- RegisterPool.h - Registers of the threads of a CTA -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warps of a CTA begin with as many registers each. `setmaxnreg` gives some
// back, or waits for others to do so (PTX ISA, "setmaxnreg"). A kernel whose
// warps want more in the end than all began with waits for ever.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MACHINE_REGISTERPOOL_H
#define BLOCKSCALE_LIB_EMULATOR_MACHINE_REGISTERPOOL_H

#include "blockscale/Emulator/Ast.h"

#include "llvm/ADT/MapVector.h"
#include <optional>

namespace blockscale::emulator {

struct Op;
class Warp;

class RegisterPool {
public:
  /// The pool of a CTA of `warps` warps. What threads begin with follows from
  /// .maxnreg, or from .reqntid or .maxntid and .minnctapersm, as ptxas gives
  /// them as many as fit. Without these nothing is known, and nothing checked.
  RegisterPool(const Function &kernel, unsigned warps);

  /// Threads of a warp have `count` registers from here on.
  void set(Warp &warp, const Op &op, unsigned lane, int64_t count);
  /// Reports warps that have more than there are, once all threads have exited.
  void check();

private:
  struct Request {
    const Op *op;
    unsigned lane;
    int64_t count;
  };
  unsigned warps;
  /// Registers that threads begin with.
  std::optional<int64_t> first;
  llvm::MapVector<Warp *, Request> requests;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MACHINE_REGISTERPOOL_H
