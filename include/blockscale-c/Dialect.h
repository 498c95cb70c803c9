//===- Dialect.h - The dialect and its attributes, from C ---------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect in the conventions of MLIR's C API: handles are values, a null
// attribute stands for a failure, whose diagnostic goes to the context.
// libBlockScaleC exports MLIR's own functions too (mlir-c/IR.h, Pass.h,
// Transforms.h and RegisterEverything.h), so that a program in C links nothing
// else.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_DIALECT_H
#define BLOCKSCALE_C_DIALECT_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(BlockScale, blockscale);

/// The dialect with every interface that its passes ask for, and all dialects
/// and extensions of MLIR.
MLIR_CAPI_EXPORTED void
mlirBlockScaleRegisterAllDialects(MlirDialectRegistry registry);

//===----------------------------------------------------------------------===//
// #blockscale.layout
//===----------------------------------------------------------------------===//

/// swizzle_128x4, of `groups` groups along `dim`; `groups` is 0 for a layout of
/// one matrix, and mlirShapedTypeGetDynamicSize() where offsets say it.
MLIR_CAPI_EXPORTED MlirAttribute
mlirBlockScaleLayoutAttrGet(MlirContext context, int64_t groups, int64_t dim);
/// The layout that `name` says, such as "swizzle_8x4"; null for a name of no
/// layout, and where the layout has no groups.
MLIR_CAPI_EXPORTED MlirAttribute mlirBlockScaleLayoutAttrGetNamed(
    MlirContext context, MlirStringRef name, int64_t groups, int64_t dim);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleLayout(MlirAttribute attribute);
/// The name of a layout; empty for an attribute that is no layout.
MLIR_CAPI_EXPORTED MlirStringRef
mlirBlockScaleLayoutAttrGetName(MlirAttribute attribute);
/// The number of groups of a layout, a dynamic size where offsets say it, or
/// the dimension that they divide; 0 for an attribute that is no layout.
MLIR_CAPI_EXPORTED int64_t
mlirBlockScaleLayoutAttrGetGroups(MlirAttribute attribute);
MLIR_CAPI_EXPORTED int64_t
mlirBlockScaleLayoutAttrGetDim(MlirAttribute attribute);

//===----------------------------------------------------------------------===//
// #blockscale.data_layout
//===----------------------------------------------------------------------===//

/// fragments_64x64.
MLIR_CAPI_EXPORTED MlirAttribute
mlirBlockScaleDataLayoutAttrGet(MlirContext context);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleDataLayout(MlirAttribute attribute);

//===----------------------------------------------------------------------===//
// Attributes that are words
//===----------------------------------------------------------------------===//

/// #blockscale<recipe torchao>; null for a name that is none.
MLIR_CAPI_EXPORTED MlirAttribute
mlirBlockScaleRecipeAttrGet(MlirContext context, MlirStringRef name);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleRecipe(MlirAttribute attribute);
/// #blockscale<scale_dim k>
MLIR_CAPI_EXPORTED MlirAttribute
mlirBlockScaleScaleDimAttrGet(MlirContext context, MlirStringRef name);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleScaleDim(MlirAttribute attribute);
/// #blockscale<global_scaling after_rounding>
MLIR_CAPI_EXPORTED MlirAttribute
mlirBlockScaleGlobalScalingAttrGet(MlirContext context, MlirStringRef name);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleGlobalScaling(MlirAttribute attribute);
/// #blockscale<order chain>
MLIR_CAPI_EXPORTED MlirAttribute mlirBlockScaleOrderAttrGet(MlirContext context,
                                                            MlirStringRef name);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleOrder(MlirAttribute attribute);
/// The word of any of them; empty for an attribute that is none.
MLIR_CAPI_EXPORTED MlirStringRef
mlirBlockScaleAttrGetName(MlirAttribute attribute);

//===----------------------------------------------------------------------===//
// #blockscale.target
//===----------------------------------------------------------------------===//

/// What a gpu.module is compiled for. `features` may be empty.
MLIR_CAPI_EXPORTED MlirAttribute
mlirBlockScaleTargetAttrGet(MlirContext context, MlirStringRef chip,
                            MlirStringRef features, int optimization);
MLIR_CAPI_EXPORTED bool
mlirAttributeIsABlockScaleTarget(MlirAttribute attribute);
MLIR_CAPI_EXPORTED MlirStringRef
mlirBlockScaleTargetAttrGetChip(MlirAttribute attribute);
MLIR_CAPI_EXPORTED MlirStringRef
mlirBlockScaleTargetAttrGetFeatures(MlirAttribute attribute);

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// Values have builtin tensor types; the layout of a tensor is its encoding.

/// The layout of a tensor type, of scales or of data; null where it has none.
MLIR_CAPI_EXPORTED MlirAttribute mlirBlockScaleTypeGetLayout(MlirType type);
/// What memory holds for a type: f4 data [.., K] as i8 [.., K/2], f6 data as
/// i8, scales with a layout as their tiles, and data with one as i8 blocks.
/// Other types as they are.
MLIR_CAPI_EXPORTED MlirType mlirBlockScaleTypeGetStorage(MlirType type);

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_DIALECT_H
