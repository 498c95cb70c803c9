//===- FileOutput.cpp - Output files, whole or not at all -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/FileOutput.h"

#include "HiddenName.h"
#include "PathResolution.h"

#include "blockscale/Runtime/FileDescriptor.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace blockscale::runtime;

namespace {

/// One output on its way to its destination.
struct Staged {
  const FileOutput *output;
  ResolvedPath destination;
  /// Whether the destination is no regular file. It is written in place then.
  bool inPlace = false;
  /// Whether a regular file is there, to be replaced.
  bool replaces = false;
  mode_t permissions = 0;
  /// The path of the temporary beside the destination; empty when there is none
  /// to remove.
  std::string temporary;
  /// The replaced file while it may have to come back; else empty.
  std::string backup;
  /// The destination was created by the rename.
  bool isNew = false;
};

/// Undoes what was done, unless commit() was reached.
class Transaction {
public:
  explicit Transaction(const std::vector<FileOutput> &outputs)
      : outputs(outputs) {}
  ~Transaction();

  Status run();

private:
  Status inspect();
  Status stage(Staged &file);
  Status writeInPlace(const Staged &file);
  Status replace(Staged &file);

  const std::vector<FileOutput> &outputs;
  std::vector<Staged> files;
  bool committed = false;
};

} // namespace

static bool writeParts(const FileDescriptor &file, const FileOutput &output) {
  for (std::string_view part : output.parts)
    if (!file.write(part))
      return false;
  return true;
}

Transaction::~Transaction() {
  for (Staged &file : files) {
    if (!file.temporary.empty())
      unlink(file.temporary.c_str());
    if (!file.backup.empty()) {
      if (committed)
        unlink(file.backup.c_str());
      else
        std::rename(file.backup.c_str(), file.destination.path.c_str());
    }
    if (file.isNew && !committed)
      unlink(file.destination.path.c_str());
  }
}

/// Finds out what is at each destination; touches nothing.
Status Transaction::inspect() {
  for (const FileOutput &output : outputs) {
    Result<ResolvedPath> resolved = resolvePath(output.path);
    if (!resolved.ok())
      return resolved.status();

    Staged file;
    file.output = &output;
    file.destination = *resolved;
    struct stat info;
    if (file.destination.isDescriptor) {
      file.inPlace = true;
    } else if (stat(file.destination.path.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode))
        return Status::failure(output.path +
                               ": expected a file, but got a directory");
      file.inPlace = !S_ISREG(info.st_mode);
      file.replaces = S_ISREG(info.st_mode);
      file.permissions = info.st_mode & 0777;
      // A rename would not ask the file itself.
      if (file.replaces && faccessat(AT_FDCWD, file.destination.path.c_str(),
                                     W_OK, AT_EACCESS) != 0)
        return systemFailure(output.path, "write", errno);
    }

    if (!file.inPlace)
      for (const Staged &other : files)
        if (other.destination.path == file.destination.path)
          return Status::failure(
              output.path + ": expected distinct output files, but got '" +
              other.output->path + "' and '" + output.path + "'");
    files.push_back(std::move(file));
  }
  return Status::success();
}

/// Writes the complete contents to a temporary beside the destination.
Status Transaction::stage(Staged &file) {
  std::string name = file.destination.directory + "/" + makeHiddenName();
  FileDescriptor descriptor =
      FileDescriptor::open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!descriptor.isValid())
    return systemFailure(file.output->path, "create", errno);
  file.temporary = name;

  if (file.replaces && fchmod(descriptor.get(), file.permissions) != 0)
    return systemFailure(file.output->path, "set permissions of", errno);
  if (!writeParts(descriptor, *file.output) || !descriptor.close())
    return systemFailure(file.output->path, "write", errno);
  return Status::success();
}

Status Transaction::writeInPlace(const Staged &file) {
  // Appending keeps what /dev/stdout's file already holds.
  FileDescriptor descriptor =
      FileDescriptor::open(file.output->path, O_WRONLY | O_APPEND | O_NOCTTY);
  if (!descriptor.isValid() || !writeParts(descriptor, *file.output) ||
      !descriptor.close())
    return systemFailure(file.output->path, "write", errno);
  return Status::success();
}

Status Transaction::replace(Staged &file) {
  const char *temporary = file.temporary.c_str();
  const char *destination = file.destination.path.c_str();
  // A single output has nothing after it that could fail.
  if (file.replaces && files.size() > 1) {
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, destination,
                  RENAME_EXCHANGE) == 0) {
      file.backup.swap(file.temporary);
      return Status::success();
    }
    // Network file systems cannot exchange: the old file steps aside.
    std::string backup = file.destination.directory + "/" + makeHiddenName();
    if (errno != EINVAL || std::rename(destination, backup.c_str()) != 0)
      return systemFailure(file.output->path, "replace", errno);
    file.backup = std::move(backup);
  }
  if (std::rename(temporary, destination) != 0)
    return systemFailure(file.output->path,
                         file.replaces ? "replace" : "create", errno);
  file.temporary.clear();
  file.isNew = !file.replaces;
  return Status::success();
}

Status Transaction::run() {
  if (Status status = inspect(); !status.ok())
    return status;
  for (Staged &file : files)
    if (!file.inPlace)
      if (Status status = stage(file); !status.ok())
        return status;
  for (const Staged &file : files)
    if (file.inPlace)
      if (Status status = writeInPlace(file); !status.ok())
        return status;
  for (Staged &file : files)
    if (!file.inPlace)
      if (Status status = replace(file); !status.ok())
        return status;
  committed = true;
  return Status::success();
}

Status blockscale::runtime::writeFilesAtomically(
    const std::vector<FileOutput> &outputs) {
  return Transaction(outputs).run();
}

Status blockscale::runtime::writeFileAtomically(const std::string &path,
                                                std::string_view bytes) {
  return writeFilesAtomically({{path, {bytes}}});
}

FileIdentity::FileIdentity(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0)
    inode.emplace(info.st_dev, info.st_ino);
  if (Result<ResolvedPath> found = resolvePath(path); found.ok())
    resolved = found->path;
  std::error_code error;
  lexical = std::filesystem::absolute(path, error).lexically_normal().string();
}

bool FileIdentity::operator==(const FileIdentity &other) const {
  if (inode && other.inode)
    return inode == other.inode;
  if (resolved && other.resolved)
    return resolved == other.resolved;
  return lexical == other.lexical;
}
