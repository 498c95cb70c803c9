//===- AtomicFunction.h - Read-modify-write operations ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_ATOMICFUNCTION_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_ATOMICFUNCTION_H

#include "blockscale/Emulator/Type.h"

namespace blockscale::emulator {

/// The new value of an element; cas compares with `a` and sets `b`.
using AtomicFunction = uint64_t (*)(uint64_t old, uint64_t a, uint64_t b);

/// The operation that PTX calls `name` on elements of this type; null where
/// there is none. Sums of f32 outside shared memory flush subnormal numbers.
AtomicFunction findAtomicFunction(llvm::StringRef name, Type type,
                                  bool isShared = false);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_ATOMICFUNCTION_H
