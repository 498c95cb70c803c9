// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' 2>/dev/null | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' 2>/dev/null | FileCheck %s

// The host reduces over ranks, so that the op is in no kernel: the amax is whole before
// it, and the scale is computed behind it.
// CHECK-LABEL: func.func @scale
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xbf16>
// CHECK-NOT: amax_parts
// CHECK: %[[A:.+]] = blockscale.kernel ins(%[[X]] : tensor<?x64xbf16>) outs(%{{.+}} : tensor<f32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax %
// CHECK-NOT: blockscale.quantize
// CHECK: } -> tensor<f32>
// CHECK-NEXT: %[[R:.+]] = blockscale.amax_over_ranks %[[A]] : tensor<f32> -> tensor<f32>
// CHECK-NOT: blockscale.amax
// CHECK: blockscale.kernel ins(%[[R]]{{ :|,}}
// CHECK: blockscale.quantize
func.func @scale(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %a = blockscale.amax %x : tensor<?x64xbf16> -> tensor<f32>
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %g = blockscale.global_scale %r nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
}

// Rows and columns of one x, with the amaxes of both: the kernel that quantizes reads
// amaxes over ranks.
// CHECK-LABEL: func.func @both
// CHECK-NOT: blockscale.quantize
// CHECK: %[[P:.+]] = blockscale.amax_over_ranks
// CHECK-NOT: blockscale.quantize
// CHECK: %[[R:.+]] = blockscale.amax_over_ranks
// CHECK-NOT: blockscale.amax{{ |_parts}}
// CHECK: blockscale.quantize
// CHECK: blockscale.quantize
// CHECK: return
func.func @both(%x: tensor<64x128xbf16>) -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %p = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %b = blockscale.amax %h : tensor<64x128xbf16> -> tensor<f32>
  %r = blockscale.amax_over_ranks %b : tensor<f32> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%p : tensor<f32>) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %t, %u = blockscale.quantize %h block [16, 1] transposed recipe te global_amax(%r : tensor<f32>) : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return %q, %s, %t, %u : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
}
