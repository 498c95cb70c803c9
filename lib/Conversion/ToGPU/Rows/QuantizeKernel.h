//===- QuantizeKernel.h - Structure of a quantize kernel --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEKERNEL_H

#include "QuantizeSpec.h"

namespace blockscale {

/// Emits the body of the kernel of a spec, for the threads of its
/// ThreadMapping. `operands` hold the parameters of the kernel
/// (QuantizeArguments.h).
void emitQuantizeKernel(KernelBuilder &b, const QuantizeSpec &spec,
                        const target::Chip &chip,
                        const QuantizeOperands &operands);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEKERNEL_H
