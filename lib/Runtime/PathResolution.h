//===- PathResolution.h - Where a written file would land -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_RUNTIME_PATHRESOLUTION_H
#define BLOCKSCALE_LIB_RUNTIME_PATHRESOLUTION_H

#include "blockscale/Runtime/Result.h"

#include <string>

namespace blockscale::runtime {

struct ResolvedPath {
  /// Absolute, with all symbolic links followed; the last component need not
  /// exist.
  std::string path;
  /// The directory part of `path`.
  std::string directory;
  /// The path goes through /proc, as /dev/stdout and /dev/fd/3 do: it stands
  /// for an open file, which must not be replaced by another.
  bool isDescriptor = false;
};

/// Follows symbolic links of the directory and of the file itself, also a
/// dangling one, since that is where open(2) would create the file. The message
/// of a failure begins with `path`.
Result<ResolvedPath> resolvePath(const std::string &path);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_PATHRESOLUTION_H
