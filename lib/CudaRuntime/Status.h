//===- Status.h - Errors that the functions return --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_STATUS_H
#define BLOCKSCALE_LIB_CUDARUNTIME_STATUS_H

#include "Abi.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace blockscale::cuda {

/// Makes `error` the last error of this thread, where it is one.
Error setLastError(Error error);

/// Says on standard error what a function refuses and why, and sets the last
/// error. No failure is silent: what a program does with a code is its affair.
Error fail(llvm::StringRef function, Error error, const llvm::Twine &why);

/// The failure of what CUDA has and the emulator has not.
Error failNotModelled(llvm::StringRef function, const llvm::Twine &what);

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_STATUS_H
