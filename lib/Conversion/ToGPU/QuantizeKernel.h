//===- QuantizeKernel.h - Structure of a quantize kernel --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_QUANTIZEKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_QUANTIZEKERNEL_H

#include "QuantizeSpec.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace blockscale {

/// Fills the empty body of `kernel`, a function of the arguments of the spec
/// (QuantizeArguments.h), for the threads of its ThreadMapping.
void emitQuantizeKernel(mlir::gpu::GPUFuncOp kernel, const QuantizeSpec &spec,
                        const target::Chip &chip);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_QUANTIZEKERNEL_H
