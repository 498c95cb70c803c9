//===- Relayout.h - Kernels that move scales --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that writes scales in any layout, each of which is a byte of another
// buffer. Threads have runs of neighbours in a row, in the order of memory,
// those of padding included.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_RELAYOUT_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_RELAYOUT_H

#include "DeviceEmission/LaunchSite.h"
#include "blockscale/Numerics/ScaleLayout.h"

namespace blockscale {

struct Relayout {
  std::string name;
  mlir::Value source, result;
  /// The layout of the result, and the columns of linear scales.
  const numerics::ScaleLayout &layout;
  int64_t staticCols;
  /// Rows and columns of a matrix of the result, and the number of matrices.
  emit::Lanes rows, cols, matrices;

  /// Bytes of a store.
  int64_t getWidth() const;
};

/// Where a scale of the result is, and the sizes of its matrix.
struct RelayoutPlace {
  emit::Lanes matrix, row, col, rows, cols;
};

/// Launches the kernel. `getSource` emits the number of the byte of the source
/// that is the scale at a place.
void launchRelayout(LaunchSite &site, Relayout relayout,
                    llvm::function_ref<emit::Lanes(KernelBuilder &b,
                                                   const RelayoutPlace &place)>
                        getSource);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_RELAYOUT_H
