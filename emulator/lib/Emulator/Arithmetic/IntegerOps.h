//===- IntegerOps.h - Integer arithmetic ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of integers, in the bits of a register.
//
// PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
// Arithmetic Instructions". The template argument is the instruction's type;
// values are read from the low bits of 64 and given back zero-extended, a wide
// result at twice the width. Results wrap unless `.sat` is in the name.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_INTEGEROPS_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_INTEGEROPS_H

#include <cstdint>
#include <limits>
#include <type_traits>

namespace blockscale::emulator {

template <typename T>
inline uint64_t toBits(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

template <typename T>
inline constexpr unsigned kBitsOf = 8 * sizeof(T);

namespace detail {

/// An integer of twice the largest width, with the signedness of T.
template <typename T>
using Wide =
    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

template <typename T>
inline Wide<T> getProduct(uint64_t a, uint64_t b) {
  return static_cast<Wide<T>>(static_cast<T>(a)) *
         static_cast<Wide<T>>(static_cast<T>(b));
}

inline uint64_t saturateS32(__int128 value) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  return toBits(static_cast<int32_t>(value < kMin   ? kMin
                                     : value > kMax ? kMax
                                                    : value));
}

} // namespace detail

template <typename T>
inline uint64_t addInteger(uint64_t a, uint64_t b) {
  return toBits(static_cast<T>(a + b));
}
template <typename T>
inline uint64_t subInteger(uint64_t a, uint64_t b) {
  return toBits(static_cast<T>(a - b));
}
inline uint64_t addSatS32(uint64_t a, uint64_t b) {
  return detail::saturateS32(static_cast<int64_t>(static_cast<int32_t>(a)) +
                             static_cast<int32_t>(b));
}
inline uint64_t subSatS32(uint64_t a, uint64_t b) {
  return detail::saturateS32(static_cast<int64_t>(static_cast<int32_t>(a)) -
                             static_cast<int32_t>(b));
}

template <typename T>
inline uint64_t mulLo(uint64_t a, uint64_t b) {
  return toBits(static_cast<T>(a * b));
}
template <typename T>
inline uint64_t mulHi(uint64_t a, uint64_t b) {
  return toBits(static_cast<T>(detail::getProduct<T>(a, b) >> kBitsOf<T>));
}
/// The whole product of two numbers of a 16- or 32-bit type.
template <typename T>
inline uint64_t mulWide(uint64_t a, uint64_t b) {
  static_assert(sizeof(T) <= 4);
  auto product = static_cast<uint64_t>(detail::getProduct<T>(a, b));
  return product & (~uint64_t{0} >> (64 - 2 * kBitsOf<T>));
}
template <typename T>
inline uint64_t madLo(uint64_t a, uint64_t b, uint64_t c) {
  return toBits(static_cast<T>(a * b + c));
}
template <typename T>
inline uint64_t madHi(uint64_t a, uint64_t b, uint64_t c) {
  return toBits(static_cast<T>(mulHi<T>(a, b) + c));
}
template <typename T>
inline uint64_t madWide(uint64_t a, uint64_t b, uint64_t c) {
  return (mulWide<T>(a, b) + c) & (~uint64_t{0} >> (64 - 2 * kBitsOf<T>));
}
/// `mad.hi.sat.s32`.
inline uint64_t madHiSatS32(uint64_t a, uint64_t b, uint64_t c) {
  return detail::saturateS32(
      static_cast<int64_t>(static_cast<int32_t>(mulHi<int32_t>(a, b))) +
      static_cast<int32_t>(c));
}

/// The 48-bit product of the low 24 bits of each, extended as T is; `isHi`
/// takes bits 47..16 of it.
template <typename T>
inline uint64_t mul24(uint64_t a, uint64_t b, bool isHi) {
  static_assert(sizeof(T) == 4);
  auto low24 = [](uint64_t value) {
    auto top = static_cast<T>(value << 8);
    return static_cast<uint64_t>(
        static_cast<int64_t>(static_cast<T>(top >> 8)));
  };
  uint64_t product = low24(a) * low24(b);
  return static_cast<uint32_t>(isHi ? product >> 16 : product);
}

/// c + |a - b|.
template <typename T>
inline uint64_t sad(uint64_t a, uint64_t b, uint64_t c) {
  return toBits(static_cast<T>(
      c + (static_cast<T>(a) < static_cast<T>(b) ? b - a : a - b)));
}

/// Division by zero is unspecified in PTX: quotient and remainder are all ones,
/// as on an H100. The least signed value by -1 wraps.
template <typename T>
inline uint64_t divInteger(uint64_t a, uint64_t b) {
  auto x = static_cast<T>(a), y = static_cast<T>(b);
  if (y == 0)
    return toBits(static_cast<T>(~T{0}));
  if (std::is_signed_v<T> && y == static_cast<T>(-1))
    return toBits(static_cast<T>(0 - a));
  return toBits(static_cast<T>(x / y));
}
template <typename T>
inline uint64_t remInteger(uint64_t a, uint64_t b) {
  auto x = static_cast<T>(a), y = static_cast<T>(b);
  if (y == 0)
    return toBits(static_cast<T>(~T{0}));
  if (std::is_signed_v<T> && y == static_cast<T>(-1))
    return 0;
  return toBits(static_cast<T>(x % y));
}

template <typename T>
inline uint64_t absInteger(uint64_t a) {
  return toBits(static_cast<T>(static_cast<T>(a) < 0 ? 0 - a : a));
}
template <typename T>
inline uint64_t negInteger(uint64_t a) {
  return toBits(static_cast<T>(0 - a));
}

template <typename T>
inline uint64_t minInteger(uint64_t a, uint64_t b, bool relu = false) {
  T x = static_cast<T>(a), y = static_cast<T>(b);
  T least = x < y ? x : y;
  return toBits(relu && least < T{0} ? T{0} : least);
}
template <typename T>
inline uint64_t maxInteger(uint64_t a, uint64_t b, bool relu = false) {
  T x = static_cast<T>(a), y = static_cast<T>(b);
  T greatest = x > y ? x : y;
  return toBits(relu && greatest < T{0} ? T{0} : greatest);
}

/// `.u16x2`, `.s16x2`: `operation` on each half.
template <typename Operation, typename... Sources>
inline uint64_t mapHalves(Operation operation, Sources... sources) {
  return operation((sources & 0xFFFF)...) |
         operation((sources >> 16 & 0xFFFF)...) << 16;
}

//===----------------------------------------------------------------------===//
// Arithmetic with the carry flag CC.CF
//===----------------------------------------------------------------------===//

struct WithCarry {
  uint64_t value;
  bool carry;
};

/// a + b + carry; `T` unsigned or not makes no difference.
template <typename T>
inline WithCarry addCarry(uint64_t a, uint64_t b, bool carry) {
  using U = std::make_unsigned_t<T>;
  unsigned __int128 sum = static_cast<unsigned __int128>(static_cast<U>(a)) +
                          static_cast<U>(b) + carry;
  return {static_cast<U>(sum), (sum >> kBitsOf<T>) != 0};
}
/// a - (b + borrow), and whether that borrows.
template <typename T>
inline WithCarry subBorrow(uint64_t a, uint64_t b, bool borrow) {
  using U = std::make_unsigned_t<T>;
  unsigned __int128 subtrahend =
      static_cast<unsigned __int128>(static_cast<U>(b)) + borrow;
  return {static_cast<U>(a - static_cast<uint64_t>(subtrahend)),
          subtrahend > static_cast<U>(a)};
}
template <typename T>
inline WithCarry madLoCarry(uint64_t a, uint64_t b, uint64_t c, bool carry) {
  return addCarry<T>(mulLo<T>(a, b), c, carry);
}
template <typename T>
inline WithCarry madHiCarry(uint64_t a, uint64_t b, uint64_t c, bool carry) {
  return addCarry<T>(mulHi<T>(a, b), c, carry);
}

//===----------------------------------------------------------------------===//
// Dot products
//===----------------------------------------------------------------------===//

/// Four products of bytes, each operand's signed or not, and c.
inline uint64_t dp4a(uint64_t a, uint64_t b, uint64_t c, bool aIsSigned,
                     bool bIsSigned) {
  auto sum = static_cast<uint32_t>(c);
  auto extract = [](uint64_t word, unsigned i, bool isSigned) -> int32_t {
    auto byte = static_cast<uint8_t>(word >> 8 * i);
    return isSigned ? static_cast<int8_t>(byte) : byte;
  };
  for (unsigned i = 0; i < 4; ++i)
    sum += static_cast<uint32_t>(extract(a, i, aIsSigned) *
                                 extract(b, i, bIsSigned));
  return sum;
}

/// Two products of a's halves with b's lower or upper bytes, and c.
inline uint64_t dp2a(uint64_t a, uint64_t b, uint64_t c, bool aIsSigned,
                     bool bIsSigned, bool isHi) {
  auto sum = static_cast<uint32_t>(c);
  for (unsigned i = 0; i < 2; ++i) {
    auto half = static_cast<uint16_t>(a >> 16 * i);
    auto byte = static_cast<uint8_t>(b >> 8 * (i + (isHi ? 2 : 0)));
    int32_t x = aIsSigned ? static_cast<int16_t>(half) : half;
    int32_t y = bIsSigned ? static_cast<int8_t>(byte) : byte;
    sum += static_cast<uint32_t>(x * y);
  }
  return sum;
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_INTEGEROPS_H
