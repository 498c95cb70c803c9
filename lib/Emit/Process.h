//===- Process.h - Run a program and read what it prints --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_PROCESS_H
#define BLOCKSCALE_LIB_EMIT_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace blockscale {

/// A file in the system's temporary folder, removed with the object.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix);
  TemporaryFile(TemporaryFile &&other) noexcept;
  ~TemporaryFile();

  llvm::StringRef getPath() const { return path; }
  llvm::Error write(llvm::StringRef content) const;
  llvm::Expected<std::string> read() const;

private:
  TemporaryFile() = default;

  /// The path of the file; empty after a move.
  std::string path;
};

struct ProcessOutput {
  int status;
  /// Standard output and standard error.
  std::string text;
};

/// Runs `program`, a path, with `arguments`. An error means that it did not
/// run to its end.
llvm::Expected<ProcessOutput>
runProgram(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_PROCESS_H
