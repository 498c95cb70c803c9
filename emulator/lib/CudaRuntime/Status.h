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

/// Whether a function is the driver's, whose names go on with a capital letter
/// (cuMemAlloc), and not the runtime's (cudaMalloc).
bool isOfDriver(llvm::StringRef function);

/// Says on standard error what a function refuses and why. No failure is
/// silent: what a program does with a code is its affair. A function of the
/// runtime sets the last error, too; for one of the driver the result is the
/// driver's error.
Error fail(llvm::StringRef function, Error error, const llvm::Twine &why);

/// The failure of what CUDA has and the emulator has not.
Error failNotModelled(llvm::StringRef function, const llvm::Twine &what);

/// The failure of a device that is not the only one.
Error checkDevice(int device, llvm::StringRef function);

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_STATUS_H
