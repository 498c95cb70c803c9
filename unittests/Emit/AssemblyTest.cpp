//===- AssemblyTest.cpp - Every quantize kernel through ptxas -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/Emit/Ptx.h"
#include "blockscale/Emit/Ptxas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

struct Format {
  const char *recipe;
  const char *data;
  bool isNvfp4;
};

constexpr Format kFormats[] = {
    {"torchao", "f4E2M1FN", true},    {"mslk", "f4E2M1FN", true},
    {"te", "f4E2M1FN", true},         {"modelopt", "f4E2M1FN", true},
    {"floor", "f8E4M3FN", false},     {"floor", "f8E5M2", false},
    {"floor", "f4E2M1FN", false},     {"rceil", "f8E4M3FN", false},
    {"rceil", "f8E5M2", false},       {"rceil", "f4E2M1FN", false},
    {"rceil_sat", "f8E4M3FN", false}, {"rceil_sat", "f8E5M2", false},
    {"rceil_sat", "f4E2M1FN", false}, {"ceil", "f8E4M3FN", false},
    {"ceil", "f8E5M2", false},        {"ceil", "f4E2M1FN", false},
    {"even", "f8E4M3FN", false},      {"even", "f8E5M2", false},
    {"even", "f4E2M1FN", false},
};

/// A function around one quantize of ?x`k` elements of type `input`, whose
/// global operand is `global` ("" for none).
std::string makeFunction(unsigned number, const Format &format, StringRef input,
                         int64_t k, bool swizzled, StringRef global) {
  int64_t block = format.isNvfp4 ? 16 : 32;
  int64_t cols = k / block;
  bool packed = StringRef(format.data) == "f4E2M1FN";
  std::string scaleType = format.isNvfp4 ? "f8E4M3FN" : "f8E8M0FNU";
  std::string x = llvm::formatv("?x{0}x{1}", k, input).str();
  std::string logicalData = llvm::formatv("tensor<?x{0}x{1}>", k, format.data);
  std::string data =
      packed ? llvm::formatv("memref<?x{0}xi8>", k / 2).str()
             : llvm::formatv("memref<?x{0}x{1}>", k, format.data).str();
  std::string logicalScale =
      llvm::formatv("tensor<?x{0}x{1}{2}>", cols, scaleType,
                    swizzled ? ", #blockscale.layout<swizzle_128x4>" : "");
  std::string scale =
      swizzled
          ? llvm::formatv("memref<?x{0}x32x4x4x{1}>", (cols + 3) / 4, scaleType)
                .str()
          : llvm::formatv("memref<?x{0}x{1}>", cols, scaleType).str();
  bool hasGlobal = !global.empty();
  std::string use =
      hasGlobal ? llvm::formatv("{0}(%lg : tensor<f32>)", global).str() : "";
  return llvm::formatv(
      R"mlir(
    func.func @f{0}(%x: memref<{1}>{2}, %q: {3}, %s: {4}) {{
      blockscale.kernel ins(%x{5} : memref<{1}>{6}) outs(%q, %s : {3}, {4}) {{
      ^bb0(%lx: tensor<{1}>{7}, %lq: {8}, %ls: {9}):
        %0, %1 = blockscale.quantize %lx block [1, {10}] recipe {11} {12}
            : tensor<{1}> -> {8}, {9}
        blockscale.yield %0, %1 : {8}, {9}
      }
      return
    })mlir",
      number, x, hasGlobal ? ", %g: memref<f32>" : "", data, scale,
      hasGlobal ? ", %g" : "", hasGlobal ? ", memref<f32>" : "",
      hasGlobal ? ", %lg: tensor<f32>" : "", logicalData, logicalScale, block,
      format.recipe, use);
}

class QuantizeKernels
    : public testing::TestWithParam<std::tuple<const char *, int64_t>> {};

// All recipes, formats, layouts, inputs and kinds of global operand.
TEST_P(QuantizeKernels, NoSpills) {
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    GTEST_SKIP() << llvm::toString(ptxas.takeError());
  auto [chip, rowElements] = GetParam();
  std::string text;
  unsigned count = 0;
  for (const Format &format : kFormats)
    for (const char *input : {"bf16", "f32"})
      for (bool swizzled : {false, true})
        for (const char *global : {"", "global_scale", "global_amax"})
          if (format.isNvfp4 || *global == 0)
            text += makeFunction(count++, format, input, rowElements, swizzled,
                                 global);

  DialectRegistry registry;
  registry.insert<BlockScaleDialect, func::FuncDialect>();
  registerPtxTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  PassManager pm(&context);
  pm.addPass(createLowerKernelsToGPU({chip}));
  ASSERT_TRUE(succeeded(pm.run(*module)));
  FailureOr<std::string> ptx = emitPtx(*module);
  ASSERT_TRUE(succeeded(ptx));
  auto assembly = assemblePtx(*ptxas, *ptx, chip);
  ASSERT_TRUE(static_cast<bool>(assembly))
      << llvm::toString(assembly.takeError());
  EXPECT_EQ(assembly->kernels.size(), count);
  for (const KernelResources &kernel : assembly->kernels) {
    EXPECT_EQ(kernel.spillStoreBytes, 0u) << kernel.name;
    EXPECT_EQ(kernel.spillLoadBytes, 0u) << kernel.name;
    EXPECT_EQ(kernel.stackBytes, 0u) << kernel.name;
    EXPECT_EQ(kernel.sharedBytes, 0u) << kernel.name;
    // Four thread blocks of 128 threads fit in the 65536 registers of an SM.
    EXPECT_LE(kernel.registers, 128u) << kernel.name;
  }
}

// Rows of full chunks, and rows with a tail and padding. Kernels of sm_89 are
// those of sm_90a.
INSTANTIATE_TEST_SUITE_P(RowElements, QuantizeKernels,
                         testing::Combine(testing::Values("sm_80", "sm_90a",
                                                          "sm_100a"),
                                          testing::Values<int64_t>(4096, 160)));
INSTANTIATE_TEST_SUITE_P(Ada, QuantizeKernels,
                         testing::Values(std::make_tuple("sm_89", 160)));

} // namespace
