// Kernels that store codes prepacked (docs/Kernels.md, rows), and those of quads that store rows.

// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a overlap-launches' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a' | FileCheck %s --check-prefix=APART
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a fuse=0' | FileCheck %s --check-prefix=PLAIN

#prepacked = #blockscale.data_layout<fragments_64x64>

// x is loaded before the wait, and what the amax is made of behind it. The first CTAs have the last
// rows.
// CHECK-LABEL: gpu.func @amax_parts_
// CHECK: launch_dependents
// CHECK: llvm.load {{.*}} vector<4xi32>
// CHECK: {{^      }}nvvm.griddepcontrol wait
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k128_prepacked_scaled_from_amax_of_1024_sm90
// CHECK: gpu.grid_dim x
// CHECK-COUNT-8: llvm.load {{.*}} vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK: {{^      }}nvvm.griddepcontrol wait
// CHECK-COUNT-2: llvm.load {{.*}} vector<4xi32>
// CHECK-COUNT-32: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl
// CHECK: llvm.store {{.*}} vector<4xi32>, !llvm.ptr<1>
// CHECK: gpu.return
// Without an amax before, CTAs have rows in their order.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k128_swizzled_prepacked_sm90
// CHECK-NOT: gpu.grid_dim
// CHECK-COUNT-8: llvm.load {{.*}} vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK: {{^      }}nvvm.griddepcontrol wait
// CHECK-COUNT-64: nvvm.shfl.sync idx
// CHECK: gpu.return
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k128_quads_scaled_from_amax_of_1024_sm90
// CHECK: gpu.grid_dim x
// CHECK-NOT: nvvm.shfl
// CHECK: gpu.return
// CHECK-LABEL: func.func @amax(
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// PLAIN-LABEL: func.func @amax(
// PLAIN-COUNT-5: gpu.launch_func
func.func @amax(%x: tensor<?x128xbf16>) -> (tensor<?x128xf4E2M1FN, #prepacked>, tensor<?x8xf8E4M3FN>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x128xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
  %p = blockscale.prepack %q : tensor<?x128xf4E2M1FN> -> tensor<?x128xf4E2M1FN, #prepacked>
  return %p, %s, %g : tensor<?x128xf4E2M1FN, #prepacked>, tensor<?x8xf8E4M3FN>, tensor<f32>
}

// Tiles of scales have rows in multiples of 128.
// CHECK-LABEL: func.func @tiles(
// CHECK: gpu.launch_func {{.*}} blocks in (%c4, %c1, %c1) threads in (%c128, %c1, %c1)
// CHECK-NOT: gpu.launch_func
func.func @tiles(%x: tensor<130x128xbf16>) -> (tensor<130x128xf8E4M3FN, #prepacked>, tensor<130x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<130x128xbf16> -> tensor<130x128xf8E4M3FN>, tensor<130x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
  %p = blockscale.prepack %q : tensor<130x128xf8E4M3FN> -> tensor<130x128xf8E4M3FN, #prepacked>
  return %p, %s : tensor<130x128xf8E4M3FN, #prepacked>, tensor<130x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
}

// Without overlap, rows of codes have the kernel that all have.
// CHECK-LABEL: func.func @rows(
// APART-NOT: _quads_
// APART-LABEL: func.func @rows(
// APART-COUNT-2: gpu.launch_func
func.func @rows(%x: tensor<?x128xbf16>) -> (tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x128xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
  return %q, %s, %g : tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>, tensor<f32>
}
