//===- FileDescriptor.cpp - An open file, closed once ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/FileDescriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

using namespace blockscale::runtime;

Status blockscale::runtime::systemFailure(const std::string &path,
                                          std::string_view action,
                                          int errorNumber) {
  return Status::failure(path + ": cannot " + std::string(action) + ": " +
                         std::generic_category().message(errorNumber));
}

FileDescriptor FileDescriptor::open(const std::string &path, int flags,
                                    unsigned mode) {
  int number;
  do
    number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (number < 0 && errno == EINTR);
  return FileDescriptor(number);
}

ptrdiff_t FileDescriptor::read(uint64_t offset, void *destination,
                               size_t size) const {
  size_t done = 0;
  while (done < size) {
    ssize_t count = ::pread(number, static_cast<char *>(destination) + done,
                            size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return -1;
    if (count == 0)
      break;
    done += count;
  }
  return static_cast<ptrdiff_t>(done);
}

bool FileDescriptor::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    ssize_t count = ::write(number, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    bytes.remove_prefix(count);
  }
  return true;
}

bool FileDescriptor::close() {
  if (number < 0)
    return true;
  // Linux frees the number even when close is interrupted; a second close
  // could hit a file that another thread has just opened.
  int result = ::close(number);
  number = -1;
  return result == 0 || errno == EINTR;
}
