//===- BytecodeReader.h - The program that reads bytecode -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's reader of bytecode aborts, overwrites memory, fills it or does not
// return where some bytes are damaged. So it runs in a program of its own,
// blockscale-read-bytecode, which is part of each installation.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_BYTECODEREADER_H
#define BLOCKSCALE_DRIVER_BYTECODEREADER_H

#include "blockscale/Driver/BytecodeAnswer.h"

#include <chrono>
#include <vector>

namespace blockscale {

/// A place where the program may be.
struct BytecodeReaderPlace {
  /// What a message calls the place: "$BLOCKSCALE_BYTECODE_READER", or a
  /// folder.
  std::string name;
  /// The file to try; empty where the place gives none.
  std::string path;
};

/// The places in order: $BLOCKSCALE_BYTECODE_READER, then folders as seen from
/// the library or program that this code is linked into, which are those of a
/// Python package, of a build and of an installation, then where this build
/// installs it.
std::vector<BytecodeReaderPlace> getBytecodeReaderPlaces();

/// The first place that has a program. The failure names all of them.
runtime::Result<std::string>
findBytecodeReader(const std::vector<BytecodeReaderPlace> &places);

/// What `program` answers to `content`. `limit` is a time on the clock, far
/// over the one of a CPU that the program itself keeps to; none stands for what
/// a busy machine may take.
runtime::Result<BytecodeAnswer>
askBytecodeReader(const std::string &program, llvm::StringRef content,
                  std::optional<std::chrono::milliseconds> limit = {});

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_BYTECODEREADER_H
