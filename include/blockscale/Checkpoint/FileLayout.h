//===- FileLayout.h - Where the tensors of a new file are -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, types and shapes decide a file but for the data of its tensors. So its
// header is written first, and tensors then in any order, by any process.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_FILELAYOUT_H
#define BLOCKSCALE_CHECKPOINT_FILELAYOUT_H

#include "blockscale/Checkpoint/TensorFile.h"

namespace blockscale::checkpoint {

struct FileLayout {
  /// The first bytes of the file.
  std::string header;
  /// Where each tensor begins, in the order that they were given in. Bytes that
  /// belong to none are 0.
  std::vector<uint64_t> offsets;
  uint64_t fileBytes;
};

/// Lays the tensors out one after the other.
runtime::Result<FileLayout>
layOutFile(FileFormat format, const std::vector<TensorDescription> &tensors,
           const std::vector<Metadata> &metadata);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_FILELAYOUT_H
