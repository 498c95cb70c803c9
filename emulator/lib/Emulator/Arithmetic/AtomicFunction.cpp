//===- AtomicFunction.cpp - Read-modify-write operations ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/AtomicFunction.h"

#include "Emulator/Arithmetic/FloatMinMax.h"
#include "Emulator/Arithmetic/FloatOps.h"
#include "Emulator/Arithmetic/IntegerOps.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

template <typename T>
static AtomicFunction findInteger(llvm::StringRef name) {
  return llvm::StringSwitch<AtomicFunction>(name)
      .Case("add", [](uint64_t o, uint64_t a,
                      uint64_t) { return addInteger<T>(o, a); })
      .Case("min", [](uint64_t o, uint64_t a,
                      uint64_t) { return minInteger<T>(o, a); })
      .Case("max", [](uint64_t o, uint64_t a,
                      uint64_t) { return maxInteger<T>(o, a); })
      .Case("and", [](uint64_t o, uint64_t a, uint64_t) { return o & a; })
      .Case("or", [](uint64_t o, uint64_t a, uint64_t) { return o | a; })
      .Case("xor", [](uint64_t o, uint64_t a, uint64_t) { return o ^ a; })
      .Case("exch", [](uint64_t, uint64_t a, uint64_t) { return a; })
      .Case("inc",
            [](uint64_t o, uint64_t a, uint64_t) { return o >= a ? 0 : o + 1; })
      .Case("dec", [](uint64_t o, uint64_t a,
                      uint64_t) { return o == 0 || o > a ? a : o - 1; })
      .Case("cas",
            [](uint64_t o, uint64_t a, uint64_t b) { return o == a ? b : o; })
      .Default(nullptr);
}

template <typename F, bool kFtz = false>
static AtomicFunction findFloat(llvm::StringRef name) {
  return llvm::StringSwitch<AtomicFunction>(name)
      .Case("add",
            [](uint64_t o, uint64_t a, uint64_t) {
              FloatModifiers modifiers;
              modifiers.ftz = kFtz;
              return addFloat<F>(o, a, modifiers);
            })
      .Case("min",
            [](uint64_t o, uint64_t a, uint64_t) {
              return minFloat<F>(o, a, MinMaxModifiers());
            })
      .Case("max",
            [](uint64_t o, uint64_t a, uint64_t) {
              return maxFloat<F>(o, a, MinMaxModifiers());
            })
      .Default(nullptr);
}

/// A packed pair is two elements that go together; the operation on one of
/// them is enough, as nothing between them is observable.
AtomicFunction findAtomicFunction(llvm::StringRef name, Type type,
                                  bool isShared) {
  switch (type) {
  case Type::S32:
    return findInteger<int32_t>(name);
  case Type::S64:
    return findInteger<int64_t>(name);
  case Type::B16:
    return findInteger<uint16_t>(name);
  case Type::U32:
  case Type::B32:
    return findInteger<uint32_t>(name);
  case Type::U64:
  case Type::B64:
    return findInteger<uint64_t>(name);
  case Type::F32:
    return isShared ? findFloat<F32>(name)
                    : findFloat<F32, /*kFtz=*/true>(name);
  case Type::F64:
    return findFloat<F64>(name);
  case Type::F16:
  case Type::F16x2:
    return findFloat<F16>(name);
  case Type::BF16:
  case Type::BF16x2:
    return findFloat<BF16>(name);
  default:
    return nullptr;
  }
}

} // namespace blockscale::emulator
