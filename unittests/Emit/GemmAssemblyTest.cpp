//===- GemmAssemblyTest.cpp - Matrix products through ptxas ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelAssembly.h"

#include "llvm/Support/FormatVariadic.h"

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

  /// Adds a product in groups of rows, or of K.
  void addGroups(StringRef data, StringRef scale, int64_t block, StringRef tile,
                 bool areOfDepth) {
    int64_t scales = kDepth / block;
    std::string b = llvm::formatv("tensor<{0}{1}x{2}>",
                                  areOfDepth ? "?x" : "8x?x", kDepth, data);
    std::string scaleB =
        llvm::formatv("tensor<{0}{1}x{2}, #{3}>", areOfDepth ? "?x" : "8x?x",
                      scales, scale, areOfDepth ? "columns" : "swizzled");
    std::string scaleA = llvm::formatv("tensor<?x{0}x{1}, #{2}>", scales, scale,
                                       areOfDepth ? "columns" : "rows");
    std::string a = llvm::formatv("tensor<?x{0}x{1}>", kDepth, data);
    StringRef result = areOfDepth ? "tensor<8x?x?xbf16>" : "tensor<?x?xbf16>";
    StringRef globals =
        block == 16 ? "global_scale_b(%each : tensor<8xf32>)" : "";
    text += llvm::formatv(
        R"mlir(
  func.func @f{0}(%a: {1}, %b: {2}, %ends: tensor<8xi32>, %sa: {3}, %sb: {4},
      %each: tensor<8xf32>, %bias: tensor<8x?xbf16>) -> {5} {{
    %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb)
        block [1, {6}] {7} bias(%bias : tensor<8x?xbf16>)
        {{blockscale.schedule = #blockscale.gemm_schedule<{8},
            stages = 4, band = 8, ctas = 148>}
        : {1}, {2}, tensor<8xi32>, {3}, {4} -> {5}
    return %y : {5}
  })mlir",
        count++, a, b, scaleA, scaleB, result, block, globals, tile);
  }

  /// SwiGLU of two products, quantized to their format, of groups of rows or
  /// of all.
  void addSwiglu(StringRef data, StringRef scale, int64_t block,
                 StringRef recipe, StringRef tile, bool isGrouped) {
    std::string lead = isGrouped ? "8x" : "";
    StringRef ofGroups = isGrouped ? "#rows" : "#swizzled";
    std::string a = llvm::formatv("tensor<?x{0}x{1}>", kDepth, data);
    std::string b = llvm::formatv("tensor<{0}640x{1}x{2}>", lead, kDepth, data);
    std::string scaleA = llvm::formatv("tensor<?x{0}x{1}, {2}>", kDepth / block,
                                       scale, ofGroups);
    std::string scaleB = llvm::formatv("tensor<{0}640x{1}x{2}, #swizzled>",
                                       lead, kDepth / block, scale);
    std::string ends = isGrouped ? "tensor<8xi32>, " : "";
    std::string product = llvm::formatv(
        R"mlir(block [1, {0}] {{blockscale.schedule =
            #blockscale.gemm_schedule<{1}, stages = 4, band = 8, ctas = 148>}
        : {2}, {3}, {4}{5}, {6} -> tensor<?x640xbf16>)mlir",
        block, tile, a, b, ends, scaleA, scaleB);
    StringRef op = isGrouped ? "scaled_grouped_mm" : "scaled_mm";
    StringRef offsets = isGrouped ? "offsets(%ends)" : "";
    StringRef grouped =
        isGrouped ? "offsets(%ends : tensor<8xi32>) group_dim 0" : "";
    text += llvm::formatv(
        R"mlir(
  func.func @f{0}(%a: {1}, %g: {2}, %u: {2}, %ends: tensor<8xi32>, %sa: {3},
      %sb: {4}) -> (tensor<?x640x{5}>, tensor<?x{6}x{7}, {8}>) {{
    %one = arith.constant 1.0 : f32
    %c0 = arith.constant 0 : index
    %x = blockscale.{9} %a, %g {10} scales(%sa, %sb) {11}
    %y = blockscale.{9} %a, %u {10} scales(%sa, %sb) {11}
    %m = tensor.dim %a, %c0 : {1}
    %e = tensor.empty(%m) : tensor<?x640xbf16>
    %h = linalg.generic {{indexing_maps = [#id, #id, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%x, %y : tensor<?x640xbf16>, tensor<?x640xbf16>)
        outs(%e : tensor<?x640xbf16>) {{
    ^bb0(%p: bf16, %q: bf16, %o: bf16):
      %0 = arith.extf %p : bf16 to f32
      %1 = arith.extf %q : bf16 to f32
      %2 = arith.negf %0 : f32
      %3 = math.exp %2 : f32
      %4 = arith.addf %3, %one : f32
      %5 = arith.divf %0, %4 : f32
      %6 = arith.mulf %5, %1 : f32
      %7 = arith.truncf %6 : f32 to bf16
      linalg.yield %7 : bf16
    } -> tensor<?x640xbf16>
    %d, %s = blockscale.quantize %h block [1, {12}] recipe {13} {14}
        : tensor<?x640xbf16> -> tensor<?x640x{5}>, tensor<?x{6}x{7}, {8}>
    return %d, %s : tensor<?x640x{5}>, tensor<?x{6}x{7}, {8}>
  })mlir",
        count++, a, b, scaleA, scaleB, data, 640 / block, scale, ofGroups, op,
        offsets, product, block, recipe, grouped);
  }

  std::string text =
      "#id = affine_map<(i, j) -> (i, j)>\n"
      "#swizzled = #blockscale.layout<swizzle_128x4>\n"
      "#rows = #blockscale.layout<swizzle_128x4, groups = 8, dim = 0>\n"
      "#columns = #blockscale.layout<swizzle_128x4, groups = 8, dim = 1>";
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
    for (bool areOfDepth : {false, true}) {
      products.addGroups(fp4, e4m3, 16, tile, areOfDepth);
      products.addGroups(e4m3, e8m0, 32, tile, areOfDepth);
    }
  }
  for (StringRef tile : {"rows = 128, cols = 256", "rows = 256, cols = 256",
                         "multicast = 2, rows = 256, cols = 256"})
    for (bool isGrouped : {false, true}) {
      products.addSwiglu(fp4, e4m3, 16, "torchao", tile, isGrouped);
      products.addSwiglu(fp4, e4m3, 16, "te_4over6_mse", tile, isGrouped);
      products.addSwiglu(e4m3, e8m0, 32, "rceil", tile, isGrouped);
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

/// Products of the chips that multiply by mma.sync, which have tiles of one
/// size. FP4 beside FP8 and codes of 6 bits are widened by kernels of their
/// own.
Products makeWarpProducts() {
  Products products;
  StringRef fp4 = "f4E2M1FN", e4m3 = "f8E4M3FN", e8m0 = "f8E8M0FNU";
  StringRef tile = "rows = 128, cols = 128";
  StringRef epilogue = "global_scale_a(%rows : tensor<?xf32>) "
                       "global_scale_b(%rows : tensor<?xf32>) "
                       "global_scaling after_rounding "
                       "bias(%bias : tensor<?xbf16>)";
  for (StringRef result : {"bf16", "f16", "f32"}) {
    products.add(fp4, fp4, e4m3, 16, tile, result);
    products.add(fp4, fp4, e4m3, 16, tile, result, epilogue);
    products.add(e4m3, "f8E5M2", e8m0, 32, tile, result);
  }
  products.add(fp4, fp4, e8m0, 32, tile, "bf16");
  products.add(e4m3, fp4, e8m0, 32, tile, "bf16");
  products.more = 1;
  for (bool isOther : {false, true}) {
    products.addGroups(fp4, e4m3, 16, tile, /*areOfDepth=*/isOther);
    products.addGroups(e4m3, e8m0, 32, tile, /*areOfDepth=*/isOther);
    products.addSwiglu(fp4, e4m3, 16, "torchao", tile, /*isGrouped=*/isOther);
    products.addSwiglu(fp4, e4m3, 16, "te_4over6_mse", tile,
                       /*isGrouped=*/isOther);
    products.addSwiglu(e4m3, e8m0, 32, "rceil", tile, /*isGrouped=*/isOther);
  }
  return products;
}

TEST(WarpGemmKernels, NoSpills) {
  Products products = makeWarpProducts();
  expectNoSpills(products.text, "sm_120a", products.count + products.more);
}

class GemmKernels : public testing::TestWithParam<const char *> {};

TEST_P(GemmKernels, NoSpills) {
  Products products = makeProducts();
  expectNoSpills(products.text, GetParam(), products.count + products.more);
}

// `check` leaves out the instances named Long: the other chips of the family
// differ in the target's name alone.
INSTANTIATE_TEST_SUITE_P(Chips, GemmKernels, testing::Values("sm_100a"));
INSTANTIATE_TEST_SUITE_P(LongChips, GemmKernels,
                         testing::Values("sm_103a", "sm_110a"));

} // namespace
