// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a}))' | FileCheck %s --check-prefixes=CHECK,ALONE
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' | FileCheck %s --check-prefixes=CHECK,PAIR
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' | FileCheck %s --check-prefixes=CHECK,PAIR

#id = affine_map<(i, j) -> (i, j)>

// Two plain products of one A, whose results others need as well, have kernels of their own on
// Hopper, where the CTAs of each share rows of A. What is made of both is computed where it is
// quantized.
// CHECK-LABEL: func.func @kept
// ALONE: %[[G:.+]] = blockscale.kernel
// ALONE-NEXT: ^bb0
// ALONE-NEXT: blockscale.scaled_mm
// ALONE-NEXT: blockscale.yield
// ALONE: %[[U:.+]] = blockscale.kernel
// ALONE-NEXT: ^bb0
// ALONE-NEXT: blockscale.scaled_mm
// ALONE-NEXT: blockscale.yield
// ALONE: blockscale.kernel ins(%[[G]], %[[U]]
// ALONE: linalg.generic
// ALONE: blockscale.quantize
// PAIR: blockscale.kernel
// PAIR: blockscale.scaled_mm
// PAIR-NEXT: blockscale.scaled_mm
// PAIR: linalg.generic
// CHECK: return
func.func @kept(%a: tensor<64x64xbf16>, %g: tensor<96x64xbf16>, %u: tensor<96x64xbf16>) -> (tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>) {
  %pg = blockscale.scaled_mm %a, %g scales(none, none) block [1, 16] : tensor<64x64xbf16>, tensor<96x64xbf16> -> tensor<64x96xbf16>
  %pu = blockscale.scaled_mm %a, %u scales(none, none) block [1, 16] : tensor<64x64xbf16>, tensor<96x64xbf16> -> tensor<64x96xbf16>
  %e = tensor.empty() : tensor<64x96xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%pg, %pu : tensor<64x96xbf16>, tensor<64x96xbf16>) outs(%e : tensor<64x96xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<64x96xbf16>
  %q, %s = blockscale.quantize %h block [32, 1] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  return %pg, %pu, %q, %s : tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
}

// Results that nothing else needs are never stored: a kernel has both products everywhere.
// CHECK-LABEL: func.func @only
// CHECK: blockscale.kernel
// CHECK: blockscale.scaled_mm
// CHECK-NEXT: blockscale.scaled_mm
// CHECK: linalg.generic
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @only(%a: tensor<64x64xbf16>, %g: tensor<96x64xbf16>, %u: tensor<96x64xbf16>) -> tensor<64x96xbf16> {
  %pg = blockscale.scaled_mm %a, %g scales(none, none) block [1, 16] : tensor<64x64xbf16>, tensor<96x64xbf16> -> tensor<64x96xbf16>
  %pu = blockscale.scaled_mm %a, %u scales(none, none) block [1, 16] : tensor<64x64xbf16>, tensor<96x64xbf16> -> tensor<64x96xbf16>
  %e = tensor.empty() : tensor<64x96xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%pg, %pu : tensor<64x96xbf16>, tensor<64x96xbf16>) outs(%e : tensor<64x96xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<64x96xbf16>
  return %h : tensor<64x96xbf16>
}
