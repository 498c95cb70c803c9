//===- Call.h - A call of one of the functions ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_CALL_H
#define BLOCKSCALE_LIB_CUDARUNTIME_CALL_H

#include "Session.h"

#include "llvm/ADT/StringRef.h"

namespace blockscale::cuda {

/// What a function needs before it can do anything.
enum class Needs {
  /// That cuInit was called: functions of the driver that ask for the device.
  Driver,
  /// A context that is current, and that no kernel has broken: all others. The
  /// runtime's functions make the context themselves.
  Context,
};

/// A call of a function of CUDA, which holds the session while it lasts.
class Call {
public:
  /// `function` has the name that CUDA's headers give it.
  explicit Call(llvm::StringRef function, Needs needs = Needs::Context);

  Session &session;

private:
  std::lock_guard<std::mutex> lock;

public:
  llvm::StringRef function;
  /// What the function returns at once where it is no success: what it needs is
  /// missing, or a kernel broke the context before.
  Error error;
};

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_CALL_H
