//===- FloatText.h - Numbers in diagnostics ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_FLOATTEXT_H
#define BLOCKSCALE_LIB_TRANSFORMS_FLOATTEXT_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"

namespace blockscale {

/// Shortest decimal form of a number, NaN or Inf.
inline std::string formatFloat(float value) {
  llvm::SmallString<16> text;
  llvm::APFloat(value).toString(text);
  return std::string(text);
}

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_FLOATTEXT_H
