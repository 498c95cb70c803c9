//===- PtxTarget.h - What one PTX text of the fuzzer does -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZ_PTXTARGET_H
#define BLOCKSCALE_TOOLS_FUZZ_PTXTARGET_H

#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// How far a text came.
enum class PtxProgress {
  /// The parser or the validation has an error.
  Refused,
  /// No kernel could be launched: what it uses is not modelled, or it asks for
  /// more than the fuzzer gives.
  Verified,
  /// A kernel executed instructions.
  Executed,
};

/// Parses and verifies PTX and runs its kernels in the emulator on small grids,
/// under both schedules. Errors and findings are fine.
PtxProgress runPtx(llvm::StringRef text);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZ_PTXTARGET_H
