//===- DialectTest.cpp - Attributes and types from C ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"

#include "blockscale-c/Dialect.h"
#include "blockscale-c/Passes.h"

#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"

#include <string>

namespace {

void append(MlirStringRef text, void *user) {
  static_cast<std::string *>(user)->append(text.data, text.length);
}

MlirLogicalResult collect(MlirDiagnostic diagnostic, void *user) {
  mlirDiagnosticPrint(diagnostic, append, user);
  return mlirLogicalResultSuccess();
}

MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

class DialectTest : public testing::Test {
protected:
  DialectTest() {
    mlirContextAttachDiagnosticHandler(context, collect, &diagnostics, nullptr);
  }
  ~DialectTest() override { mlirContextDestroy(context); }

  static std::string print(MlirAttribute attribute) {
    std::string text;
    mlirAttributePrint(attribute, append, &text);
    return text;
  }

  MlirContext context = mlirContextCreate();
  std::string diagnostics;
};

TEST_F(DialectTest, Layouts) {
  MlirAttribute layout = mlirBlockScaleLayoutAttrGet(context, 3, 1);
  EXPECT_EQ(print(layout),
            "#blockscale.layout<swizzle_128x4, groups = 3, dim = 1>");
  EXPECT_TRUE(mlirAttributeIsABlockScaleLayout(layout));
  EXPECT_EQ(mlirBlockScaleLayoutAttrGetGroups(layout), 3);
  EXPECT_EQ(mlirBlockScaleLayoutAttrGetDim(layout), 1);
  EXPECT_FALSE(mlirAttributeIsABlockScaleRecipe(layout));
  EXPECT_TRUE(mlirAttributeIsNull(mlirBlockScaleLayoutAttrGet(context, -1, 0)));
  EXPECT_TRUE(contains(diagnostics, "expected groups to be positive"));
  int64_t dynamic = mlirShapedTypeGetDynamicSize();
  MlirAttribute any = mlirBlockScaleLayoutAttrGet(context, dynamic, 0);
  EXPECT_EQ(print(any),
            "#blockscale.layout<swizzle_128x4, groups = ?, dim = 0>");
  EXPECT_EQ(mlirBlockScaleLayoutAttrGetGroups(any), dynamic);
}

TEST_F(DialectTest, NamedLayouts) {
  auto get = [&](const char *name, int64_t groups) {
    return mlirBlockScaleLayoutAttrGetNamed(
        context, mlirStringRefCreateFromCString(name), groups, 0);
  };
  auto getName = [](MlirAttribute attribute) {
    MlirStringRef name = mlirBlockScaleLayoutAttrGetName(attribute);
    return std::string(name.data, name.length);
  };
  EXPECT_EQ(print(get("swizzle_8x4", 0)), "#blockscale.layout<swizzle_8x4>");
  EXPECT_EQ(getName(get("swizzle_8x4", 0)), "swizzle_8x4");
  EXPECT_TRUE(mlirAttributeEqual(get("swizzle_128x4", 3),
                                 mlirBlockScaleLayoutAttrGet(context, 3, 0)));
  EXPECT_EQ(getName(mlirBlockScaleDataLayoutAttrGet(context)), "");
  EXPECT_TRUE(mlirAttributeIsNull(get("swizzle_8x4", 2)));
  EXPECT_TRUE(contains(diagnostics, "expected groups only of swizzle_128x4, "
                                    "but got swizzle_8x4"));
  EXPECT_TRUE(mlirAttributeIsNull(get("tiles", 0)));
  EXPECT_TRUE(contains(diagnostics, "expected layout to be one of "
                                    "swizzle_128x4, swizzle_8x4, but got "
                                    "'tiles'"));
}

TEST_F(DialectTest, DataLayouts) {
  MlirAttribute layout = mlirBlockScaleDataLayoutAttrGet(context);
  EXPECT_EQ(print(layout), "#blockscale.data_layout<fragments_64x64>");
  EXPECT_TRUE(mlirAttributeIsABlockScaleDataLayout(layout));
  EXPECT_FALSE(mlirAttributeIsABlockScaleLayout(layout));
  EXPECT_FALSE(mlirAttributeIsABlockScaleDataLayout(
      mlirBlockScaleLayoutAttrGet(context, 0, 0)));
}

TEST_F(DialectTest, Words) {
  MlirAttribute recipe = mlirBlockScaleRecipeAttrGet(context, ref("te"));
  EXPECT_TRUE(mlirAttributeIsABlockScaleRecipe(recipe));
  EXPECT_EQ(toString(mlirBlockScaleAttrGetName(recipe)), "te");
  MlirAttribute dim = mlirBlockScaleScaleDimAttrGet(context, ref("n"));
  EXPECT_TRUE(mlirAttributeIsABlockScaleScaleDim(dim));
  EXPECT_EQ(toString(mlirBlockScaleAttrGetName(dim)), "n");
  MlirAttribute scaling =
      mlirBlockScaleGlobalScalingAttrGet(context, ref("after_rounding"));
  EXPECT_TRUE(mlirAttributeIsABlockScaleGlobalScaling(scaling));
  EXPECT_EQ(toString(mlirBlockScaleAttrGetName(scaling)), "after_rounding");
  EXPECT_EQ(
      toString(mlirBlockScaleAttrGetName(
          mlirBlockScaleGlobalScalingAttrGet(context, ref("in_elements")))),
      "in_elements");
  MlirAttribute order = mlirBlockScaleOrderAttrGet(context, ref("chain"));
  EXPECT_TRUE(mlirAttributeIsABlockScaleOrder(order));
  EXPECT_FALSE(mlirAttributeIsABlockScaleOrder(scaling));
  EXPECT_EQ(print(order), "#blockscale<order chain>");
  EXPECT_EQ(toString(mlirBlockScaleAttrGetName(order)), "chain");
  EXPECT_TRUE(
      mlirAttributeIsNull(mlirBlockScaleOrderAttrGet(context, ref("tree"))));
  EXPECT_TRUE(contains(diagnostics, "free, chain, but got 'tree'"));
  EXPECT_TRUE(
      mlirAttributeIsNull(mlirBlockScaleRecipeAttrGet(context, ref("fast"))));
  EXPECT_TRUE(contains(diagnostics, "te_4over6_mae, te_4over6_mse, tosa, "
                                    "compressed_tensors, torchao_training, but "
                                    "got 'fast'"));
}

TEST_F(DialectTest, Targets) {
  MlirAttribute target =
      mlirBlockScaleTargetAttrGet(context, ref("sm_100a"), ref("+ptx88"), 2);
  EXPECT_TRUE(mlirAttributeIsABlockScaleTarget(target));
  EXPECT_EQ(toString(mlirBlockScaleTargetAttrGetChip(target)), "sm_100a");
  EXPECT_EQ(toString(mlirBlockScaleTargetAttrGetFeatures(target)), "+ptx88");
  EXPECT_TRUE(mlirAttributeIsNull(
      mlirBlockScaleTargetAttrGet(context, ref("sm_1"), ref(""), 3)));
  EXPECT_TRUE(contains(diagnostics, "sm_1"));
}

TEST_F(DialectTest, TypesOfScales) {
  int64_t shape[] = {130, 4};
  MlirType linear = mlirRankedTensorTypeGet(
      2, shape, mlirFloat8E8M0FNUTypeGet(context), MlirAttribute{nullptr});
  EXPECT_TRUE(mlirAttributeIsNull(mlirBlockScaleTypeGetLayout(linear)));
  MlirAttribute layout = mlirBlockScaleLayoutAttrGet(context, 0, 0);
  MlirType swizzled = mlirRankedTensorTypeGet(
      2, shape, mlirFloat8E8M0FNUTypeGet(context), layout);
  EXPECT_TRUE(
      mlirAttributeEqual(mlirBlockScaleTypeGetLayout(swizzled), layout));
  MlirType storage = mlirBlockScaleTypeGetStorage(swizzled);
  EXPECT_EQ(mlirShapedTypeGetRank(storage), 5);
  EXPECT_EQ(mlirShapedTypeGetDimSize(storage, 0), 2);
}

TEST_F(DialectTest, TypesOfData) {
  int64_t shape[] = {65, 128};
  MlirAttribute layout = mlirBlockScaleDataLayoutAttrGet(context);
  MlirType prepacked = mlirRankedTensorTypeGet(
      2, shape, mlirFloat8E4M3FNTypeGet(context), layout);
  EXPECT_TRUE(
      mlirAttributeEqual(mlirBlockScaleTypeGetLayout(prepacked), layout));
  MlirType storage = mlirBlockScaleTypeGetStorage(prepacked);
  EXPECT_EQ(mlirShapedTypeGetRank(storage), 3);
  EXPECT_EQ(mlirShapedTypeGetDimSize(storage, 0), 2);
  EXPECT_EQ(mlirShapedTypeGetDimSize(storage, 2), 4096);
  EXPECT_TRUE(mlirTypeIsAInteger(mlirShapedTypeGetElementType(storage)));
}

TEST_F(DialectTest, NullIsNotFollowed) {
  MlirAttribute none = MlirAttribute{nullptr};
  EXPECT_FALSE(mlirAttributeIsABlockScaleLayout(none));
  EXPECT_FALSE(mlirAttributeIsABlockScaleDataLayout(none));
  EXPECT_TRUE(mlirAttributeIsNull(
      mlirBlockScaleDataLayoutAttrGet(MlirContext{nullptr})));
  EXPECT_EQ(mlirBlockScaleLayoutAttrGetGroups(none), 0);
  EXPECT_EQ(mlirBlockScaleAttrGetName(none).length, 0u);
  EXPECT_EQ(mlirBlockScaleTargetAttrGetChip(none).length, 0u);
  EXPECT_TRUE(mlirAttributeIsNull(
      mlirBlockScaleLayoutAttrGet(MlirContext{nullptr}, 0, 0)));
  EXPECT_TRUE(mlirAttributeIsNull(
      mlirBlockScaleRecipeAttrGet(context, MlirStringRef{nullptr, 0})));
  EXPECT_TRUE(mlirTypeIsNull(mlirBlockScaleTypeGetStorage(MlirType{nullptr})));
  EXPECT_TRUE(
      mlirAttributeIsNull(mlirBlockScaleTypeGetLayout(MlirType{nullptr})));
  mlirBlockScaleRegisterAllDialects(MlirDialectRegistry{nullptr});
}

TEST_F(DialectTest, PassesAreKnownByName) {
  mlirRegisterBlockScalePasses();
  mlirRegisterBlockScalePasses();
  MlirPassManager passes = mlirPassManagerCreate(context);
  std::string errors;
  auto parse = [&](const char *text) {
    return mlirLogicalResultIsSuccess(mlirOpPassManagerAddPipeline(
        mlirPassManagerGetAsOpPassManager(passes), ref(text), append, &errors));
  };
  EXPECT_TRUE(parse("blockscale-verify-layout")) << errors;
  EXPECT_TRUE(parse("blockscale-to-sm100{chip=sm_103a}")) << errors;
  EXPECT_FALSE(parse("blockscale-to-sm100{chip=sm_90a}"));
  EXPECT_TRUE(contains(errors, "but got 'sm_90a'"));
  mlirPassManagerDestroy(passes);
}

} // namespace
