//===- TensorReduction.h - Tiles combined with a tensor ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_TENSORREDUCTION_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_TENSORREDUCTION_H

#include "blockscale/Emulator/Memory.h"
#include "blockscale/Emulator/TensorMap.h"

namespace blockscale::emulator {

/// cp.reduce.async.bulk.tensor, at once: combines the values of the tensor with
/// those of the tile by `operation`, as PTX calls it. False, and a fault, where
/// the copy is refused or the element type has no such operation.
bool reduceTile(llvm::StringRef operation, const TensorMap &map,
                llvm::ArrayRef<int32_t> coordinates, const Memory &shared,
                uint64_t from, Memory &global, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_TENSORREDUCTION_H
