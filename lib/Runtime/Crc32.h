//===- Crc32.h - The checksum of bundles ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_CRC32_H
#define BLOCKSCALE_LIB_RUNTIME_CRC32_H

#include <cstdint>
#include <string_view>

namespace blockscale::runtime {

/// CRC-32 as zlib, PNG and IEEE 802.3 compute it. `before` is that of the bytes
/// before, where there are any.
uint32_t computeCrc32(std::string_view bytes, uint32_t before = 0);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_CRC32_H
