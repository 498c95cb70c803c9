//===- BundleFormat.h - The bytes of a bundle -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle begins with a header and a table of its sections:
//
//   0   8 bytes  kBundleMagic
//   8   u32      version
//   12  u32      number of sections
//   16  u64      bytes of the file
//   24  u32      CRC-32 of bytes 0 to 23 and of the table
//   28  u32      0
//   32  table    for each section: u32 kind, u32 CRC-32, u64 offset, u64 bytes
//
// Numbers are little endian. Each section begins at a multiple of 64, and zeros
// fill the space before it; at least one follows it, and the file ends at a
// multiple of 64.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_RUNTIME_BUNDLEFORMAT_H
#define BLOCKSCALE_LIB_RUNTIME_BUNDLEFORMAT_H

#include <cstdint>
#include <string_view>

namespace blockscale::runtime {

/// The first bytes of a bundle, in which it shows where a conversion of text
/// has damaged the file.
inline constexpr std::string_view kBundleMagic = "\x89"
                                                 "BSB\r\n\x1A\n";
inline constexpr size_t kBundleHeaderBytes = 32;
inline constexpr size_t kBundleEntryBytes = 24;

enum class SectionKind : uint32_t {
  Plan = 1,
  PTX = 2,
  Constant = 3,
  Cubin = 4
};

struct BundleSection {
  uint32_t kind = 0;
  uint32_t crc = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Where the section after one that ends at `end` begins, or the file ends.
constexpr uint64_t getNextSection(uint64_t end) { return (end / 64 + 1) * 64; }

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_BUNDLEFORMAT_H
