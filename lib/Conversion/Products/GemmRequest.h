//===- GemmRequest.h - The products of a kernel -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host knows of a kernel of products, whichever instruction
// multiplies: its ops, their sizes, and the operands that results are made of.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMREQUEST_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMREQUEST_H

#include "DeviceEmission/LaunchSite.h"
#include "GemmSpec.h"
#include "blockscale/Analysis/Epilogue.h"

namespace blockscale::products {

/// The sizes of a product, as the host knows them.
struct GemmSizes {
  mlir::OpFoldResult rows, cols, depth;
  /// The number of matrices of a batch, or of groups.
  mlir::Value matrices;
};

/// The products that a kernel computes, and the epilogue that follows them.
struct GemmRequest {
  /// Finds them among the ops of a kernel. Emits an error where they do not
  /// share it, or take values that are computed there besides.
  static mlir::FailureOr<GemmRequest>
  find(llvm::ArrayRef<mlir::Operation *> ops);

  const Product &getFirst() const { return products.front(); }

  GemmSizes getSizes(const LaunchSite &site) const;
  /// Sets of matrices whose rows alternate in memory, index.
  struct Interleaving {
    /// The matrices of a set, and the sets; null where the rows of a matrix
    /// follow each other.
    mlir::Value inner, outer;
  };
  /// How an operand of the first product lies in memory, and the result.
  Interleaving getInterleaving(const LaunchSite &site, mlir::Value data) const;
  Interleaving getResultInterleaving(const LaunchSite &site) const;
  /// Asserts that operands, and memory of the epilogue, have the sizes of the
  /// products.
  void requireSizes(LaunchSite &site, const GemmSizes &sizes) const;
  /// Sets what `spec` says of results. Its formats and schedule are set.
  /// `hasFragments` says that threads have fragments of a row of sums.
  void setResults(GemmSpec &spec, const LaunchSite &site,
                  const GemmSizes &sizes, bool hasFragments) const;
  /// The result, and what it is made of besides sums.
  GemmArguments getResultArguments(LaunchSite &site,
                                   const GemmSpec &spec) const;
  /// Sets the inputs of elementwise ops, the offsets and the sizes. Rows of
  /// results have `cols` elements.
  void setSizes(GemmArguments &arguments, LaunchSite &site,
                const GemmSpec &spec, const GemmSizes &sizes,
                mlir::Value cols) const;

  llvm::SmallVector<Product, kMostProducts> products;
  Epilogue epilogue;
};

/// Tiles of all products, or as many as there can be: groups of rows may end
/// within a tile, but none is without a row.
mlir::Value countTiles(LaunchSite &site, const GemmSpec &spec,
                       const GemmSizes &sizes, mlir::Value cols);

/// Multiplies parts of K into a workspace by `launch`, which is given the place
/// of the sums and the number of columns of a row of them, and adds the sums.
void launchSplit(
    const GemmRequest &request, LaunchSite &site, const GemmSpec &spec,
    const GemmSizes &sizes,
    llvm::function_ref<void(mlir::Value sums, mlir::Value cols)> launch);

/// Multiplies by `launch(spec, cols, arguments)`: into the result, or where the
/// schedule splits K, into sums that are added afterwards. `arguments` have
/// where results go, and what they are made of, with rows of `cols`.
template <typename Spec, typename Launch>
void launchParts(const GemmRequest &request, LaunchSite &site, const Spec &spec,
                 const GemmSizes &sizes, const Launch &launch) {
  if (spec.schedule.getSplits() == 1) {
    launch(spec, emit::toIndex(site.b, sizes.cols),
           request.getResultArguments(site, spec));
    return;
  }
  launchSplit(request, site, spec, sizes,
              [&](mlir::Value sums, mlir::Value cols) {
                Spec partial = spec;
                partial.keepSums();
                GemmArguments arguments(partial);
                arguments.result = sums;
                launch(partial, cols, arguments);
              });
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_GEMMREQUEST_H
