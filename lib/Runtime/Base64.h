//===- Base64.h - Bytes as text ---------------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_BASE64_H
#define BLOCKSCALE_LIB_RUNTIME_BASE64_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

/// Appends the bytes that `text` stands for (RFC 4648, with padding); false
/// where it is no such text.
bool decodeBase64(std::string_view text, std::vector<uint8_t> &bytes);

/// The text of base 64 that `bytes` are, padded.
std::string encodeBase64(const uint8_t *bytes, size_t size);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_BASE64_H
