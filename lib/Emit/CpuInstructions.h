//===- CpuInstructions.h - Functions of the CPU's own -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_CPUINSTRUCTIONS_H
#define BLOCKSCALE_LIB_EMIT_CPUINSTRUCTIONS_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace blockscale {

/// Gives functions that say what they compute by an attribute
/// ("Conversion/E2M1.h", "BF16Products.h") another body where the machine has
/// instructions for that. Lookups in registers have the bits of the other body.
void useCpuInstructions(llvm::Module &module,
                        const llvm::TargetMachine &machine);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_CPUINSTRUCTIONS_H
