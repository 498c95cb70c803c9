//===- Storage.h - From logical to storage types ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of blockscale-materialize-storage, for pipelines of other projects:
// check the rules, resolve sizes, then convert with the patterns.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_STORAGE_H
#define BLOCKSCALE_TRANSFORMS_STORAGE_H

#include "mlir/Transforms/DialectConversion.h"

namespace blockscale {

/// The attribute of a public function that has its type from before its tensors
/// took their storage form and its results became arguments.
inline constexpr llvm::StringLiteral kSignatureAttrName =
    "blockscale.signature";

/// The attribute of a public function with the numbers of the arguments that
/// callers give away: those that `bufferization.writable = true` marks, which
/// bufferization drops.
inline constexpr llvm::StringLiteral kWritableArgumentsAttrName =
    "blockscale.writable_arguments";

/// Marks an argument of a public function that nothing writes which may still
/// run when a call begins, and the attribute of the function with the numbers
/// of these arguments.
inline constexpr llvm::StringLiteral kSettledAttrName = "blockscale.settled";
inline constexpr llvm::StringLiteral kSettledArgumentsAttrName =
    "blockscale.settled_arguments";

/// The attribute of a public function that has, for each result, the number of
/// the argument whose memory it may have, or -1.
inline constexpr llvm::StringLiteral kResultArgumentsAttrName =
    "blockscale.result_arguments";

/// Ends the name of the function that computes the sizes of another's results.
inline constexpr llvm::StringLiteral kResultSizesSuffix = "__result_sizes";

/// Maps a packed or swizzled tensor type to its storage type (getStorageType)
/// and every other type to itself.
class StorageTypeConverter : public mlir::TypeConverter {
public:
  StorageTypeConverter();
};

/// Checks that `op` may take and produce packed and swizzled tensors as it
/// does: it is an op of the dialect, or one that moves whole storage elements.
/// Emits an error at `op` otherwise. Regions are not entered.
llvm::LogicalResult verifyStorageRules(mlir::Operation *op);

/// Replaces each `tensor.dim` of a packed or swizzled tensor below `root` whose
/// size is static or known from the op that makes the tensor. Memory does not
/// hold these sizes, so what remains afterwards is a size that storage has, or
/// an error of verifyStorageRules.
void resolveLogicalSizes(mlir::Operation *root);

/// Everything outside kernel bodies is legal once its types are storage types.
void configureStorageLegality(const mlir::TypeConverter &converter,
                              mlir::ConversionTarget &target);

/// Functions, calls, branches, scf, select, cast, empty, dim and kernels.
void populateStorageStructuralPatterns(const mlir::TypeConverter &converter,
                                       mlir::RewritePatternSet &patterns);

/// extract_slice, insert_slice and parallel_insert_slice that
/// verifyStorageRules accepts.
void populateStorageSlicePatterns(const mlir::TypeConverter &converter,
                                  mlir::RewritePatternSet &patterns);

/// collapse_shape and expand_shape that verifyStorageRules accepts.
void populateStorageReshapePatterns(const mlir::TypeConverter &converter,
                                    mlir::RewritePatternSet &patterns);

/// arith.constant: packs codes, row-major or in zero-padded blocks, and
/// permutes scales into zero-padded tiles.
void populateStorageConstantPatterns(const mlir::TypeConverter &converter,
                                     mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_STORAGE_H
