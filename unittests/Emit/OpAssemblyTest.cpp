//===- OpAssemblyTest.cpp - Kernels of all ops through ptxas --------------===//
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

/// The forms of the ops other than quantize that differ most.
constexpr StringRef kModule = R"mlir(
  #swizzled = #blockscale.layout<swizzle_128x4>
  #groups = #blockscale.layout<swizzle_128x4, groups = 8, dim = 1>

  func.func @amax(%x: tensor<?x?x4096xbf16>, %y: tensor<?x4096xf32>, %ends: tensor<8xi32>)
      -> (tensor<f32>, tensor<?x?xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>) {
    %0 = blockscale.amax %x : tensor<?x?x4096xbf16> -> tensor<f32>
    %1 = blockscale.amax %x : tensor<?x?x4096xbf16> -> tensor<?x?xf32>
    %2 = blockscale.amax %y offsets(%ends : tensor<8xi32>) : tensor<?x4096xf32> -> tensor<8xf32>
    %3 = blockscale.amax %y offsets(%ends : tensor<8xi32>) group_dim 1 : tensor<?x4096xf32> -> tensor<8xf32>
    %4 = blockscale.global_scale %0 recipe te : tensor<f32>
    return %0, %1, %2, %3, %4 : tensor<f32>, tensor<?x?xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
  }
  func.func @chain(%x: tensor<?x4096xbf16>)
      -> (tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>, tensor<f32>) {
    %0 = blockscale.amax %x : tensor<?x4096xbf16> -> tensor<f32>
    %1 = blockscale.global_scale %0 recipe te : tensor<f32>
    %2, %3 = blockscale.quantize %x block [1, 16] recipe te global_scale(%1 : tensor<f32>)
        : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
    return %2, %3, %1 : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>, tensor<f32>
  }
  func.func @swizzle(%s: tensor<?x256xf8E4M3FN>, %ends: tensor<8xi32>)
      -> (tensor<?x256xf8E4M3FN, #swizzled>, tensor<?x256xf8E4M3FN, #groups>) {
    %0 = blockscale.swizzle %s : tensor<?x256xf8E4M3FN> -> tensor<?x256xf8E4M3FN, #swizzled>
    %1 = blockscale.swizzle %s offsets(%ends : tensor<8xi32>) block 16 : tensor<?x256xf8E4M3FN> -> tensor<?x256xf8E4M3FN, #groups>
    return %0, %1 : tensor<?x256xf8E4M3FN, #swizzled>, tensor<?x256xf8E4M3FN, #groups>
  }
  func.func @unswizzle(%s: tensor<512x256xf8E4M3FN, #swizzled>, %g: tensor<512x256xf8E4M3FN, #groups>, %ends: tensor<8xi32>)
      -> (tensor<512x256xf8E4M3FN>, tensor<512x256xf8E4M3FN>) {
    %0 = blockscale.swizzle %s : tensor<512x256xf8E4M3FN, #swizzled> -> tensor<512x256xf8E4M3FN>
    %1 = blockscale.swizzle %g offsets(%ends : tensor<8xi32>) block 16 : tensor<512x256xf8E4M3FN, #groups> -> tensor<512x256xf8E4M3FN>
    return %0, %1 : tensor<512x256xf8E4M3FN>, tensor<512x256xf8E4M3FN>
  }
  func.func @dequantize(%q: tensor<?x4096xf4E2M1FN>, %s: tensor<?x256xf8E4M3FN, #swizzled>, %a: tensor<?xf32>,
                        %p: tensor<32x4096xf8E5M2>, %t: tensor<1x4096xf8E8M0FNU>)
      -> (tensor<?x4096xbf16>, tensor<32x4096xf32>) {
    %0 = blockscale.dequantize %q, %s block [1, 16] recipe te global_amax(%a : tensor<?xf32>)
        : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
    %1 = blockscale.dequantize %p, %t block [32, 1] : tensor<32x4096xf8E5M2>, tensor<1x4096xf8E8M0FNU> -> tensor<32x4096xf32>
    return %0, %1 : tensor<?x4096xbf16>, tensor<32x4096xf32>
  }
  func.func @hadamard(%x: tensor<?x4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
    %0 = blockscale.hadamard %x dim 1 : tensor<?x4096xbf16>
    %1 = blockscale.hadamard %x dim 0 : tensor<?x4096xbf16>
    return %0, %1 : tensor<?x4096xbf16>, tensor<?x4096xbf16>
  }
  func.func @sweep(%x: tensor<?x4096xbf16>, %y: tensor<?x4096xf32>, %g: tensor<f32>, %h: tensor<256x16x16xf32>)
      -> (tensor<?x256xf32>, tensor<?x256xf32>) {
    %0 = blockscale.scale_sweep %x global_amax(%g : tensor<f32>) : tensor<?x4096xbf16> -> tensor<?x256xf32>
    %1 = blockscale.scale_sweep %y global_amax(%g : tensor<f32>) hessian(%h : tensor<256x16x16xf32>) : tensor<?x4096xf32> -> tensor<?x256xf32>
    return %0, %1 : tensor<?x256xf32>, tensor<?x256xf32>
  }
)mlir";
constexpr size_t kKernels = 6 + 2 + 4 + 2 + 2 + 2;

