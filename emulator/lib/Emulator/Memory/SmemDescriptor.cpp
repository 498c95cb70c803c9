//===- SmemDescriptor.cpp - Matrices in shared memory ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/SmemDescriptor.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

/// Bits 14-15, 30-31 and 53-60.
static constexpr uint64_t kReserved =
    uint64_t(3) << 14 | uint64_t(3) << 30 | uint64_t(0xFF) << 53;

static std::optional<Swizzle> decodeLayout(unsigned layout) {
  switch (layout) {
  case 0:
    return Swizzle::None;
  case 1:
    return Swizzle::Span128Atom32;
  case 2:
    return Swizzle::Span128;
  case 4:
    return Swizzle::Span64;
  case 6:
    return Swizzle::Span32;
  default:
    return std::nullopt;
  }
}

std::optional<SmemDescriptor>
decodeSmemDescriptor(uint64_t bits, Faults &faults, bool mayLeadByAddress) {
  auto report = [&](std::string what, llvm::StringRef advice) {
    faults.push_back({FaultKind::Descriptor, std::move(what), advice.str()});
  };
  if (bits & kReserved)
    report(llvm::formatv("expected the reserved bits of a shared memory "
                         "descriptor to be 0, but got {0:x} in {1:x}",
                         bits & kReserved, bits),
           "mask the address with 0x3FFFF and shift it right by 4 before it is "
           "put in");
  if ((bits >> 46 & 7) != 1)
    report(llvm::formatv("expected bits 46-48 of a shared memory descriptor to "
                         "be 1, but got {0} in {1:x}",
                         bits >> 46 & 7, bits),
           "set bit 46, the version of the descriptors of sm_100");
  std::optional<Swizzle> swizzle = decodeLayout(bits >> 61);
  if (!swizzle) {
    report(llvm::formatv("expected layout 0, 1, 2, 4 or 6 in bits 61-63 of a "
                         "shared memory descriptor, but got {0} in {1:x}",
                         bits >> 61, bits),
           "the layouts are not those of the descriptors of sm_90");
    return std::nullopt;
  }
  bool isLeadingAddress = bits >> 52 & 1;
  if (isLeadingAddress && !mayLeadByAddress) {
    report(llvm::formatv("expected a leading offset, but bit 52 of the shared "
                         "memory descriptor {0:x} makes it an address",
                         bits),
           "clear the bit; leading addresses are for K = 96 on sm_103a");
    return std::nullopt;
  }
  auto field = [&](unsigned shift) {
    return uint32_t(bits >> shift & 0x3FFF) << 4;
  };
  return SmemDescriptor{field(0),  field(16),
                        field(32), unsigned(bits >> 49 & 7),
                        *swizzle,  isLeadingAddress};
}

uint32_t locate(const SmemDescriptor &descriptor, Major major, uint32_t byte,
                uint32_t line) {
  uint32_t leading = descriptor.leading, stride = descriptor.stride;
  unsigned span = getSpan(descriptor.swizzle);
  uint32_t start = descriptor.start, offset;
  if (descriptor.isLeadingAddress && span != 0 && major == Major::K &&
      start % span + byte >= span) {
    byte -= span - start % span;
    start = leading;
  }
  if (span == 0) {
    uint32_t alongByte = major == Major::K ? leading : stride;
    uint32_t alongLine = major == Major::K ? stride : leading;
    offset = byte % 16 + byte / 16 * alongByte + line % 8 * 16 +
             line / 8 * alongLine;
  } else {
    unsigned group = descriptor.swizzle == Swizzle::Span128Atom32 ? 4 : 8;
    offset = line % group * span + line / group * stride;
    offset += major == Major::K ? byte : byte % span + byte / span * leading;
  }
  return applySwizzle(descriptor.swizzle, start + offset,
                      descriptor.baseOffset);
}

} // namespace blockscale::emulator
