//===- TableLookups.h - Numbers from a register -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_TABLELOOKUPS_H
#define BLOCKSCALE_LIB_EMIT_TABLELOOKUPS_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace blockscale {

/// Gives functions that decode E2M1 codes ("Conversion/E2M1.h") another body
/// where the machine has an instruction that permutes the lanes of a register:
/// they look up the numbers of codes, bit for bit those of the other body.
void useTableLookups(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_TABLELOOKUPS_H
