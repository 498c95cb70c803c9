//===- WidenKernel.h - Narrow codes as FP8 ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_WIDENKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_WIDENKERNEL_H

#include "DeviceEmission/LaunchSite.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale::products {

/// A workspace with the `elements` numbers of `data`, codes of 4 or 6 bits as
/// memory holds them, in E4M3, which has all their values. They are a multiple
/// of 32.
mlir::Value launchWiden(LaunchSite &site, mlir::Value data,
                        numerics::ElementFormat format, mlir::Value elements);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_WIDENKERNEL_H
