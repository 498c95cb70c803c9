//===- OperandData.h - Data of operands with scales --------------*- C++ -*===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_OPERANDDATA_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_OPERANDDATA_H

#include "DeviceEmission/LaunchSite.h"
#include "GemmFormat.h"

namespace blockscale::gemm {

/// Data of an operand with scales, as the kernel reads them; sizes are index.
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

/// Data in the format that is multiplied, in rows from which copies can begin:
/// those of memory, or a workspace. `rows` is index.
OperandData getOperandData(LaunchSite &site, mlir::Value data,
                           numerics::ElementFormat format, mlir::Value matrices,
                           mlir::Value rows, mlir::OpFoldResult depth);

/// A map of the data, of which a copy brings `boxRows` rows.
mlir::Value createDataMap(LaunchSite &site, const ScaledGemmSpec &spec,
                          const OperandData &data, int64_t boxRows);

/// `size`, or `least` where that is more: maps have no empty dimensions; of
/// what is empty nothing is loaded.
mlir::Value atLeast(mlir::ImplicitLocOpBuilder &b, mlir::Value size,
                    int64_t least);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_OPERANDDATA_H
