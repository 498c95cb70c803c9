//===- QuantizeArguments.h - Arguments of a quantize kernel -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEARGUMENTS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEARGUMENTS_H

#include "DeviceEmission/GroupSearch.h"
#include "DeviceEmission/KernelSignature.h"
#include "QuantizeSpec.h"

namespace blockscale {

/// Bytes of the widest global access.
int64_t getAccessBytes(const target::Chip &chip);

/// Bytes of the widest access to the elements of x, and to the data of a
/// fragment. The length of rows decides how they are aligned, and so how wide
/// an access may be.
int64_t getLoadBytes(const QuantizeSpec &spec, int64_t accessBytes);
int64_t getDataStoreBytes(const QuantizeSpec &spec, int64_t accessBytes);

/// Bytes of the widest store of values that are decoded.
int64_t getDecodedStoreBytes(const QuantizeSpec &spec, int64_t accessBytes);

/// Scale bytes of a fragment that are stored together.
int64_t getScaleStoreBytes(const QuantizeSpec &spec, int64_t fragmentBlocks);

/// The ends of groups, from the parameters of the kernel.
GroupEnds getGroupEnds(KernelBuilder &b, const QuantizeSpec &spec,
                       const QuantizeOperands &arguments);

/// Adds the slots of what the kernel of a spec takes, in their order. What x is
/// computed from comes last.
void addQuantizeSlots(KernelSignature &signature, QuantizeOperands &operands,
                      const QuantizeSpec &spec, const target::Chip &chip);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_QUANTIZEARGUMENTS_H
