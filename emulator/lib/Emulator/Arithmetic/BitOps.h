//===- BitOps.h - Bit fields, shifts, permutations --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit fields, shifts and permutations of single values.
//
// PTX ISA, "Logic and Shift Instructions", the bit instructions of "Integer
// Arithmetic Instructions", and `prmt`. Values are read from the low bits of 64
// and given back zero-extended.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_BITOPS_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_BITOPS_H

#include "Emulator/Arithmetic/IntegerOps.h"

#include "llvm/ADT/bit.h"

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// Shifts; an amount beyond the width is clamped to it
//===----------------------------------------------------------------------===//

template <typename T>
inline uint64_t shiftLeft(uint64_t a, uint64_t amount) {
  auto n = static_cast<uint32_t>(amount);
  return n >= kBitsOf<T> ? 0 : toBits(static_cast<T>(a << n));
}
/// Fills with the sign for a signed type, with zeros for others.
template <typename T>
inline uint64_t shiftRight(uint64_t a, uint64_t amount) {
  auto n = static_cast<uint32_t>(amount);
  auto value = static_cast<T>(a);
  if (n >= kBitsOf<T>)
    return toBits(static_cast<T>(std::is_signed_v<T> && value < T{0} ? -1 : 0));
  return toBits(static_cast<T>(value >> n));
}

/// `shf`: of the 64 bits {b, a}, `wrap` or clamp of the amount at 32.
inline uint64_t funnelShiftLeft(uint64_t a, uint64_t b, uint64_t c, bool wrap) {
  auto amount = static_cast<uint32_t>(c);
  unsigned n = wrap ? amount & 31 : amount > 32 ? 32 : amount;
  uint64_t joined =
      static_cast<uint32_t>(b) * (uint64_t{1} << 32) | static_cast<uint32_t>(a);
  return joined << n >> 32;
}
inline uint64_t funnelShiftRight(uint64_t a, uint64_t b, uint64_t c,
                                 bool wrap) {
  auto amount = static_cast<uint32_t>(c);
  unsigned n = wrap ? amount & 31 : amount > 32 ? 32 : amount;
  uint64_t joined =
      static_cast<uint32_t>(b) * (uint64_t{1} << 32) | static_cast<uint32_t>(a);
  return static_cast<uint32_t>(joined >> n);
}

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

/// Bit i of `table` is the result for a, b, c = bits 2, 1, 0 of i.
inline uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return static_cast<uint32_t>(result);
}

template <typename T>
inline uint64_t cnot(uint64_t a) {
  return static_cast<T>(a) == 0;
}

//===----------------------------------------------------------------------===//
// Counting and finding
//===----------------------------------------------------------------------===//

template <typename T>
inline uint64_t popCount(uint64_t a) {
  return llvm::popcount(toBits(static_cast<T>(a)));
}
template <typename T>
inline uint64_t countLeadingZeros(uint64_t a) {
  return llvm::countl_zero(static_cast<std::make_unsigned_t<T>>(a));
}
template <typename T>
inline uint64_t reverseBits(uint64_t a) {
  uint64_t result = 0;
  for (unsigned i = 0; i < kBitsOf<T>; ++i)
    result |= (a >> i & 1) << (kBitsOf<T> - 1 - i);
  return result;
}

/// The highest bit that is no sign bit, or the left shift that brings it to the
/// top; 0xFFFFFFFF where there is none.
template <typename T>
inline uint64_t findHighBit(uint64_t a, bool shiftAmount) {
  auto value = static_cast<T>(a);
  uint64_t bits = toBits(static_cast<T>(value < T{0} ? ~value : value));
  if (bits == 0)
    return 0xFFFFFFFF;
  auto position = static_cast<unsigned>(63 - llvm::countl_zero(bits));
  return shiftAmount ? kBitsOf<T> - 1 - position : position;
}

/// `fns`: the bit of the |offset|-th one of `mask` from bit `base` on, upwards
/// for a positive offset, downwards for a negative one; 0xFFFFFFFF for none.
uint64_t findNthSet(uint64_t mask, uint64_t base, uint64_t offset);

//===----------------------------------------------------------------------===//
// Bit fields
//===----------------------------------------------------------------------===//

/// `bfe`: `length` bits from `position`, with the sign of the field's last bit
/// inside the value for a signed type.
template <typename T>
inline uint64_t extractField(uint64_t a, uint64_t position, uint64_t length) {
  constexpr unsigned kBits = kBitsOf<T>;
  unsigned pos = position & 0xFF, len = length & 0xFF;
  if (len == 0)
    return 0;
  uint64_t value = toBits(static_cast<T>(a));
  uint64_t field = pos >= kBits ? 0 : value >> pos;
  unsigned last = pos + len - 1 < kBits ? pos + len - 1 : kBits - 1;
  // Bits of the field that lie inside the value.
  unsigned held = pos >= kBits ? 0 : last - pos + 1;
  uint64_t mask = held == 0 ? 0 : ~uint64_t{0} >> (64 - held);
  bool fill = std::is_signed_v<T> && (value >> last & 1);
  return toBits(static_cast<T>((field & mask) | (fill ? ~mask : 0)));
}

/// `bfi`: the low `length` bits of a put into b at `position`.
template <typename T>
inline uint64_t insertField(uint64_t a, uint64_t b, uint64_t position,
                            uint64_t length) {
  unsigned pos = position & 0xFF, len = length & 0xFF;
  uint64_t into = toBits(static_cast<T>(b));
  if (len == 0 || pos >= kBitsOf<T>)
    return into;
  uint64_t mask = (len >= 64 ? ~uint64_t{0} : (uint64_t{1} << len) - 1) << pos;
  return toBits(static_cast<T>((into & ~mask) | (a << pos & mask)));
}

/// `bmsk`: ones from bit a, b of them.
uint64_t makeMask(uint64_t a, uint64_t b, bool wrap);

/// `szext`: the low b bits of a, extended.
uint64_t extendField(uint64_t a, uint64_t b, bool wrap, bool isSigned);

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

enum class PermuteMode : uint8_t {
  Forward4,    ///< .f4e
  Backward4,   ///< .b4e
  Replicate8,  ///< .rc8
  EdgeLeft,    ///< .ecl
  EdgeRight,   ///< .ecr
  Replicate16, ///< .rc16
};

/// `prmt` without a mode: byte i of the result is the one of {b, a} that nibble
/// i of c names, or its sign eight times where the nibble's top bit is set.
inline uint64_t permuteBytes(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t bytes =
      static_cast<uint32_t>(b) * (uint64_t{1} << 32) | static_cast<uint32_t>(a);
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned control = c >> 4 * i & 0xF;
    uint64_t byte = bytes >> 8 * (control & 7) & 0xFF;
    if (control & 8)
      byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/// `prmt` with a mode: the low two bits of c choose the bytes.
uint64_t permuteBytes(uint64_t a, uint64_t b, uint64_t c, PermuteMode mode);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_BITOPS_H
