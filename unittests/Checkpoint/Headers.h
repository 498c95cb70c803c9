//===- Headers.h - What tests of headers share ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_UNITTESTS_CHECKPOINT_HEADERS_H
#define BLOCKSCALE_UNITTESTS_CHECKPOINT_HEADERS_H

#include "blockscale/Checkpoint/FileLayout.h"

#include "gtest/gtest.h"

namespace blockscale::checkpoint {

/// The message of a file that is refused.
inline std::string reject(const std::string &file) {
  runtime::Result<FileContents> contents = readContents(file);
  if (contents.ok())
    return "accepted";
  EXPECT_EQ(contents.status().kind(), runtime::ErrorKind::InvalidCheckpoint);
  return contents.message();
}

/// The message of a layout that is refused.
inline std::string rejectLayout(FileFormat format,
                                const std::vector<TensorDescription> &tensors,
                                const std::vector<Metadata> &metadata = {}) {
  runtime::Result<FileLayout> layout = layOutFile(format, tensors, metadata);
  return layout.ok() ? "accepted" : layout.message();
}

inline TensorDescription describe(std::string name, const char *type,
                                  std::vector<int64_t> shape) {
  return {std::move(name), findStorageType(type), std::move(shape)};
}

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_UNITTESTS_CHECKPOINT_HEADERS_H
