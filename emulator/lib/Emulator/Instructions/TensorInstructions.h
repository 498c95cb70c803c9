//===- TensorInstructions.h - Instructions of tcgen05 -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_TENSORINSTRUCTIONS_H
#define BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_TENSORINSTRUCTIONS_H

#include "Emulator/Instructions/AsyncIssue.h"

namespace blockscale::emulator {

/// alloc, dealloc, relinquish_alloc_permit and fence.
llvm::Error decodeTensorAlloc(Decoder &decoder, Op &op);
/// ld, st and wait.
llvm::Error decodeTensorAccess(Decoder &decoder, Op &op);
/// mma, cp and commit.
llvm::Error decodeTensorMma(Decoder &decoder, Op &op);

/// The ranks of the CTAs that an instruction is of: its own, or the pair's with
/// .cta_group::2. Empty, and reported, where there is no pair.
llvm::SmallVector<unsigned, 2> getGroup(const Issuer &issuer);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_INSTRUCTIONS_TENSORINSTRUCTIONS_H
