//===- FileDescriptor.h - An open file, closed once -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_FILEDESCRIPTOR_H
#define BLOCKSCALE_RUNTIME_FILEDESCRIPTOR_H

#include "blockscale/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace blockscale::runtime {

/// `<path>: cannot <action>: <the system's reason>`.
Status systemFailure(const std::string &path, std::string_view action,
                     int errorNumber);

class FileDescriptor {
public:
  explicit FileDescriptor(int number = -1) : number(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept : number(other.number) {
    other.number = -1;
  }
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~FileDescriptor() { close(); }

  /// open(2), repeated when a signal interrupts it. Invalid on failure, with
  /// the reason in errno.
  static FileDescriptor open(const std::string &path, int flags,
                             unsigned mode = 0);

  bool isValid() const { return number >= 0; }
  int get() const { return number; }

  /// Reads `size` bytes at `offset`, fewer only at the end of the file. Returns
  /// the count, or -1 with the reason in errno.
  ptrdiff_t read(uint64_t offset, void *destination, size_t size) const;

  /// Writes all the bytes. False on failure, with the reason in errno.
  bool write(std::string_view bytes) const;

  /// Closes the file. False if the file system reports a failed write only now.
  bool close();

private:
  int number;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_FILEDESCRIPTOR_H
