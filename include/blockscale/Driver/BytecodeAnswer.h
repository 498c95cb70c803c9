//===- BytecodeAnswer.h - What the reader of bytecode says ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The agreement between the program blockscale-read-bytecode and the library
// that starts it. The program reads bytecode from its standard input up to the
// end, and writes one answer to its standard output:
//
//   blockscale-read-bytecode VERSION KIND LENGTH "\n" TEXT
//
// VERSION is that of BlockScale, since another one may print other MLIR. LENGTH
// counts the bytes of TEXT. So an answer is known to be whole without the end
// of the stream, which another process may keep open.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_BYTECODEANSWER_H
#define BLOCKSCALE_DRIVER_BYTECODEANSWER_H

#include "blockscale/Runtime/Result.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscale {

/// The name of the program.
inline constexpr const char *kBytecodeReaderName = "blockscale-read-bytecode";

struct BytecodeAnswer {
  enum class Kind {
    /// The text is the module with its locations.
    Module,
    /// The text is the first error of MLIR's reader, or what the program itself
    /// could not do.
    Error,
    /// MLIR's reader crashed or did not return in time. There is no text.
    Damaged,
  };

  Kind kind = Kind::Damaged;
  std::string text;
};

/// The answer as the program writes it.
std::string formatAnswer(const BytecodeAnswer &answer);

/// The answer that `bytes` are, or nothing where more bytes must follow. Fails
/// where no bytes that follow could make it an answer of this version, with at
/// most `longest` bytes of text.
std::optional<runtime::Result<BytecodeAnswer>>
parseAnswer(llvm::StringRef bytes, uint64_t longest);

/// Seconds of a CPU within which `bytes` of bytecode are read. That is more
/// than any good file takes.
constexpr unsigned getReadingSeconds(size_t bytes) {
  return static_cast<unsigned>(10 + (bytes >> 20));
}

/// Bytes of memory within which `bytes` of bytecode are read and printed, apart
/// from those of the program itself: a copy of the content, attributes and ops
/// of some words for each byte, and their text.
constexpr uint64_t getReadingMemory(size_t bytes) {
  return (uint64_t(1) << 30) + 64 * bytes;
}

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_BYTECODEANSWER_H
