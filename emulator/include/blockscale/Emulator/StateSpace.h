//===- StateSpace.h - State spaces of PTX -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_STATESPACE_H
#define BLOCKSCALE_EMULATOR_STATESPACE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace blockscale::emulator {

/// The kinds of memory that an address may belong to: PTX ISA, section "State
/// Spaces".
enum class StateSpace : uint8_t { Global, Shared, Local, Param, Const };

/// The name of a state space as PTX spells it, without the dot.
llvm::StringRef getName(StateSpace space);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_STATESPACE_H
