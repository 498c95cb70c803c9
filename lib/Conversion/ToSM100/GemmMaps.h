//===- GemmMaps.h - Tensor maps of operands ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMMAPS_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMMAPS_H

#include "GemmFormat.h"

#include "DeviceEmission/LaunchSite.h"

namespace blockscale::gemm {

/// Data of an operand, as the kernel reads them; sizes are index.
struct OperandData {
  mlir::Value memory;
  numerics::ElementFormat format;
  mlir::Value matrices, rows, depth;
  /// Bytes from the begin of a row to that of the next, index; null where no
  /// gap is between them.
  mlir::Value pitch = {};
  /// Whether the data are in a workspace, and not an operand as memory holds
  /// it.
  bool isWorkspace = false;
};

/// A map of the data, of which a copy brings `boxRows` rows.
mlir::Value createDataMap(LaunchSite &site, const Tcgen05Spec &spec,
                          const OperandData &data, int64_t boxRows);

/// A map of all tiles of scales, a quarter of a tile a row, of which a copy
/// brings those of a band and step.
mlir::Value createScaleMap(LaunchSite &site, const Tcgen05Spec &spec,
                           mlir::Value scale);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMMAPS_H