/// Functions of quantizes whose blocks have several rows: all recipes, both
/// inputs, one with linear scales and one with swizzled ones.
std::string makeStrips(size_t &count) {
  std::string text;
  auto add = [&](StringRef recipe, StringRef block, StringRef more,
                 StringRef input, StringRef data, StringRef scale) {
    text += llvm::formatv(
        "func.func @f{0}(%x: tensor<4096x4096x{1}>, %g: tensor<f32>)"
        " -> ({2}, {3}) {{\n"
        "  %q, %s = blockscale.quantize %x block {4} recipe {5}{6}\n"
        "      : tensor<4096x4096x{1}> -> {2}, {3}\n"
        "  return %q, %s : {2}, {3}\n}\n",
        count++, input, data, scale, block, recipe, more);
  };
  for (StringRef swizzled : {"", ", #blockscale.layout<swizzle_128x4>"}) {
    StringRef input = swizzled.empty() ? "f32" : "bf16";
    for (const char *recipe : {"floor", "rceil", "rceil_sat", "ceil", "even"}) {
      std::string rows = "tensor<128x4096xf8E8M0FNU>";
      std::string squares = "tensor<128x128xf8E8M0FNU>";
      add(recipe, "[32, 1]", "", input, "tensor<4096x4096xf8E4M3FN>", rows);
      add(recipe, "[32, 32]", "", input, "tensor<4096x4096xf8E4M3FN>", squares);
    }
    for (const char *recipe : {"torchao", "mslk", "te", "modelopt",
                               "te_4over6_mae", "te_4over6_mse"})
      add(recipe, "[16, 1] transposed", " global_amax(%g : tensor<f32>)", input,
          "tensor<4096x4096xf4E2M1FN>",
          ("tensor<4096x256xf8E4M3FN" + swizzled + ">").str());
  }
  return text;
}

/// Functions that quantize rows and columns from one read, the latter as they
/// are and after a transform.
std::string makeShared(size_t &count) {
  std::string text;
  for (StringRef transform :
       {"", "%h = blockscale.hadamard %x dim 0 : tensor<4096x4096xbf16>"})
    for (bool isNvfp4 : {false, true}) {
      int64_t side = isNvfp4 ? 16 : 32;
      std::string type =
          llvm::formatv("tensor<4096x4096x{0}>, tensor<4096x{1}x{2}, "
                        "#blockscale.layout<swizzle_128x4>>",
                        isNvfp4 ? "f4E2M1FN" : "f8E5M2", 4096 / side,
                        isNvfp4 ? "f8E4M3FN" : "f8E8M0FNU");
      text += llvm::formatv(
          "func.func @f{0}(%x: tensor<4096x4096xbf16>, %g: tensor<f32>)"
          " -> ({1}, {1}) {{\n"
          "  %q, %s = blockscale.quantize %x block [1, {2}] {3}\n"
          "      : tensor<4096x4096xbf16> -> {1}\n  {4}\n"
          "  %p, %t = blockscale.quantize {5} block [{2}, 1] transposed {3}\n"
          "      : tensor<4096x4096xbf16> -> {1}\n"
          "  return %q, %s, %p, %t : {1}, {1}\n}\n",
          count++, type, side, isNvfp4 ? "global_scale(%g : tensor<f32>)" : "",
          transform, transform.empty() ? "%x" : "%h");
    }
  return text;
}

