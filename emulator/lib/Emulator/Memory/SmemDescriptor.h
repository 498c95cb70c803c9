//===- SmemDescriptor.h - Matrices in shared memory -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 64-bit descriptor by which tcgen05.mma and tcgen05.cp find a matrix in
// shared memory. PTX ISA, sections "Shared Memory Descriptor", "Strides" and
// "Canonical Layouts":
//
//   0-13   start address >> 4          49-51  base offset
//   16-29  leading byte offset >> 4    52     leading offset is an address
//   32-45  stride byte offset >> 4     53-60  0
//   46-48  0b001                       61-63  layout
//
// All other bits are 0. Layouts: 0 none, 1 the 128-byte swizzle with atoms of
// 32 bytes, 2 of 128, 4 of 64, 6 of 32 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MEMORY_SMEMDESCRIPTOR_H
#define BLOCKSCALE_LIB_EMULATOR_MEMORY_SMEMDESCRIPTOR_H

#include "blockscale/Emulator/Report.h"
#include "blockscale/Emulator/Swizzle.h"

namespace blockscale::emulator {

/// The dimension along which a matrix is contiguous.
enum class Major : uint8_t { K, MN };

/// Addresses and offsets in bytes; addresses are those of the own CTA.
struct SmemDescriptor {
  uint32_t start;
  /// An offset, or with `isLeadingAddress` an address.
  uint32_t leading;
  uint32_t stride;
  unsigned baseOffset;
  Swizzle swizzle;
  bool isLeadingAddress = false;
};

/// Reserved bits are a fault that leaves the descriptor good. None where it
/// means nothing: an unknown layout, or a leading address where there may be
/// none.
std::optional<SmemDescriptor>
decodeSmemDescriptor(uint64_t bits, Faults &faults,
                     bool mayLeadByAddress = false);

/// Shared address of a byte of the matrix. K-major: `byte` runs along K and
/// `line` is the row of M or N. MN-major: `byte` runs along M or N and `line`
/// is the index of K.
///
///   K, no swizzle     (line % 8) * 16 + (line / 8) * stride
///                     + byte % 16 + (byte / 16) * leading
///   K, span S         (line % 8) * S + (line / 8) * stride + byte
///   MN, no swizzle    byte % 16 + (byte / 16) * stride
///                     + (line % 8) * 16 + (line / 8) * leading
///   MN, span S        byte % S + (byte / S) * leading
///                     + (line % 8) * S + (line / 8) * stride
///
/// The last has groups of 4 lines where atoms have 32 bytes. The swizzle
/// applies to the sum with the start address.
///
/// With a leading address, a K-major matrix of span S ends at the end of the
/// span that the start address lies in, and goes on at the leading address,
/// which is where another matrix of the same strides starts.
uint32_t locate(const SmemDescriptor &descriptor, Major major, uint32_t byte,
                uint32_t line);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MEMORY_SMEMDESCRIPTOR_H
