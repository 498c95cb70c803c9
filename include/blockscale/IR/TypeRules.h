//===- TypeRules.h - Shapes, formats and storage of types -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules that verifiers, shape inference and lowerings share.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_TYPERULES_H
#define BLOCKSCALE_IR_TYPERULES_H

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Numerics/Recipe.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include <limits>

namespace blockscale {

//===----------------------------------------------------------------------===//
// Formats and recipes
//===----------------------------------------------------------------------===//

/// Whether the scale element type makes the format NVFP4 (E4M3 scales) rather
/// than MX (E8M0 scales).
bool isNvfp4ScaleType(mlir::Type scaleElement);

/// Elements of K that a block has where neither operand of a product has
/// scales: what K is a multiple of.
inline constexpr int64_t kPlainBlockSize = 16;

/// Elements along a row or column that share one scale.
int64_t getFormatBlockSize(mlir::Type scaleElement);

/// The arithmetic of element types of scales and data, and of a recipe.
numerics::ScaleFormat getScaleFormat(mlir::Type scaleElement);
numerics::ElementFormat getElementFormat(mlir::Type dataElement);
numerics::InputFormat getInputFormat(mlir::Type xElement);

/// The arithmetic of a recipe for tensors with elements of these types; that of
/// some format where the recipe is not defined for them.
numerics::Recipe getArithmetic(Recipe recipe, mlir::Type scaleElement,
                               mlir::Type dataElement, mlir::Type xElement);

/// What kRecipes of Numerics has in the place of `recipe`: facts that all its
/// arithmetics share can be asked of it.
numerics::Recipe getNumerics(Recipe recipe);

/// `recipe`, or the default of the formats with these scales.
Recipe getRecipeOrDefault(std::optional<Recipe> recipe,
                          numerics::ScaleFormat scale);

/// Whether the recipe chooses between two scales for a block.
bool isFourOverSix(Recipe recipe);

/// Whether the recipe defines a last block shorter than the block size.
bool acceptsTails(Recipe recipe);

/// Whether the bytes of the recipe follow from the amax of the tensor and not,
/// to the last bit, from its decode scale (numerics::RecipeTrait).
bool computesFromAmax(Recipe recipe);

/// The recipe of blocks whose amaxes `scale_sweep` finds.
Recipe getSweepRecipe();

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The form of scales of which each block of rows x columns has one.
ScaleForm getCompactForm(llvm::ArrayRef<int64_t> block);

/// Scales of square blocks, replicated for a product along `dim`.
ScaleForm getExpandedForm(int64_t blockSize, ScaleDim dim);

/// Shape of the scales of a tensor with shape `shape` [.., M, K].
llvm::SmallVector<int64_t> getScaleShape(llvm::ArrayRef<int64_t> shape,
                                         const ScaleForm &form);

/// The sizes of the scales of a tensor with sizes `sizes`, as values, for
/// reification.
llvm::SmallVector<mlir::OpFoldResult>
getScaleSizes(mlir::OpBuilder &builder, mlir::Location loc,
              llvm::ArrayRef<mlir::OpFoldResult> sizes, const ScaleForm &form);

/// Shape and sizes of the scales of blocks of `block` elements of a row:
/// [.., M, K ceildiv block].
llvm::SmallVector<int64_t> getScaleShape(llvm::ArrayRef<int64_t> shape,
                                         int64_t block);
llvm::SmallVector<mlir::OpFoldResult>
getScaleSizes(mlir::OpBuilder &builder, mlir::Location loc,
              llvm::ArrayRef<mlir::OpFoldResult> sizes, int64_t block);

/// Rows that the ends of padded groups can say.
inline constexpr int64_t kMostPaddedRows = std::numeric_limits<int32_t>::max();

/// Rows of what `pad_groups` makes of `rows` rows in `groups` groups; dynamic
/// where either is.
int64_t getPaddedRows(int64_t rows, int64_t groups, int64_t unit);
mlir::OpFoldResult getPaddedRows(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::OpFoldResult rows,
                                 mlir::OpFoldResult groups, int64_t unit);

/// `sizes` of a value of type `type`, with its static sizes as attributes, as
/// reification of result shapes promises.
llvm::SmallVector<mlir::OpFoldResult>
withStaticSizes(mlir::OpBuilder &builder, mlir::RankedTensorType type,
                llvm::SmallVector<mlir::OpFoldResult> sizes);

/// The dimensions of the data of B, or of A, that are its rows, M or N, and K.
struct ProductDims {
  int64_t rows, depth;
};
ProductDims getProductDims(ProductOpInterface op, bool ofB);

/// Whether B, or A, has scales, and rows of blocks along M or N instead of
/// along K: those that a product across them has of the same bytes.
bool hasMnMajorScales(ProductOpInterface op, bool ofB);

/// Whether B is such an operand in the order of data and with the global scale
/// that kernels of wgmma decode as they multiply: it is prepacked, and no
/// global scale multiplies its elements.
bool hasPackedMnMajorScales(ProductOpInterface op);

/// What K is a multiple of: the block that lies along it, or that of plain
/// operands where scales have none there.
int64_t getDepthUnit(ProductOpInterface op);

/// Rows of `b`, or of `a`, as a value: M or N. Prepacked data do not store
/// them, so they are those of the scales, if linear or made by an op, or of the
/// bias.
mlir::OpFoldResult getProductRows(mlir::OpBuilder &builder,
                                  ProductOpInterface op, bool ofB);

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

/// The order of the bytes of a tensor type of scales: that of its layout, or
/// linear.
const numerics::ScaleLayout &getScaleLayout(mlir::Type type);

/// Whether ops that compute scales, or with scales, have kernels for this type
/// of scales: linear ones and those in tiles of 128x4. `swizzle` alone has
/// kernels for other layouts.
bool hasKernelOrder(mlir::Type type);

/// The layout of a tensor type of scales, or null where they are linear.
LayoutAttr getLayout(mlir::Type type);

/// The layout of a tensor type of scales if it is grouped, or null.
LayoutAttr getGroupedLayout(mlir::Type type);

/// The layout of a tensor type of data, or null.
DataLayoutAttr getDataLayout(mlir::Type type);

/// Whether the type is one of data with a layout.
bool isPrepacked(mlir::Type type);

/// Whether the type has a layout, of scales or of data.
bool hasLayout(mlir::Type type);

/// What an op gives back that changes a layout between equal types; null of
/// other ops.
mlir::Value getUnchangedSource(mlir::Operation *op);

/// Bits that memory has for an element of prepacked data: 4 or 8.
int64_t getPrepackedBits(mlir::Type dataElement);

/// Whether memory holds the type in another form: f4 elements (packed), f6
/// elements (bytes), a scale layout (tiled) or a data layout (in blocks).
bool needsStorageForm(mlir::Type type);

/// What memory holds for a logical type: f4 data [.., K] becomes i8
/// [.., K ceildiv 2], f6 data i8 (a code in the low bits of each byte), an
/// encoded scale tensor its tiles, encoded data the bytes of its blocks. Other
/// types are returned as they are.
mlir::Type getStorageType(mlir::Type type);

/// Storage sizes of a tensor type whose logical sizes are `sizes`. `groups` is
/// the number of groups, which a layout with a dynamic number needs.
llvm::SmallVector<mlir::OpFoldResult> getStorageSizes(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
    llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::OpFoldResult groups = {});

/// The ends of the groups that an op quantizes, swizzles or multiplies; null of
/// an op without groups, and of no op.
mlir::Value getGroupOffsets(mlir::Operation *op);

/// Whether the type has a layout of as many groups as some offsets say.
bool hasDynamicGroups(mlir::Type type);

} // namespace blockscale

#endif // BLOCKSCALE_IR_TYPERULES_H
