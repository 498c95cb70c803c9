// Forward and backward of a linear layer that is trained. In NVFP4, as TransformerEngine does it, x is
// quantized in rows, and its transformed columns are for the gradient of the weight; the weight in
// squares, in both directions; and the gradient in rows and transformed columns, rounded at random.
// That is nine launches on every chip: the amaxes of x, its quantizer, the amax of the weight, its
// quantizer and the product, then the amaxes of the gradient, its quantizer and two products. MXFP8 has
// no amaxes, and x and the weight share a launch: it is five.
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_80 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_89 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_100a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_103a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_110a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_120a branch-on-rows=false' | FileCheck %s

#sw = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @nvfp4_forward(
// CHECK-COUNT-5: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @nvfp4_forward(%x: tensor<256x320xbf16>, %w: tensor<192x320xbf16>) -> (tensor<256x192xbf16>, tensor<320x256xf4E2M1FN>, tensor<320x16xf8E4M3FN, #sw>, tensor<f32>, tensor<320x192xf4E2M1FN>, tensor<320x12xf8E4M3FN, #sw>, tensor<f32>) {
  %ax = blockscale.amax %x : tensor<256x320xbf16> -> tensor<f32>
  %gx = blockscale.global_scale %ax recipe te : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%ax : tensor<f32>) : tensor<256x320xbf16> -> tensor<256x320xf4E2M1FN>, tensor<256x20xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<256x320xbf16>
  %ah = blockscale.amax %h : tensor<256x320xbf16> -> tensor<f32>
  %gh = blockscale.global_scale %ah recipe te : tensor<f32>
  %t, %u = blockscale.quantize %h block [16, 1] transposed recipe te global_amax(%ah : tensor<f32>) : tensor<256x320xbf16> -> tensor<320x256xf4E2M1FN>, tensor<320x16xf8E4M3FN, #sw>
  %aw = blockscale.amax %w : tensor<192x320xbf16> -> tensor<f32>
  %gw = blockscale.global_scale %aw recipe te : tensor<f32>
  %wq, %ws = blockscale.quantize %w block [16, 16] scale_dim k recipe te global_amax(%aw : tensor<f32>) : tensor<192x320xbf16> -> tensor<192x320xf4E2M1FN>, tensor<192x20xf8E4M3FN>
  %wt, %wu = blockscale.quantize %w block [16, 16] transposed scale_dim n recipe te global_amax(%aw : tensor<f32>) : tensor<192x320xbf16> -> tensor<320x192xf4E2M1FN>, tensor<320x12xf8E4M3FN, #sw>
  %y = blockscale.scaled_mm %q, %wq scales(%s, %ws) block [1, 16] global_scale_a(%gx : tensor<f32>) global_scale_b(%gw : tensor<f32>) : tensor<256x320xf4E2M1FN>, tensor<192x320xf4E2M1FN>, tensor<256x20xf8E4M3FN>, tensor<192x20xf8E4M3FN> -> tensor<256x192xbf16>
  return %y, %t, %u, %gh, %wt, %wu, %gw : tensor<256x192xbf16>, tensor<320x256xf4E2M1FN>, tensor<320x16xf8E4M3FN, #sw>, tensor<f32>, tensor<320x192xf4E2M1FN>, tensor<320x12xf8E4M3FN, #sw>, tensor<f32>
}
// CHECK-LABEL: func.func @nvfp4_backward(
// CHECK-COUNT-4: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @nvfp4_backward(%dy: tensor<256x192xbf16>, %t: tensor<320x256xf4E2M1FN>, %u: tensor<320x16xf8E4M3FN, #sw>, %gh: tensor<f32>, %wt: tensor<320x192xf4E2M1FN>, %wu: tensor<320x12xf8E4M3FN, #sw>, %gw: tensor<f32>, %r: tensor<2xi64>, %r2: tensor<2xi64>) -> (tensor<256x320xbf16>, tensor<192x320xf32>) {
  %a = blockscale.amax %dy : tensor<256x192xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a recipe te : tensor<f32>
  %q, %s = blockscale.quantize %dy block [1, 16] recipe te global_amax(%a : tensor<f32>) rng(%r : tensor<2xi64>) : tensor<256x192xbf16> -> tensor<256x192xf4E2M1FN>, tensor<256x12xf8E4M3FN>
  %h = blockscale.hadamard %dy dim 0 : tensor<256x192xbf16>
  %ah = blockscale.amax %h : tensor<256x192xbf16> -> tensor<f32>
  %gd = blockscale.global_scale %ah recipe te : tensor<f32>
  %dt, %du = blockscale.quantize %h block [16, 1] transposed recipe te global_amax(%ah : tensor<f32>) rng(%r2 : tensor<2xi64>) : tensor<256x192xbf16> -> tensor<192x256xf4E2M1FN>, tensor<192x16xf8E4M3FN>
  %dx = blockscale.scaled_mm %q, %wt scales(%s, %wu) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%gw : tensor<f32>) : tensor<256x192xf4E2M1FN>, tensor<320x192xf4E2M1FN>, tensor<256x12xf8E4M3FN>, tensor<320x12xf8E4M3FN, #sw> -> tensor<256x320xbf16>
  %dw = blockscale.scaled_mm %dt, %t scales(%du, %u) block [1, 16] global_scale_a(%gd : tensor<f32>) global_scale_b(%gh : tensor<f32>) : tensor<192x256xf4E2M1FN>, tensor<320x256xf4E2M1FN>, tensor<192x16xf8E4M3FN>, tensor<320x16xf8E4M3FN, #sw> -> tensor<192x320xf32>
  return %dx, %dw : tensor<256x320xbf16>, tensor<192x320xf32>
}
// CHECK-LABEL: func.func @mxfp8_forward(
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @mxfp8_forward(%x: tensor<256x320xbf16>, %w: tensor<192x320xbf16>) -> (tensor<256x192xbf16>, tensor<320x256xf8E4M3FN>, tensor<320x8xf8E8M0FNU, #sw>, tensor<320x192xf8E4M3FN>, tensor<320x6xf8E8M0FNU, #sw>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<256x320xbf16> -> tensor<256x320xf8E4M3FN>, tensor<256x10xf8E8M0FNU>
  %t, %u = blockscale.quantize %x block [32, 1] transposed : tensor<256x320xbf16> -> tensor<320x256xf8E4M3FN>, tensor<320x8xf8E8M0FNU, #sw>
  %wq, %ws = blockscale.quantize %w block [32, 32] scale_dim k : tensor<192x320xbf16> -> tensor<192x320xf8E4M3FN>, tensor<192x10xf8E8M0FNU>
  %wt, %wu = blockscale.quantize %w block [32, 32] transposed scale_dim n : tensor<192x320xbf16> -> tensor<320x192xf8E4M3FN>, tensor<320x6xf8E8M0FNU, #sw>
  %y = blockscale.scaled_mm %q, %wq scales(%s, %ws) block [1, 32] : tensor<256x320xf8E4M3FN>, tensor<192x320xf8E4M3FN>, tensor<256x10xf8E8M0FNU>, tensor<192x10xf8E8M0FNU> -> tensor<256x192xbf16>
  return %y, %t, %u, %wt, %wu : tensor<256x192xbf16>, tensor<320x256xf8E4M3FN>, tensor<320x8xf8E8M0FNU, #sw>, tensor<320x192xf8E4M3FN>, tensor<320x6xf8E8M0FNU, #sw>
}
// CHECK-LABEL: func.func @mxfp8_backward(
// CHECK-COUNT-3: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @mxfp8_backward(%dy: tensor<256x192xbf16>, %t: tensor<320x256xf8E4M3FN>, %u: tensor<320x8xf8E8M0FNU, #sw>, %wt: tensor<320x192xf8E4M3FN>, %wu: tensor<320x6xf8E8M0FNU, #sw>) -> (tensor<256x320xbf16>, tensor<192x320xf32>) {
  %q, %s = blockscale.quantize %dy block [1, 32] : tensor<256x192xbf16> -> tensor<256x192xf8E4M3FN>, tensor<256x6xf8E8M0FNU>
  %dt, %du = blockscale.quantize %dy block [32, 1] transposed : tensor<256x192xbf16> -> tensor<192x256xf8E4M3FN>, tensor<192x8xf8E8M0FNU>
  %dx = blockscale.scaled_mm %q, %wt scales(%s, %wu) block [1, 32] : tensor<256x192xf8E4M3FN>, tensor<320x192xf8E4M3FN>, tensor<256x6xf8E8M0FNU>, tensor<320x6xf8E8M0FNU, #sw> -> tensor<256x320xbf16>
  %dw = blockscale.scaled_mm %dt, %t scales(%du, %u) block [1, 32] : tensor<192x256xf8E4M3FN>, tensor<320x256xf8E4M3FN>, tensor<192x8xf8E8M0FNU>, tensor<320x8xf8E8M0FNU, #sw> -> tensor<192x320xf32>
  return %dx, %dw : tensor<256x320xbf16>, tensor<192x320xf32>
}
