//===- ErrorWriter.h - Kernels that report errors ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_ERRORWRITER_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_ERRORWRITER_H

#include "Emission/Lanes.h"
#include "KernelBuilder.h"
#include "blockscale/Runtime/ErrorRecord.h"

namespace blockscale {

/// Writes the error record of the module (Runtime/ErrorRecord.h) unless there
/// is one already. `rule`, `group`, `expected` and `found` are i64; the thread
/// that calls writes, and no other one needs to.
void emitErrorRecord(KernelBuilder &b, runtime::ErrorOp op, emit::Lanes rule,
                     emit::Lanes group, emit::Lanes expected,
                     emit::Lanes found);

/// The same of an assertion that expects `text`, which is not empty.
void emitErrorRecord(KernelBuilder &b, llvm::StringRef text,
                     emit::Lanes expected, emit::Lanes found);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_ERRORWRITER_H
