//===- GemmAssemblyTest.cpp - Matrix products through ptxas ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Ptx.h"
#include "blockscale/Emit/Ptxas.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// Products of formats, tiles, result types and epilogues.
class Products {
public:
  void add(StringRef a, StringRef b, StringRef scale, int64_t block,
           StringRef tile, StringRef result, StringRef operands = "") {
    int64_t scales = kDepth / block;
    text += llvm::formatv(
        R"mlir(
  func.func @f{0}(%a: tensor<?x{1}x{2}>, %b: tensor<?x{1}x{3}>,
      %sa: tensor<?x{4}x{5}, #swizzled>, %sb: tensor<?x{4}x{5}, #swizzled>,
      %one: tensor<f32>, %rows: tensor<?xf32>, %bias: tensor<?xbf16>)
      -> tensor<?x?x{6}> {{
    %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, {7}] {8}
        {{blockscale.schedule = #blockscale.gemm_schedule<{9},
            stages = 4, band = 8, ctas = 148>}
        : tensor<?x{1}x{2}>, tensor<?x{1}x{3}>, tensor<?x{4}x{5}, #swizzled>,
          tensor<?x{4}x{5}, #swizzled> -> tensor<?x?x{6}>
    return %y : tensor<?x?x{6}>
  })mlir",
        count++, kDepth, a, b, scales, scale, result, block, operands, tile);
  }

  std::string text = "#swizzled = #blockscale.layout<swizzle_128x4>";
  size_t count = 0;
  /// Kernels beyond one for each.
  size_t more = 0;

private:
  static constexpr int64_t kDepth = 4096;
};

Products makeProducts() {
  Products products;
  StringRef fp4 = "f4E2M1FN", e4m3 = "f8E4M3FN", e5m2 = "f8E5M2";
  StringRef e8m0 = "f8E8M0FNU";
  StringRef epilogue = "global_scale_a(%rows : tensor<?xf32>) "
                       "global_scale_b(%rows : tensor<?xf32>) "
                       "global_scaling after_rounding "
                       "bias(%bias : tensor<?xbf16>)";
  for (StringRef tile :
       {"rows = 128, cols = 128", "rows = 128, cols = 256",
        "rows = 256, cols = 256", "multicast = 2, rows = 256, cols = 256"}) {
    for (StringRef result : {"bf16", "f16", "f32"}) {
      products.add(fp4, fp4, e4m3, 16, tile, result);
      products.add(fp4, fp4, e4m3, 16, tile, result, epilogue);
      products.add(e4m3, e5m2, e8m0, 32, tile, result,
                   "bias(%bias : tensor<?xbf16>)");
    }
    products.add(fp4, fp4, e8m0, 32, tile, "bf16");
    products.add(e4m3, fp4, e8m0, 32, tile, "bf16");
  }
  // The sums of parts are one kernel; two add them, and two widen codes.
  StringRef parts = "splits = 4, rows = 128, cols = 128";
  for (StringRef result : {"bf16", "f32"})
    products.add(fp4, fp4, e4m3, 16, parts, result, epilogue);
  products.add("f6E2M3FN", "f6E3M2FN", e8m0, 32, "rows = 128, cols = 128",
               "f32");
  products.more = 3;
  return products;
}

class GemmKernels : public testing::TestWithParam<const char *> {};

TEST_P(GemmKernels, NoSpills) {
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    GTEST_SKIP() << llvm::toString(ptxas.takeError());
  DialectRegistry registry;
  registerAllDialects(registry);
  registerPtxTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Products products = makeProducts();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(products.text, &context);
  ASSERT_TRUE(module);
  PassManager pm(&context);
  for (const Stage &stage : getStagesOfChip(GetParam()))
    stage.build(pm);
  ASSERT_TRUE(succeeded(pm.run(*module)));
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx));
  auto assembly = assemblePtx(*ptxas, *ptx, GetParam());
  ASSERT_TRUE(static_cast<bool>(assembly))
      << llvm::toString(assembly.takeError());
  EXPECT_EQ(assembly->kernels.size(), products.count + products.more);
  for (const KernelResources &kernel : assembly->kernels) {
    EXPECT_EQ(kernel.spillStoreBytes, 0u) << kernel.name;
    EXPECT_EQ(kernel.spillLoadBytes, 0u) << kernel.name;
    EXPECT_EQ(kernel.stackBytes, 0u) << kernel.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, GemmKernels,
                         testing::Values("sm_100a", "sm_103a", "sm_110a"));

} // namespace
