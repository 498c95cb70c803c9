//===- SavedFunction.h - A compiled function as bytes --------- -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a function needs to be called again, in another process, without a
// compiler. docs/Cache.md describes the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_SAVEDFUNCTION_H
#define BLOCKSCALE_DRIVER_SAVEDFUNCTION_H

#include "blockscale/Driver/Signature.h"

namespace blockscale {

/// Of the bytes. Is another one where these, or what code expects of the
/// library that it is linked with, change.
inline constexpr uint32_t kSavedFunctionVersion = 1;

struct SavedFunction {
  /// "cpu", or a chip.
  std::string target;
  /// The instructions that code for a CPU may have, "avx2".
  std::vector<std::string> features;
  Signature signature;
  /// What the function was made of, as computeCacheKey says it; empty where
  /// nobody asks for that.
  std::string key;
  /// An object of emitPackedObject, or a bundle.
  std::string code;
};

/// The bytes that a saved function begins with, and which say how many it has.
inline constexpr size_t kSavedFunctionHeaderBytes = 56;

/// The bytes of the whole, by those of its header; nothing where they are none
/// of this version.
std::optional<uint64_t> getSavedFunctionBytes(std::string_view header);

/// Fails where a name or a type is no UTF-8.
runtime::Result<std::string> writeSavedFunction(const SavedFunction &saved);

/// Failures name what is damaged or of another version, the expected and the
/// found.
runtime::Result<SavedFunction> readSavedFunction(std::string_view bytes);

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_SAVEDFUNCTION_H
