//===- Headers.h - What the readers of headers share ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CHECKPOINT_HEADERS_H
#define BLOCKSCALE_LIB_CHECKPOINT_HEADERS_H

#include "blockscale/Checkpoint/FileLayout.h"

namespace blockscale::checkpoint {

/// A failure of the bytes of a file, whose message is "`where`: `message`".
runtime::Status invalid(const std::string &where, const std::string &message);

/// "byte 17 of the file".
std::string describeByte(uint64_t offset);
/// "tensor 'w' (byte 17 of the file)", where the header speaks of it.
std::string describeTensor(const std::string &name, uint64_t offset);

/// That a name or a key, `what`, is UTF-8 text without NUL, which ends names in
/// C.
runtime::Status checkName(std::string_view what, std::string_view name);

/// Sorts the tensors by their offsets and checks that each begins where the one
/// before ends, rounded up to a multiple of `alignment`, and the first at
/// `dataOffset`. `headerOffsets` are the bytes of the header that speak of the
/// tensors. Returns where the last one ends.
runtime::Result<uint64_t> orderTensors(std::vector<StoredTensor> &tensors,
                                       std::vector<uint64_t> &headerOffsets,
                                       uint64_t dataOffset, uint64_t alignment);

/// The parts of readContents and layOutFile by format.
runtime::Result<FileContents> readSafetensors(std::string_view file);
runtime::Result<FileContents> readGguf(std::string_view file);
runtime::Result<FileLayout>
layOutSafetensors(const std::vector<TensorDescription> &tensors,
                  const std::vector<Metadata> &metadata);
runtime::Result<FileLayout>
layOutGguf(const std::vector<TensorDescription> &tensors,
           const std::vector<Metadata> &metadata);

/// The most data of a new file, so that there is room for a header and for
/// padding in what 63 bits count.
inline constexpr int64_t kMaxDataBytes = int64_t(1) << 62;
/// The message for more than that.
inline std::string expectDataBytes() {
  return "expected a file of at most 2^62 bytes of data, but got more";
}

inline constexpr std::string_view kGgufMagic = "GGUF";

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_LIB_CHECKPOINT_HEADERS_H
