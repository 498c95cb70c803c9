//===- Dialect.cpp - The dialect and its attributes, from C ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Dialect.h"

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

using namespace mlir;
using namespace blockscale;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(BlockScale, blockscale,
                                      blockscale::BlockScaleDialect)

void mlirBlockScaleRegisterAllDialects(MlirDialectRegistry registry) {
  if (!mlirDialectRegistryIsNull(registry))
    registerAllDialects(*unwrap(registry));
}

/// The context of a caller with the dialect loaded, or null.
static MLIRContext *load(MlirContext context) {
  if (mlirContextIsNull(context))
    return nullptr;
  MLIRContext *loaded = unwrap(context);
  DialectRegistry registry;
  registry.insert<BlockScaleDialect>();
  loaded->appendDialectRegistry(registry);
  loaded->getOrLoadDialect<BlockScaleDialect>();
  return loaded;
}

template <typename Attr>
static Attr getIf(MlirAttribute attribute) {
  return dyn_cast_or_null<Attr>(unwrap(attribute));
}

static StringRef toRef(MlirStringRef text) {
  return StringRef(text.data, text.data ? text.length : 0);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The case of an enum that `symbolize` knows by its name, of the attribute
/// `what`; values are 0 to `last`.
template <typename Enum>
static std::optional<Enum>
findWord(MLIRContext *context, StringRef what, StringRef name,
         std::optional<Enum> (*symbolize)(StringRef),
         StringRef (*stringify)(Enum), uint32_t last) {
  if (std::optional<Enum> value = symbolize(name))
    return value;
  std::string known;
  for (uint32_t i = 0; i <= last; ++i)
    known += (i ? ", " : "") + stringify(static_cast<Enum>(i)).str();
  emitError(UnknownLoc::get(context)) << "expected " << what << " to be one of "
                                      << known << ", but got '" << name << "'";
  return std::nullopt;
}

static MlirAttribute makeLayout(MLIRContext *context, LayoutKind kind,
                                int64_t groups, int64_t dim) {
  Location loc = UnknownLoc::get(context);
  return wrap(Attribute(LayoutAttr::getChecked([&] { return emitError(loc); },
                                               context, kind, groups, dim)));
}

MlirAttribute mlirBlockScaleLayoutAttrGet(MlirContext context, int64_t groups,
                                          int64_t dim) {
  MLIRContext *loaded = load(context);
  if (!loaded)
    return {nullptr};
  return makeLayout(loaded, LayoutKind::Swizzle128x4, groups, dim);
}

MlirAttribute mlirBlockScaleLayoutAttrGetNamed(MlirContext context,
                                               MlirStringRef name,
                                               int64_t groups, int64_t dim) {
  MLIRContext *loaded = load(context);
  if (!loaded)
    return {nullptr};
  std::optional<LayoutKind> kind = findWord(
      loaded, LayoutAttr::getMnemonic(), toRef(name), symbolizeLayoutKind,
      stringifyLayoutKind, getMaxEnumValForLayoutKind());
  if (!kind)
    return {nullptr};
  return makeLayout(loaded, *kind, groups, dim);
}

MlirStringRef mlirBlockScaleLayoutAttrGetName(MlirAttribute attribute) {
  LayoutAttr layout = getIf<LayoutAttr>(attribute);
  return wrap(layout ? stringifyLayoutKind(layout.getKind()) : StringRef());
}

bool mlirAttributeIsABlockScaleLayout(MlirAttribute attribute) {
  return bool(getIf<LayoutAttr>(attribute));
}

int64_t mlirBlockScaleLayoutAttrGetGroups(MlirAttribute attribute) {
  LayoutAttr layout = getIf<LayoutAttr>(attribute);
  return layout ? layout.getGroups() : 0;
}

int64_t mlirBlockScaleLayoutAttrGetDim(MlirAttribute attribute) {
  LayoutAttr layout = getIf<LayoutAttr>(attribute);
  return layout ? layout.getDim() : 0;
}

MlirAttribute mlirBlockScaleDataLayoutAttrGet(MlirContext context) {
  MLIRContext *loaded = load(context);
  if (!loaded)
    return {nullptr};
  return wrap(Attribute(DataLayoutAttr::getFragments64x64(loaded)));
}

bool mlirAttributeIsABlockScaleDataLayout(MlirAttribute attribute) {
  return bool(getIf<DataLayoutAttr>(attribute));
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The attribute of a word that `symbolize` knows; values are 0 to `last`.
template <typename Attr, typename Enum>
static MlirAttribute getWord(MlirContext context, MlirStringRef name,
                             std::optional<Enum> (*symbolize)(StringRef),
                             StringRef (*stringify)(Enum), uint32_t last) {
  MLIRContext *loaded = load(context);
  if (!loaded)
    return {nullptr};
  std::optional<Enum> value = findWord(loaded, Attr::getMnemonic(), toRef(name),
                                       symbolize, stringify, last);
  return wrap(value ? Attribute(Attr::get(loaded, *value)) : Attribute());
}

MlirAttribute mlirBlockScaleRecipeAttrGet(MlirContext context,
                                          MlirStringRef name) {
  return getWord<RecipeAttr, Recipe>(context, name, symbolizeRecipe,
                                     stringifyRecipe, getMaxEnumValForRecipe());
}

bool mlirAttributeIsABlockScaleRecipe(MlirAttribute attribute) {
  return bool(getIf<RecipeAttr>(attribute));
}

MlirAttribute mlirBlockScaleScaleDimAttrGet(MlirContext context,
                                            MlirStringRef name) {
  return getWord<ScaleDimAttr, ScaleDim>(context, name, symbolizeScaleDim,
                                         stringifyScaleDim,
                                         getMaxEnumValForScaleDim());
}

bool mlirAttributeIsABlockScaleScaleDim(MlirAttribute attribute) {
  return bool(getIf<ScaleDimAttr>(attribute));
}

MlirAttribute mlirBlockScaleGlobalScalingAttrGet(MlirContext context,
                                                 MlirStringRef name) {
  return getWord<GlobalScalingAttr, GlobalScaling>(
      context, name, symbolizeGlobalScaling, stringifyGlobalScaling,
      getMaxEnumValForGlobalScaling());
}

bool mlirAttributeIsABlockScaleGlobalScaling(MlirAttribute attribute) {
  return bool(getIf<GlobalScalingAttr>(attribute));
}

MlirAttribute mlirBlockScaleOrderAttrGet(MlirContext context,
                                         MlirStringRef name) {
  return getWord<SumOrderAttr, SumOrder>(context, name, symbolizeSumOrder,
                                         stringifySumOrder,
                                         getMaxEnumValForSumOrder());
}

bool mlirAttributeIsABlockScaleOrder(MlirAttribute attribute) {
  return bool(getIf<SumOrderAttr>(attribute));
}

MlirStringRef mlirBlockScaleAttrGetName(MlirAttribute attribute) {
  // The words are literals.
  if (auto recipe = getIf<RecipeAttr>(attribute))
    return wrap(stringifyRecipe(recipe.getValue()));
  if (auto dim = getIf<ScaleDimAttr>(attribute))
    return wrap(stringifyScaleDim(dim.getValue()));
  if (auto scaling = getIf<GlobalScalingAttr>(attribute))
    return wrap(stringifyGlobalScaling(scaling.getValue()));
  if (auto order = getIf<SumOrderAttr>(attribute))
    return wrap(stringifySumOrder(order.getValue()));
  return wrap(StringRef());
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

MlirAttribute mlirBlockScaleTargetAttrGet(MlirContext context,
                                          MlirStringRef chip,
                                          MlirStringRef features,
                                          int optimization) {
  MLIRContext *loaded = load(context);
  if (!loaded)
    return {nullptr};
  Location loc = UnknownLoc::get(loaded);
  return wrap(Attribute(TargetAttr::getChecked([&] { return emitError(loc); },
                                               loaded, toRef(chip),
                                               toRef(features), optimization)));
}

bool mlirAttributeIsABlockScaleTarget(MlirAttribute attribute) {
  return bool(getIf<TargetAttr>(attribute));
}

MlirStringRef mlirBlockScaleTargetAttrGetChip(MlirAttribute attribute) {
  TargetAttr target = getIf<TargetAttr>(attribute);
  return wrap(target ? target.getChip() : StringRef());
}

MlirStringRef mlirBlockScaleTargetAttrGetFeatures(MlirAttribute attribute) {
  TargetAttr target = getIf<TargetAttr>(attribute);
  return wrap(target ? target.getFeatures() : StringRef());
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

MlirAttribute mlirBlockScaleTypeGetLayout(MlirType type) {
  if (mlirTypeIsNull(type))
    return {nullptr};
  if (isPrepacked(unwrap(type)))
    return wrap(Attribute(getDataLayout(unwrap(type))));
  return wrap(Attribute(getLayout(unwrap(type))));
}

MlirType mlirBlockScaleTypeGetStorage(MlirType type) {
  return mlirTypeIsNull(type) ? type : wrap(getStorageType(unwrap(type)));
}