/// Functions that quantize rows and columns of a norm, in MXFP8 and in NVFP4.
std::string makeNorms(size_t &count) {
  std::string text = R"mlir(
#element = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
)mlir";
  for (bool isNvfp4 : {false, true}) {
    int64_t side = isNvfp4 ? 16 : 32;
    std::string scale =
        llvm::formatv("x{0}, #blockscale.layout<swizzle_128x4>>",
                      isNvfp4 ? "f8E4M3FN" : "f8E8M0FNU");
    std::string data = isNvfp4 ? "xf4E2M1FN>" : "xf8E4M3FN>";
    std::string rows = llvm::formatv("tensor<?x4096{0}, tensor<?x{1}{2}", data,
                                     4096 / side, scale);
    std::string columns =
        llvm::formatv("tensor<4096x?{0}, tensor<4096x?{1}", data, scale);
    text += llvm::formatv(
        R"mlir(
func.func @f{0}(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> ({1}, {2}) {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %e = tensor.empty(%n) : tensor<?xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {{indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x4096xbf16>) outs(%i : tensor<?xf32>) {{
  ^bb0(%a: bf16, %b: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %b, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  %d = tensor.empty(%n) : tensor<?x4096xbf16>
  %k = arith.constant 4096.0 : f32
  %y = linalg.generic {{indexing_maps = [#element, #row, #column, #element], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %w : tensor<?x4096xbf16>, tensor<?xf32>, tensor<4096xbf16>) outs(%d : tensor<?x4096xbf16>) {{
  ^bb0(%a: bf16, %b: f32, %c: bf16, %o: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.divf %b, %k : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.extf %c : bf16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.truncf %5 : f32 to bf16
    linalg.yield %6 : bf16
  } -> tensor<?x4096xbf16>
  %q, %t = blockscale.quantize %y block [1, {3}] : tensor<?x4096xbf16> -> {1}
  %p, %u = blockscale.quantize %y block [{3}, 1] transposed : tensor<?x4096xbf16> -> {2}
  return %q, %t, %p, %u : {1}, {2}
}
)mlir",
        count++, rows, columns, side);
  }
  return text;
}

class OpKernels : public testing::TestWithParam<const char *> {};

// Three CTAs of 128 threads fit in the 65536 registers of an SM.
TEST_P(OpKernels, NoSpills) {
  expectNoSpills(kModule, GetParam(), kKernels, 168);
}

TEST_P(OpKernels, NoSpillsOfStrips) {
  size_t count = 0;
  std::string text = makeStrips(count);
  expectNoSpills(text, GetParam(), count);
}

TEST_P(OpKernels, NoSpillsOfSharedStrips) {
  size_t count = 0;
  std::string text = makeShared(count);
  expectNoSpills(text, GetParam(), count);
}

TEST_P(OpKernels, NoSpillsOfNorms) {
  size_t count = 0;
  std::string text = makeNorms(count);
  expectNoSpills(text, GetParam(), count);
}

INSTANTIATE_TEST_SUITE_P(Chips, OpKernels,
                         testing::Values("sm_80", "sm_90a", "sm_100a"));
INSTANTIATE_TEST_SUITE_P(LongChips, OpKernels,
                         testing::Values("sm_86", "sm_89", "sm_103a", "sm_110a",
                                         "sm_120a", "sm_121a"));

} // namespace
