//===- GemmMaps.h - Tensor maps of scales ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMMAPS_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMMAPS_H

#include "DeviceEmission/LaunchSite.h"
#include "Products/GemmFormat.h"

namespace blockscale::gemm {

/// A map of all tiles of scales, a quarter of a tile a row, of which a copy
/// brings those of a band and step.
mlir::Value createScaleMap(LaunchSite &site, const ScaledGemmSpec &spec,
                           mlir::Value scale);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMMAPS_H
