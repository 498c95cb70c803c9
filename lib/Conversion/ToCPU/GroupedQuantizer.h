//===- GroupedQuantizer.h - Quantization of groups --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Items are parts of groups, or of x with the groups that it has there, and
// behind them the parts of the results that no group covers.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDQUANTIZER_H

#include "QuantizeSpec.h"

namespace blockscale::cpu {

using namespace emit;

mlir::Value countGroupedItems(const QuantizeSpec &spec);

void emitGroupedItems(const QuantizeSpec &spec, const ItemRange &range);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPEDQUANTIZER_H
