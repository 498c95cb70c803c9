//===- ChildProcess.h - A program that answers bytes with bytes -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A child process of a host that this library knows nothing about: it may have
// threads, block or ignore signals, wait for all of its children, and fork at
// any moment. So the child begins with no signal blocked or ignored and with no
// file open but its own; it and the host share a socket, writing to which sends
// the host no signal; and nothing depends on the child's exit status, which the
// host may have taken.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_DRIVER_CHILDPROCESS_H
#define BLOCKSCALE_LIB_DRIVER_CHILDPROCESS_H

#include "blockscale/Runtime/Result.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <string>

namespace blockscale {

/// Starts `program` without arguments, gives it `input` as standard input, and
/// returns what it writes to standard output: up to where `isWhole`, or all of
/// it where the program ends before. Its standard error goes nowhere. Fails
/// where the program cannot be started, and where `limit` is over before the
/// output is whole. The program no longer runs afterwards.
runtime::Result<std::string>
exchange(const std::string &program, llvm::StringRef input,
         std::chrono::milliseconds limit,
         llvm::function_ref<bool(llvm::StringRef)> isWhole);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DRIVER_CHILDPROCESS_H
