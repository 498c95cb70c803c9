//===- Npy.h - Arrays from and to .npy files --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_NPY_H
#define BLOCKSCALE_RUNTIME_NPY_H

#include "blockscale/Runtime/AlignedBuffer.h"
#include "blockscale/Runtime/NpyHeader.h"

namespace blockscale::runtime {

/// A dense array in C order; `data` has the bytes of the shape, as stored.
struct NpyArray {
  NpyType type = NpyType::UInt8;
  std::vector<int64_t> shape;
  AlignedBuffer data;

  /// An array of zeros. Fails on a shape that computeNpyByteCount refuses or
  /// that memory cannot hold.
  static Result<NpyArray> allocate(NpyType type, std::vector<int64_t> shape);

  /// The elements as `T`, whose size must be that of `type`.
  template <typename T>
  T *getAs() {
    return reinterpret_cast<T *>(data.data());
  }
  template <typename T>
  const T *getAs() const {
    return reinterpret_cast<const T *>(data.data());
  }
};

/// Reads a .npy file. Memory is taken only for what the file is long enough to
/// hold; a file with bytes missing or left over is refused. The message of a
/// failure begins with `path`.
Result<NpyArray> readNpy(const std::string &path);

/// Writes a .npy file, whole or not at all (see writeFilesAtomically).
Status writeNpy(const std::string &path, const NpyArray &array);

struct NpyOutput {
  std::string path;
  const NpyArray *array;
};

/// Writes every file, or none of them if one cannot be written.
Status writeNpyFiles(const std::vector<NpyOutput> &outputs);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_NPY_H
