//===- SignatureTest.cpp - What functions take and give -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Signature.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;
using blockscale::runtime::NpyType;
using blockscale::runtime::Result;

namespace {

constexpr const char *kFunctions = R"(
func.func private @helper()
func.func @dequantize(%d: tensor<?x64xf4E2M1FN>,
    %s: tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>,
    %g: tensor<f32>, %n: index) -> tensor<?x64xbf16> {
  %r = tensor.dim %d, %n : tensor<?x64xf4E2M1FN>
  %l = blockscale.swizzle %s sizes(%r)
      : tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
      -> tensor<?x4xf8E4M3FN>
  %x = blockscale.dequantize %d, %l block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN> -> tensor<?x64xbf16>
  return %x : tensor<?x64xbf16>
})";

constexpr const char *kSquares = R"(
func.func @squares(%a: tensor<32x32xf8E4M3FN>, %s: tensor<1x1xf8E8M0FNU>)
    -> tensor<32x32xf32> {
  %t = blockscale.expand_scale %s block [32, 32] scale_dim k
      : tensor<1x1xf8E8M0FNU> -> tensor<32x1xf8E8M0FNU>
  %y = blockscale.scaled_mm %a, %a scales(%t, %t) block [1, 32]
      : tensor<32x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>,
        tensor<32x1xf8E8M0FNU>, tensor<32x1xf8E8M0FNU> -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
})";

class SignatureTest : public testing::Test {
protected:
  SignatureTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    parse(kFunctions);
  }

  void parse(const char *source) {
    module = parseSourceString<ModuleOp>(source, &context);
  }

  Signature getSignature() {
    Result<func::FuncOp> entry = findEntry(*module, "");
    EXPECT_TRUE(entry.ok()) << entry.message();
    Result<Signature> signature = blockscale::getSignature(*entry);
    EXPECT_TRUE(signature.ok()) << signature.message();
    return *signature;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(SignatureTest, SlotsAreInStorageForm) {
  Signature signature = getSignature();
  EXPECT_EQ(signature.name, "dequantize");
  ASSERT_EQ(signature.arguments.size(), 4u);
  constexpr int64_t any = ShapedType::kDynamic;
  EXPECT_EQ(signature.arguments[0].type, NpyType::UInt8);
  EXPECT_EQ(signature.arguments[0].shape, (std::vector<int64_t>{any, 32}));
  EXPECT_EQ(signature.arguments[1].shape,
            (std::vector<int64_t>{any, 1, 32, 4, 4}));
  EXPECT_FALSE(signature.arguments[2].isScalar);
  EXPECT_TRUE(signature.arguments[3].isScalar);
  EXPECT_EQ(signature.results[0].type, NpyType::UInt16);
}

TEST_F(SignatureTest, ScalesAreKnownByTheirUse) {
  Signature signature = getSignature();
  EXPECT_EQ(signature.arguments[0].scale, Slot::Scale::None);
  // The scale is found through the swizzle.
  EXPECT_EQ(signature.arguments[1].scale, Slot::Scale::E4M3);
  EXPECT_EQ(signature.arguments[2].scale, Slot::Scale::Global);
}

TEST_F(SignatureTest, ScalesOfSquaresAreKnown) {
  parse(kSquares);
  EXPECT_EQ(getSignature().arguments[1].scale, Slot::Scale::E8M0);
}

TEST_F(SignatureTest, ContentInAGpusMemoryIsNotRead) {
  Slot slot = getSignature().arguments[1];
  std::vector<int64_t> shape = {1, 1, 32, 4, 4};
  std::vector<uint8_t> bytes(512, 0xB8);
  ArrayView view = {NpyType::UInt8, shape, bytes.data(), bytes.size()};
  EXPECT_FALSE(checkArgument(slot, view, /*isRead=*/true).ok());
  view.data = nullptr;
  EXPECT_TRUE(checkArgument(slot, view, /*isRead=*/false).ok());
}

} // namespace
