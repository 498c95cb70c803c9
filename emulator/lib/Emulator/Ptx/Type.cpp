//===- Type.cpp - Fundamental types of PTX --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Type.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// In the order of the enumeration.
static constexpr TypeInfo kTypes[] = {
    {"pred", TypeKind::Pred, 1},      {"b8", TypeKind::Bits, 8},
    {"b16", TypeKind::Bits, 16},      {"b32", TypeKind::Bits, 32},
    {"b64", TypeKind::Bits, 64},      {"b128", TypeKind::Bits, 128},
    {"u8", TypeKind::Unsigned, 8},    {"u16", TypeKind::Unsigned, 16},
    {"u32", TypeKind::Unsigned, 32},  {"u64", TypeKind::Unsigned, 64},
    {"s8", TypeKind::Signed, 8},      {"s16", TypeKind::Signed, 16},
    {"s32", TypeKind::Signed, 32},    {"s64", TypeKind::Signed, 64},
    {"f16", TypeKind::Float, 16},     {"bf16", TypeKind::Float, 16},
    {"tf32", TypeKind::Float, 32},    {"f32", TypeKind::Float, 32},
    {"f64", TypeKind::Float, 64},     {"f16x2", TypeKind::Packed, 32},
    {"bf16x2", TypeKind::Packed, 32}, {"f32x2", TypeKind::Packed, 64},
    {"u16x2", TypeKind::Packed, 32},  {"s16x2", TypeKind::Packed, 32},
    {"e4m3x2", TypeKind::Packed, 16}, {"e5m2x2", TypeKind::Packed, 16},
    {"e2m3x2", TypeKind::Packed, 16}, {"e3m2x2", TypeKind::Packed, 16},
    {"e2m1x2", TypeKind::Packed, 8},  {"ue8m0x2", TypeKind::Packed, 16},
    {"e4m3x4", TypeKind::Packed, 32}, {"e5m2x4", TypeKind::Packed, 32},
    {"e2m3x4", TypeKind::Packed, 32}, {"e3m2x4", TypeKind::Packed, 32},
    {"e2m1x4", TypeKind::Packed, 16},
};

const TypeInfo &getInfo(Type type) {
  return kTypes[static_cast<unsigned>(type)];
}

std::optional<Type> findType(llvm::StringRef name) {
  for (auto [i, info] : llvm::enumerate(kTypes))
    if (info.name == name)
      return static_cast<Type>(i);
  return std::nullopt;
}

} // namespace blockscale::emulator
