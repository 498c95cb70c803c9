//===- FileOutput.h - Output files, whole or not at all ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_FILEOUTPUT_H
#define BLOCKSCALE_RUNTIME_FILEOUTPUT_H

#include "blockscale/Runtime/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blockscale::runtime {

/// A file to write: its contents are the parts, one after the other.
struct FileOutput {
  std::string path;
  std::vector<std::string_view> parts;
};

/// Writes every file, or none: all contents go to temporary files beside their
/// destinations, and only when all are complete are they renamed. A failure
/// removes the temporaries, puts replaced files back, and names the path and
/// the system's reason.
///
/// A symbolic link is followed and a replaced file keeps its permissions. What
/// is not a regular file (`/dev/null`, a pipe, `/dev/stdout`) is written in
/// place, after the temporaries and before the renames. Two outputs with one
/// destination are refused.
Status writeFilesAtomically(const std::vector<FileOutput> &outputs);

/// Writes one file as writeFilesAtomically does.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

/// What a path names, asked of the system once, to be compared with many
/// others. Two are equal if writing to one path would replace what the other
/// names: the same device and inode where both exist, otherwise the same path
/// once symbolic links and dots are resolved.
class FileIdentity {
public:
  explicit FileIdentity(const std::string &path);

  bool operator==(const FileIdentity &other) const;

private:
  /// The device and the inode of a file that exists.
  std::optional<std::pair<uint64_t, uint64_t>> inode;
  /// The path without links and dots, if its directory exists.
  std::optional<std::string> resolved;
  /// The absolute path without dots.
  std::string lexical;
};

/// Whether two paths have one identity.
inline bool sameFile(const std::string &a, const std::string &b) {
  return FileIdentity(a) == FileIdentity(b);
}

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_FILEOUTPUT_H
