//===- ProgramLayout.h - Layout of variables --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_PROGRAM_PROGRAMLAYOUT_H
#define BLOCKSCALE_LIB_EMULATOR_PROGRAM_PROGRAMLAYOUT_H

#include "blockscale/Emulator/Program.h"

namespace blockscale::emulator {

/// Slots of the registers, and the frames, of one function.
void layOutFunction(const Function &function, ProgramFunction &laidOut);

/// Offsets of shared variables, of the module into `moduleVariables` and of
/// functions into theirs. A variable that several kernels use has one offset in
/// all of them; a kernel has room for its own variables alone. Also notes what
/// kernels may call.
void layOutShared(const Module &module, VariableLayout &moduleVariables,
                  std::vector<ProgramFunction> &functions);

/// Global and constant variables, as buffers of the device.
llvm::Error allocateVariables(const Module &module,
                              VariableLayout &moduleVariables, Device &device);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_PROGRAM_PROGRAMLAYOUT_H
