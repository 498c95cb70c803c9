//===- FunctionCache.h - Compiled functions in a folder ------- -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder that any number of processes share. Nothing that is wrong with it is
// an error: what cannot be read is compiled, and what cannot be written is not
// kept. What others than trusted users could have written is neither, which is
// said once. docs/Cache.md says more.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_FUNCTIONCACHE_H
#define BLOCKSCALE_DRIVER_FUNCTIONCACHE_H

#include "blockscale/Driver/SavedFunction.h"
#include "blockscale/Runtime/TrustedFolder.h"

namespace blockscale {

/// What decides how a function is compiled.
struct CacheInputs {
  /// The module, text or bytecode, and the name that locations have.
  llvm::StringRef source;
  std::string name;
  /// The function; empty for the only one.
  std::string entry;
  /// "cpu", or a chip.
  std::string target;
  /// The name and the features of the CPU.
  std::string cpu;
  bool fuse = true;
  bool checks = true;
  bool overlapLaunches = false;
  /// A folder of measured choices and a file with a policy; empty for none.
  std::string tuned;
  std::string policy;
};

/// A hash of all of that, with the contents of the files, and of the library
/// and the compiler that this code is linked with; nothing where a file cannot
/// be read.
std::optional<std::string> computeCacheKey(const CacheInputs &inputs);

/// Sets which users are trusted beside that of this process and root; nothing
/// for those of $BLOCKSCALE_CACHE_OWNERS.
void setCacheOwners(std::optional<runtime::TrustedOwners> owners);

class FunctionCache {
public:
  explicit FunctionCache(std::string folder, runtime::TrustedOwners owners = {})
      : folder(std::move(folder)), owners(std::move(owners)) {}

  /// The cache in $BLOCKSCALE_CACHE_DIR; nothing where that is not set.
  static std::optional<FunctionCache> open();

  /// The function of a key, if a whole one is there.
  std::optional<SavedFunction> find(const std::string &key) const;

  /// Puts a function under its key, with a file beside it that says what it is:
  /// `name` is that of its source.
  void store(const SavedFunction &saved, const std::string &name) const;

private:
  /// The folder of a key.
  runtime::Result<runtime::TrustedFolder> openFolder(const std::string &key,
                                                     bool isMade) const;
  /// Warns, once for each cache, where a failure is one of trust.
  void explain(const runtime::Status &status) const;

  std::string folder;
  runtime::TrustedOwners owners;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_FUNCTIONCACHE_H
