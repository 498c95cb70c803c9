//===- Diagnostic.h - Errors with a place in PTX text -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_DIAGNOSTIC_H
#define BLOCKSCALE_EMULATOR_DIAGNOSTIC_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace blockscale::emulator {

/// A place in PTX text. Lines and columns count from 1; a column is a byte.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
};

inline bool operator==(Location a, Location b) {
  return a.line == b.line && a.column == b.column;
}
inline bool operator<(Location a, Location b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

/// What is wrong at a place: "LINE:COL: error: MESSAGE".
class Diagnostic : public llvm::ErrorInfo<Diagnostic> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): llvm::ErrorInfo's name.
  static char ID;

  Diagnostic(Location location, std::string message)
      : location(location), message(std::move(message)) {}

  Location getLocation() const { return location; }
  const std::string &getMessage() const { return message; }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  Location location;
  std::string message;
};

llvm::Error makeError(Location location, const llvm::Twine &message);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_DIAGNOSTIC_H
