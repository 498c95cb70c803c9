//===- PathResolution.cpp - Where a written file would land ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PathResolution.h"

#include "blockscale/Runtime/FileDescriptor.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <unistd.h>

using namespace blockscale::runtime;

static constexpr std::string_view kAction = "write";

/// The absolute directory, without links; empty, with the reason in errno, if
/// there is none.
static std::string resolveDirectory(const std::string &directory) {
  struct Free {
    void operator()(char *text) const { std::free(text); }
  };
  std::unique_ptr<char, Free> resolved(realpath(directory.c_str(), nullptr));
  return resolved ? std::string(resolved.get()) : std::string();
}

static Status missingName(const std::string &path, const std::string &found) {
  return Status::failure(path + ": expected a file name, but got '" + found +
                         "'");
}

Result<ResolvedPath> blockscale::runtime::resolvePath(const std::string &path) {
  constexpr int kMaxLinks = 40; // the kernel's own limit
  std::string rest = path;
  for (int i = 0; i <= kMaxLinks; ++i) {
    size_t slash = rest.rfind('/');
    std::string name =
        slash == std::string::npos ? rest : rest.substr(slash + 1);
    if (name.empty())
      return missingName(path, rest);

    ResolvedPath result;
    result.directory = resolveDirectory(
        slash == std::string::npos ? "." : rest.substr(0, slash + 1));
    if (result.directory.empty())
      return systemFailure(path, kAction, errno);
    if (result.directory != "/")
      result.path = result.directory;
    result.path.append("/").append(name);

    result.isDescriptor = result.path.compare(0, 6, "/proc/") == 0;
    if (result.isDescriptor)
      return result;

    char target[PATH_MAX];
    ssize_t length = readlink(result.path.c_str(), target, sizeof(target));
    if (length < 0) {
      // EINVAL: not a link. ENOENT: to be created. Other reasons come back
      // when the file is opened.
      return result;
    }
    rest.assign(target, length);
    if (rest.empty() || rest[0] != '/')
      rest.insert(0, result.directory + "/");
  }
  return systemFailure(path, kAction, ELOOP);
}
