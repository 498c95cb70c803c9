//===- Device.h - Memory of an emulated device ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_EMULATOR_DEVICE_H
#define BLOCKSCALE_EMULATOR_DEVICE_H

#include "blockscale/Emulator/Memory.h"

namespace blockscale::emulator {

/// What outlives a launch: global memory, with the buffers that the caller
/// allocates, and the constants of a module.
struct Device {
  Memory global = makeGlobalMemory();
  Memory constant = Memory(StateSpace::Const, /*first=*/0);
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_DEVICE_H
