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

  /// Adds a product of an operand with scales, B or A, and a plain one, of all
  /// or of groups of rows of A.
  void addDecoded(StringRef plain, StringRef data, StringRef scale,
                  int64_t block, StringRef tile, StringRef result,
                  bool isScaledA = false, bool isGrouped = false) {
    StringRef lead = isGrouped ? "8x" : "";
    StringRef leadA = isScaledA ? "" : lead;
    StringRef layout = isGrouped && isScaledA ? "rows" : "swizzled";
    std::string x = llvm::formatv("tensor<{0}?x{1}x{2}>", isScaledA ? lead : "",
                                  kDepth, plain);
    std::string w = llvm::formatv("tensor<{0}?x{1}x{2}>", leadA, kDepth, data);
    std::string s = llvm::formatv("tensor<{0}?x{1}x{2}, #{3}>", leadA,
                                  kDepth / block, scale, layout);
    text += llvm::formatv(
        R"mlir(
  func.func @f{0}(%x: {1}, %w: {2}, %ends: tensor<8xi32>, %s: {3},
      %one: tensor<f32>, %bias: tensor<?xbf16>) -> tensor<?x?x{4}> {{
    %y = blockscale.{5} {6} scales({7}) block [1, {8}] {9}
        bias(%bias : tensor<?xbf16>)
        {{blockscale.schedule = #blockscale.gemm_schedule<{10},
            stages = 3, band = 8, ctas = 148>}
        : {11}, {12}{3} -> tensor<?x?x{4}>
    return %y : tensor<?x?x{4}>
  })mlir",
        count++, x, w, s, result, isGrouped ? "scaled_grouped_mm" : "scaled_mm",
        (isScaledA ? "%w, %x" : "%x, %w") +
            StringRef(isGrouped ? " offsets(%ends)" : ""),
        isScaledA ? "%s, none" : "none, %s", block,
        block != 16 ? ""
        : isScaledA ? "global_scale_a(%one : tensor<f32>)"
                    : "global_scale_b(%one : tensor<f32>)",
        tile, isScaledA ? w + ", " + x : x + ", " + w,
        isGrouped ? "tensor<8xi32>, " : "");
  }

  /// Adds a product of two plain operands of all, of groups of rows of A, or of
  /// groups of K; `order` says which of them lie MN-major.
  void addPlain(StringRef plain, StringRef order, StringRef tile,
                StringRef result, StringRef depth,
                std::optional<int> groupDim = std::nullopt) {
    auto type = [&](bool isMnMajor, StringRef lead) -> std::string {
      StringRef first = isMnMajor ? depth : "?",
                second = isMnMajor ? "?" : depth;
      return llvm::formatv("tensor<{0}{1}x{2}x{3}>", lead, first, second,
                           plain);
    };
    std::string a = type(order.contains("mn_major_a"), "");
    std::string b =
        type(order.contains("mn_major_b"), groupDim == 0 ? "8x" : "");
    text += llvm::formatv(
        R"mlir(
  func.func @f{0}(%a: {1}, %b: {2}, %ends: tensor<8xi32>)
      -> tensor<{3}?x?x{4}> {{
    %y = blockscale.{5} %a, %b {6} {7} scales(none, none) block [1, 16]
        {{blockscale.schedule = #blockscale.gemm_schedule<{8},
            stages = 3, band = 8, ctas = 132>}
        : {1}, {2}{9} -> tensor<{3}?x?x{4}>
    return %y : tensor<{3}?x?x{4}>
  })mlir",
        count++, a, b, groupDim == 1 ? "8x" : "", result,
        groupDim ? "scaled_grouped_mm" : "scaled_mm", order,
        groupDim ? "offsets(%ends)" : "", tile,
        groupDim ? ", tensor<8xi32>" : "");
  }

  /// Adds a product of a plain A and a B with scales in groups of K.
  void addDecodedDepth(StringRef plain, StringRef data, StringRef scale,
                       int64_t block, StringRef tile, StringRef result) {
    std::string x = llvm::formatv("tensor<?x{0}x{1}>", kDepth, plain);
    std::string w = llvm::formatv("tensor<?x{0}x{1}>", kDepth, data);
    std::string s =
        llvm::formatv("tensor<?x{0}x{1}, #columns>", kDepth / block, scale);
    text += llvm::formatv(
        R"mlir(
  func.func @f{0}(%x: {1}, %w: {2}, %ends: tensor<8xi32>, %s: {3})
      -> tensor<8x?x?x{4}> {{
    %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s)
        block [1, {5}]
        {{blockscale.schedule = #blockscale.gemm_schedule<{6},
            stages = 3, band = 8, ctas = 148>}
        : {1}, {2}, tensor<8xi32>, {3} -> tensor<8x?x?x{4}>
    return %y : tensor<8x?x?x{4}>
  })mlir",
        count++, x, w, s, result, block, tile);
  }

  /// SwiGLU of two products, quantized to their format, of groups of rows or
  /// of all. A is plain if its type is given.
  void addSwiglu(StringRef data, StringRef scale, int64_t block,
                 StringRef recipe, StringRef tile, bool isGrouped,
                 StringRef plain = "") {
    std::string lead = isGrouped ? "8x" : "";
    StringRef ofGroups = isGrouped ? "#rows" : "#swizzled";
    std::string a = llvm::formatv("tensor<?x{0}x{1}>", kDepth,
                                  plain.empty() ? data : plain);
    std::string b = llvm::formatv("tensor<{0}640x{1}x{2}>", lead, kDepth, data);
    std::string scaleA = llvm::formatv("tensor<?x{0}x{1}, {2}>", kDepth / block,
                                       scale, ofGroups);
    std::string scaleB = llvm::formatv("tensor<{0}640x{1}x{2}, #swizzled>",
                                       lead, kDepth / block, scale);
    std::string ends = isGrouped ? "tensor<8xi32>, " : "";
    std::string product = llvm::formatv(
        R"mlir(block [1, {0}] {{blockscale.schedule =
            #blockscale.gemm_schedule<{1}, stages = {7}, band = 8, ctas = 148>}
        : {2}, {3}, {4}{5}{6} -> tensor<?x640xbf16>)mlir",
        block, tile, a, b, ends, plain.empty() ? scaleA + ", " : "", scaleB,
        plain.empty() ? 4 : 3);
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
    %x = blockscale.{9} %a, %g {10} scales({15}, %sb) {11}
    %y = blockscale.{9} %a, %u {10} scales({15}, %sb) {11}
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
        offsets, product, block, recipe, grouped,
        plain.empty() ? "%sa" : "none");
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

/// Products of an operand with scales and a plain one by plain mma.sync, with
/// tiles of which 101,376 bytes hold three stages: those that do not spill on
/// any chip.
Products makeDecodedProducts() {
  Products products;
  StringRef fp4 = "f4E2M1FN", e4m3 = "f8E4M3FN", e8m0 = "f8E8M0FNU";
  StringRef wide = "rows = 128, cols = 256";
  for (StringRef tile : {"rows = 16, cols = 64", "rows = 32, cols = 64",
                         "rows = 128, cols = 128"})
    products.addDecoded("bf16", fp4, e4m3, 16, tile, "bf16");
  for (StringRef result : {"bf16", "f32"}) {
    products.addDecoded("f16", fp4, e4m3, 16, wide, result);
    products.addDecoded("bf16", fp4, e4m3, 16, "rows = 256, cols = 128", result,
                        /*isScaledA=*/true);
  }
  products.addDecoded("bf16", fp4, e8m0, 32, wide, "f16");
  for (bool isGrouped : {false, true})
    products.addSwiglu(fp4, e4m3, 16, "torchao", wide, isGrouped, "bf16");
  return products;
}

/// Such products of FP6, and of FP8, which some chips have no conversion for,
/// or in groups, which have more addresses; and tiles of NVFP4. They need
/// nearly all registers. E5M2, whose infinity takes instructions of its own,
/// needs a few more.
Products makeCrowdedProducts() {
  Products products;
  StringRef fp4 = "f4E2M1FN", e4m3 = "f8E4M3FN", e8m0 = "f8E8M0FNU";
  StringRef wide = "rows = 128, cols = 256", swapped = "rows = 256, cols = 128";
  for (StringRef tile :
       {"rows = 16, cols = 64", "rows = 32, cols = 64", "rows = 64, cols = 128",
        "rows = 128, cols = 128", "rows = 128, cols = 256"})
    products.addDecoded("bf16", e4m3, e8m0, 32, tile, "f32");
  products.addDecoded("bf16", e4m3, e8m0, 32, "rows = 64, cols = 32", "bf16",
                      /*isScaledA=*/true);
  for (StringRef data : {"f8E5M2", "f6E2M3FN", "f6E3M2FN"})
    products.addDecoded("bf16", data, e8m0, 32, wide, "bf16");
  for (StringRef tile : {"rows = 16, cols = 128", "rows = 64, cols = 128"})
    products.addDecoded("bf16", fp4, e4m3, 16, tile, "bf16");
  for (StringRef result : {"bf16", "f32"})
    products.addDecodedDepth("bf16", fp4, e4m3, 16, "rows = 128, cols = 128",
                             result);
  for (bool isOther : {false, true}) {
    StringRef tile = isOther ? swapped : wide;
    products.addDecoded("bf16", fp4, e4m3, 16, tile, "bf16",
                        /*isScaledA=*/isOther, /*isGrouped=*/true);
    products.addDecoded("bf16", e4m3, e8m0, 32, tile, "bf16",
                        /*isScaledA=*/isOther, /*isGrouped=*/true);
    products.addSwiglu(e4m3, e8m0, 32, "rceil", wide, /*isGrouped=*/isOther,
                       "bf16");
  }
  return products;
}

class DecodedGemmKernels : public testing::TestWithParam<const char *> {};

TEST_P(DecodedGemmKernels, NoSpills) {
  Products products = makeDecodedProducts();
  expectNoSpills(products.text, GetParam(), products.count);
}

INSTANTIATE_TEST_SUITE_P(Chips, DecodedGemmKernels, testing::Values("sm_80"));
INSTANTIATE_TEST_SUITE_P(LongChips, DecodedGemmKernels,
                         testing::Values("sm_86", "sm_89", "sm_120a",
                                         "sm_121a"));

/// Products of two plain operands by plain mma.sync, of rows along K and across
/// it. Warps of the widest tiles need the most registers, above all for the
/// addresses of a K that is not known.
Products makePlainProducts(StringRef tile) {
  Products products;
  for (StringRef order :
       {"", "mn_major_a", "mn_major_b", "mn_major_a mn_major_b"}) {
    products.addPlain("bf16", order, tile, "bf16", "4096");
    products.addPlain("bf16", order, tile, "f32", "?");
    products.addPlain("f16", order, tile, "f32", "?", /*groupDim=*/1);
    if (!order.contains("mn_major_a"))
      products.addPlain("bf16", order, tile, "bf16", "4096", /*groupDim=*/0);
  }
  return products;
}

TEST(PlainGemmKernels, NoSpills) {
  Products products = makePlainProducts("rows = 128, cols = 256");
  expectNoSpills(products.text, "sm_80", products.count);
}

class SmallPlainGemmKernels : public testing::TestWithParam<const char *> {};

// Other chips have less shared memory.
TEST_P(SmallPlainGemmKernels, NoSpills) {
  Products products = makePlainProducts("rows = 128, cols = 128");
  expectNoSpills(products.text, GetParam(), products.count);
}

INSTANTIATE_TEST_SUITE_P(LongChips, SmallPlainGemmKernels,
                         testing::Values("sm_86", "sm_89", "sm_120a"));

class CrowdedGemmKernels : public testing::TestWithParam<const char *> {};

// For sm_120a ptxas 13.0 keeps seven words in memory in a product in groups;
// for the other chips up to four words may be there.
TEST_P(CrowdedGemmKernels, FewSpills) {
  constexpr uint64_t registers = 255;
  uint64_t spillBytes = StringRef(GetParam()) == "sm_120a" ? 32 : 16;
  Products products = makeCrowdedProducts();
  expectNoSpills(products.text, GetParam(), products.count, registers,
                 spillBytes);
}

INSTANTIATE_TEST_SUITE_P(LongChips, CrowdedGemmKernels,
                         testing::Values("sm_80", "sm_89", "sm_120a"));

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
