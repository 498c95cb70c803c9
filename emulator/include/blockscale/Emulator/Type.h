//===- Type.h - Fundamental types of PTX ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of PTX values.
//
// PTX ISA, section "Fundamental Types" and what instructions name beside them.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_TYPE_H
#define BLOCKSCALE_EMULATOR_TYPE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace blockscale::emulator {

enum class TypeKind : uint8_t { Bits, Unsigned, Signed, Float, Packed, Pred };

enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  TF32,
  F32,
  F64,
  F16x2,
  BF16x2,
  F32x2,
  U16x2,
  S16x2,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
  E4M3x4,
  E5M2x4,
  E2M3x4,
  E3M2x4,
  E2M1x4,
};

struct TypeInfo {
  /// The name of the type as PTX spells it, without the dot.
  llvm::StringLiteral name;
  TypeKind kind;
  /// Bits of a value; 1 for a predicate.
  unsigned bits;
};

const TypeInfo &getInfo(Type type);

/// The type of this name (without the dot), if there is one.
std::optional<Type> findType(llvm::StringRef name);

/// Bytes in memory. Predicates are not stored.
inline unsigned getBytes(Type type) { return getInfo(type).bits / 8; }

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_TYPE_H
