//===- TrustedFolder.h - A folder that no stranger can change ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a process finds in a folder and executes, whoever can write to the
// folder can choose. So a folder is taken only where it and all folders above
// it belong to users who are trusted, and nobody else can write to them. Links
// on the way are followed where a trusted user made them; the last name of a
// path that is read or written never is one.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_TRUSTEDFOLDER_H
#define BLOCKSCALE_RUNTIME_TRUSTEDFOLDER_H

#include "blockscale/Runtime/FileDescriptor.h"

#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

/// The users whose files are taken: that of this process, root, and others that
/// are named.
class TrustedOwners {
public:
  /// Users by names or numbers, separated by commas: "alice,1005". The failure
  /// names the one that does not exist.
  static Result<TrustedOwners> parse(std::string_view users);

  bool has(unsigned user) const;

private:
  std::vector<unsigned> named;
};

/// A failure is of kind InvalidArgument where somebody who is not trusted could
/// have written what is there: the message says who owns what. It is of kind
/// NotFound where there is nothing, and of kind File where the system refuses.
class TrustedFolder {
public:
  /// Opens a folder. Where `isMade` says so, what is missing of it is made, for
  /// this user alone to write to.
  static Result<TrustedFolder> open(const std::string &path,
                                    const TrustedOwners &owners, bool isMade);

  /// A regular file in it, to be read.
  Result<FileDescriptor> openFile(const std::string &name) const;

  /// Writes a file whole, or not at all, in place of what has the name. A link
  /// of that name is replaced, and what it points to stays as it is.
  Status writeFile(const std::string &name, std::string_view bytes) const;

private:
  TrustedFolder(std::string path, FileDescriptor descriptor,
                const TrustedOwners &owners)
      : path(std::move(path)), descriptor(std::move(descriptor)),
        owners(owners) {}

  std::string path;
  FileDescriptor descriptor;
  TrustedOwners owners;
};

/// Writes a file as TrustedFolder::writeFile does, in a folder of whomever.
Status replaceFile(const std::string &path, std::string_view bytes);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_TRUSTEDFOLDER_H
