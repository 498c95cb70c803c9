//===- TensorMapOption.h - Tensor maps on the command line ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_EMULATE_TENSORMAPOPTION_H
#define BLOCKSCALE_TOOLS_EMULATE_TENSORMAPOPTION_H

#include "blockscale/Emulator/TensorMap.h"

#include "llvm/Support/Error.h"

namespace blockscale::emulate {

/// "type=BFLOAT16,dims=64x32,box=64x8,...": the map of a tensor in a buffer at
/// `address`. Dimensions are innermost first; the error names what is missing,
/// unknown, or against the rules of tensor maps.
llvm::Expected<emulator::TensorMap> parseTensorMap(llvm::StringRef text,
                                                   uint64_t address);

} // namespace blockscale::emulate

#endif // BLOCKSCALE_TOOLS_EMULATE_TENSORMAPOPTION_H
