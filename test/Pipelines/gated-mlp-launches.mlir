// Forward and backward of a gated MLP that is trained, as the Python package writes them. Forward in
// MXFP8 is four launches on every chip: x and the three weights, quantized in all forms that products
// take; gate and up with what SwiGLU makes of them; its result in rows and columns; and y. Backward is
// nine: the gradient of y; that of SwiGLU's result; those of gate and up, which the kernel that quantizes
// them in rows and columns computes; two products and their sum, dx; and three gradients of weights. In
// NVFP4 each x that is quantized has its amaxes taken before, by a launch of its own, and x and weights
// share none: it is twelve and twelve.
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_80 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_89 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_90a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_100a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_103a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_110a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --cse --blockscale-to-gpu='chip=sm_120a branch-on-rows=false' | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#tiles = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @nvfp4_forward(
// CHECK-COUNT-12: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @nvfp4_forward(%x: tensor<160x128xbf16>, %gate: tensor<192x128xbf16>, %up: tensor<192x128xbf16>, %down: tensor<64x192xbf16>)
    -> (tensor<160x64xbf16>, tensor<160x192xbf16>, tensor<160x192xbf16>, tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN, #tiles>, tensor<f32>, tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN, #tiles>, tensor<f32>, tensor<192x64xf4E2M1FN>, tensor<192x4xf8E4M3FN, #tiles>, tensor<f32>, tensor<128x160xf4E2M1FN>, tensor<128x10xf8E4M3FN, #tiles>, tensor<f32>, tensor<192x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>, tensor<f32>) {
  %amax = blockscale.amax %x : tensor<160x128xbf16> -> tensor<f32>
  %global = blockscale.global_scale %amax recipe te nonzero_amax : tensor<f32>
  %data, %scale = blockscale.quantize %x block [1, 16] recipe te global_amax(%amax : tensor<f32>) nonzero_amax
      : tensor<160x128xbf16>
      -> tensor<160x128xf4E2M1FN>, tensor<160x8xf8E4M3FN, #tiles>
  %amax_1 = blockscale.amax %gate : tensor<192x128xbf16> -> tensor<f32>
  %global_1 = blockscale.global_scale %amax_1 recipe te nonzero_amax : tensor<f32>
  %data_1, %scale_1 = blockscale.quantize %gate block [16, 16] scale_dim k recipe te global_amax(%amax_1 : tensor<f32>) nonzero_amax
      : tensor<192x128xbf16>
      -> tensor<192x128xf4E2M1FN>, tensor<192x8xf8E4M3FN, #tiles>
  %y = blockscale.scaled_mm %data, %data_1 scales(%scale, %scale_1) block [1, 16] global_scale_a(%global : tensor<f32>) global_scale_b(%global_1 : tensor<f32>)
      : tensor<160x128xf4E2M1FN>, tensor<192x128xf4E2M1FN>, tensor<160x8xf8E4M3FN, #tiles>, tensor<192x8xf8E4M3FN, #tiles>
      -> tensor<160x192xbf16>
  %amax_2 = blockscale.amax %up : tensor<192x128xbf16> -> tensor<f32>
  %global_2 = blockscale.global_scale %amax_2 recipe te nonzero_amax : tensor<f32>
  %data_2, %scale_2 = blockscale.quantize %up block [16, 16] scale_dim k recipe te global_amax(%amax_2 : tensor<f32>) nonzero_amax
      : tensor<192x128xbf16>
      -> tensor<192x128xf4E2M1FN>, tensor<192x8xf8E4M3FN, #tiles>
  %y_1 = blockscale.scaled_mm %data, %data_2 scales(%scale, %scale_2) block [1, 16] global_scale_a(%global : tensor<f32>) global_scale_b(%global_2 : tensor<f32>)
      : tensor<160x128xf4E2M1FN>, tensor<192x128xf4E2M1FN>, tensor<160x8xf8E4M3FN, #tiles>, tensor<192x8xf8E4M3FN, #tiles>
      -> tensor<160x192xbf16>
  %empty = tensor.empty () : tensor<160x192xbf16>
  %inner = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %y_1 : tensor<160x192xbf16>, tensor<160x192xbf16>) outs(%empty : tensor<160x192xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.negf %v0 : f32
    %v3 = math.exp %v2 : f32
    %v4 = arith.constant 1.00000000000000000e+00 : f32
    %v5 = arith.addf %v4, %v3 : f32
    %v6 = arith.divf %v0, %v5 : f32
    %v7 = arith.truncf %v6 : f32 to bf16
    %v8 = arith.extf %v7 : bf16 to f32
    %v9 = arith.mulf %v8, %v1 : f32
    %v10 = arith.truncf %v9 : f32 to bf16
    linalg.yield %v10 : bf16
  } -> tensor<160x192xbf16>
  %amax_3 = blockscale.amax %inner : tensor<160x192xbf16> -> tensor<f32>
  %global_3 = blockscale.global_scale %amax_3 recipe te nonzero_amax : tensor<f32>
  %data_3, %scale_3 = blockscale.quantize %inner block [1, 16] recipe te global_amax(%amax_3 : tensor<f32>) nonzero_amax
      : tensor<160x192xbf16>
      -> tensor<160x192xf4E2M1FN>, tensor<160x12xf8E4M3FN, #tiles>
  %amax_4 = blockscale.amax %down : tensor<64x192xbf16> -> tensor<f32>
  %global_4 = blockscale.global_scale %amax_4 recipe te nonzero_amax : tensor<f32>
  %data_4, %scale_4 = blockscale.quantize %down block [16, 16] scale_dim k recipe te global_amax(%amax_4 : tensor<f32>) nonzero_amax
      : tensor<64x192xbf16>
      -> tensor<64x192xf4E2M1FN>, tensor<64x12xf8E4M3FN, #tiles>
  %y_2 = blockscale.scaled_mm %data_3, %data_4 scales(%scale_3, %scale_4) block [1, 16] global_scale_a(%global_3 : tensor<f32>) global_scale_b(%global_4 : tensor<f32>)
      : tensor<160x192xf4E2M1FN>, tensor<64x192xf4E2M1FN>, tensor<160x12xf8E4M3FN, #tiles>, tensor<64x12xf8E4M3FN, #tiles>
      -> tensor<160x64xbf16>
  %amax_5 = blockscale.amax %gate : tensor<192x128xbf16> -> tensor<f32>
  %global_5 = blockscale.global_scale %amax_5 recipe te nonzero_amax : tensor<f32>
  %data_5, %scale_5 = blockscale.quantize %gate block [16, 16] transposed scale_dim n recipe te global_amax(%amax_5 : tensor<f32>) nonzero_amax
      : tensor<192x128xbf16>
      -> tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN, #tiles>
  %amax_6 = blockscale.amax %up : tensor<192x128xbf16> -> tensor<f32>
  %global_6 = blockscale.global_scale %amax_6 recipe te nonzero_amax : tensor<f32>
  %data_6, %scale_6 = blockscale.quantize %up block [16, 16] transposed scale_dim n recipe te global_amax(%amax_6 : tensor<f32>) nonzero_amax
      : tensor<192x128xbf16>
      -> tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN, #tiles>
  %amax_7 = blockscale.amax %down : tensor<64x192xbf16> -> tensor<f32>
  %global_7 = blockscale.global_scale %amax_7 recipe te nonzero_amax : tensor<f32>
  %data_7, %scale_7 = blockscale.quantize %down block [16, 16] transposed scale_dim n recipe te global_amax(%amax_7 : tensor<f32>) nonzero_amax
      : tensor<64x192xbf16>
      -> tensor<192x64xf4E2M1FN>, tensor<192x4xf8E4M3FN, #tiles>
  %rotated = blockscale.hadamard %x dim 0 sign_mask 55272 : tensor<160x128xbf16>
  %amax_8 = blockscale.amax %rotated : tensor<160x128xbf16> -> tensor<f32>
  %global_8 = blockscale.global_scale %amax_8 recipe te nonzero_amax : tensor<f32>
  %data_8, %scale_8 = blockscale.quantize %rotated block [16, 1] transposed recipe te global_amax(%amax_8 : tensor<f32>) nonzero_amax
      : tensor<160x128xbf16>
      -> tensor<128x160xf4E2M1FN>, tensor<128x10xf8E4M3FN, #tiles>
  %rotated_1 = blockscale.hadamard %inner dim 0 sign_mask 55272 : tensor<160x192xbf16>
  %amax_9 = blockscale.amax %rotated_1 : tensor<160x192xbf16> -> tensor<f32>
  %global_9 = blockscale.global_scale %amax_9 recipe te nonzero_amax : tensor<f32>
  %data_9, %scale_9 = blockscale.quantize %rotated_1 block [16, 1] transposed recipe te global_amax(%amax_9 : tensor<f32>) nonzero_amax
      : tensor<160x192xbf16>
      -> tensor<192x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>
  return %y_2, %y, %y_1, %data_5, %scale_5, %global_5, %data_6, %scale_6, %global_6, %data_7, %scale_7, %global_7, %data_8, %scale_8, %global_8, %data_9, %scale_9, %global_9 : tensor<160x64xbf16>, tensor<160x192xbf16>, tensor<160x192xbf16>, tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN, #tiles>, tensor<f32>, tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN, #tiles>, tensor<f32>, tensor<192x64xf4E2M1FN>, tensor<192x4xf8E4M3FN, #tiles>, tensor<f32>, tensor<128x160xf4E2M1FN>, tensor<128x10xf8E4M3FN, #tiles>, tensor<f32>, tensor<192x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>, tensor<f32>
}

// CHECK-LABEL: func.func @nvfp4_backward(
// CHECK-COUNT-12: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @nvfp4_backward(%gradient: tensor<160x64xbf16>, %gate: tensor<160x192xbf16>, %up: tensor<160x192xbf16>, %gate_codes_data: tensor<128x192xf4E2M1FN>, %gate_codes_scales: tensor<128x12xf8E4M3FN, #tiles>, %gate_codes_global: tensor<f32>, %up_codes_data: tensor<128x192xf4E2M1FN>, %up_codes_scales: tensor<128x12xf8E4M3FN, #tiles>, %up_codes_global: tensor<f32>, %down_codes_data: tensor<192x64xf4E2M1FN>, %down_codes_scales: tensor<192x4xf8E4M3FN, #tiles>, %down_codes_global: tensor<f32>, %x_codes_data: tensor<128x160xf4E2M1FN>, %x_codes_scales: tensor<128x10xf8E4M3FN, #tiles>, %x_codes_global: tensor<f32>, %inner_codes_data: tensor<192x160xf4E2M1FN>, %inner_codes_scales: tensor<192x10xf8E4M3FN, #tiles>, %inner_codes_global: tensor<f32>, %rng_down_dgrad_gradient: tensor<2xi64>, %rng_down_wgrad_gradient: tensor<2xi64>, %rng_gate_dgrad_gradient: tensor<2xi64>, %rng_up_dgrad_gradient: tensor<2xi64>, %rng_gate_wgrad_gradient: tensor<2xi64>, %rng_up_wgrad_gradient: tensor<2xi64>)
    -> (tensor<160x128xbf16>, tensor<192x128xbf16>, tensor<192x128xbf16>, tensor<64x192xbf16>) {
  %amax = blockscale.amax %gradient : tensor<160x64xbf16> -> tensor<f32>
  %global = blockscale.global_scale %amax recipe te nonzero_amax : tensor<f32>
  %data, %scale = blockscale.quantize %gradient block [1, 16] recipe te global_amax(%amax : tensor<f32>) nonzero_amax rng(%rng_down_dgrad_gradient : tensor<2xi64>)
      : tensor<160x64xbf16>
      -> tensor<160x64xf4E2M1FN>, tensor<160x4xf8E4M3FN, #tiles>
  %y = blockscale.scaled_mm %data, %down_codes_data scales(%scale, %down_codes_scales) block [1, 16] global_scale_a(%global : tensor<f32>) global_scale_b(%down_codes_global : tensor<f32>)
      : tensor<160x64xf4E2M1FN>, tensor<192x64xf4E2M1FN>, tensor<160x4xf8E4M3FN, #tiles>, tensor<192x4xf8E4M3FN, #tiles>
      -> tensor<160x192xbf16>
  %empty = tensor.empty () : tensor<160x192xbf16>
  %of_gate = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %gate, %up : tensor<160x192xbf16>, tensor<160x192xbf16>, tensor<160x192xbf16>) outs(%empty : tensor<160x192xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %a2: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.extf %a2 : bf16 to f32
    %v3 = arith.mulf %v0, %v2 : f32
    %v4 = arith.truncf %v3 : f32 to bf16
    %v5 = arith.extf %v4 : bf16 to f32
    %v6 = arith.constant 1.00000000000000000e+00 : f32
    %v7 = arith.negf %v1 : f32
    %v8 = math.exp %v7 : f32
    %v9 = arith.constant 1.00000000000000000e+00 : f32
    %v10 = arith.addf %v9, %v8 : f32
    %v11 = arith.divf %v9, %v10 : f32
    %v12 = arith.subf %v6, %v11 : f32
    %v13 = arith.mulf %v1, %v12 : f32
    %v14 = arith.addf %v6, %v13 : f32
    %v15 = arith.mulf %v11, %v14 : f32
    %v16 = arith.mulf %v5, %v15 : f32
    %v17 = arith.truncf %v16 : f32 to bf16
    linalg.yield %v17 : bf16
  } -> tensor<160x192xbf16>
  %empty_1 = tensor.empty () : tensor<160x192xbf16>
  %of_up = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %gate : tensor<160x192xbf16>, tensor<160x192xbf16>) outs(%empty_1 : tensor<160x192xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.negf %v1 : f32
    %v3 = math.exp %v2 : f32
    %v4 = arith.constant 1.00000000000000000e+00 : f32
    %v5 = arith.addf %v4, %v3 : f32
    %v6 = arith.divf %v1, %v5 : f32
    %v7 = arith.truncf %v6 : f32 to bf16
    %v8 = arith.extf %v7 : bf16 to f32
    %v9 = arith.mulf %v0, %v8 : f32
    %v10 = arith.truncf %v9 : f32 to bf16
    linalg.yield %v10 : bf16
  } -> tensor<160x192xbf16>
  %amax_1 = blockscale.amax %of_gate : tensor<160x192xbf16> -> tensor<f32>
  %global_1 = blockscale.global_scale %amax_1 recipe te nonzero_amax : tensor<f32>
  %data_1, %scale_1 = blockscale.quantize %of_gate block [1, 16] recipe te global_amax(%amax_1 : tensor<f32>) nonzero_amax rng(%rng_gate_dgrad_gradient : tensor<2xi64>)
      : tensor<160x192xbf16>
      -> tensor<160x192xf4E2M1FN>, tensor<160x12xf8E4M3FN, #tiles>
  %y_1 = blockscale.scaled_mm %data_1, %gate_codes_data scales(%scale_1, %gate_codes_scales) block [1, 16] global_scale_a(%global_1 : tensor<f32>) global_scale_b(%gate_codes_global : tensor<f32>)
      : tensor<160x192xf4E2M1FN>, tensor<128x192xf4E2M1FN>, tensor<160x12xf8E4M3FN, #tiles>, tensor<128x12xf8E4M3FN, #tiles>
      -> tensor<160x128xbf16>
  %amax_2 = blockscale.amax %of_up : tensor<160x192xbf16> -> tensor<f32>
  %global_2 = blockscale.global_scale %amax_2 recipe te nonzero_amax : tensor<f32>
  %data_2, %scale_2 = blockscale.quantize %of_up block [1, 16] recipe te global_amax(%amax_2 : tensor<f32>) nonzero_amax rng(%rng_up_dgrad_gradient : tensor<2xi64>)
      : tensor<160x192xbf16>
      -> tensor<160x192xf4E2M1FN>, tensor<160x12xf8E4M3FN, #tiles>
  %y_2 = blockscale.scaled_mm %data_2, %up_codes_data scales(%scale_2, %up_codes_scales) block [1, 16] global_scale_a(%global_2 : tensor<f32>) global_scale_b(%up_codes_global : tensor<f32>)
      : tensor<160x192xf4E2M1FN>, tensor<128x192xf4E2M1FN>, tensor<160x12xf8E4M3FN, #tiles>, tensor<128x12xf8E4M3FN, #tiles>
      -> tensor<160x128xbf16>
  %empty_2 = tensor.empty () : tensor<160x128xbf16>
  %of_x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y_1, %y_2 : tensor<160x128xbf16>, tensor<160x128xbf16>) outs(%empty_2 : tensor<160x128xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.addf %v0, %v1 : f32
    %v3 = arith.truncf %v2 : f32 to bf16
    linalg.yield %v3 : bf16
  } -> tensor<160x128xbf16>
  %rotated = blockscale.hadamard %of_gate dim 0 sign_mask 55272 : tensor<160x192xbf16>
  %amax_3 = blockscale.amax %rotated : tensor<160x192xbf16> -> tensor<f32>
  %global_3 = blockscale.global_scale %amax_3 recipe te nonzero_amax : tensor<f32>
  %data_3, %scale_3 = blockscale.quantize %rotated block [16, 1] transposed recipe te global_amax(%amax_3 : tensor<f32>) nonzero_amax rng(%rng_gate_wgrad_gradient : tensor<2xi64>)
      : tensor<160x192xbf16>
      -> tensor<192x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>
  %y_3 = blockscale.scaled_mm %data_3, %x_codes_data scales(%scale_3, %x_codes_scales) block [1, 16] global_scale_a(%global_3 : tensor<f32>) global_scale_b(%x_codes_global : tensor<f32>)
      : tensor<192x160xf4E2M1FN>, tensor<128x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>, tensor<128x10xf8E4M3FN, #tiles>
      -> tensor<192x128xbf16>
  %rotated_1 = blockscale.hadamard %of_up dim 0 sign_mask 55272 : tensor<160x192xbf16>
  %amax_4 = blockscale.amax %rotated_1 : tensor<160x192xbf16> -> tensor<f32>
  %global_4 = blockscale.global_scale %amax_4 recipe te nonzero_amax : tensor<f32>
  %data_4, %scale_4 = blockscale.quantize %rotated_1 block [16, 1] transposed recipe te global_amax(%amax_4 : tensor<f32>) nonzero_amax rng(%rng_up_wgrad_gradient : tensor<2xi64>)
      : tensor<160x192xbf16>
      -> tensor<192x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>
  %y_4 = blockscale.scaled_mm %data_4, %x_codes_data scales(%scale_4, %x_codes_scales) block [1, 16] global_scale_a(%global_4 : tensor<f32>) global_scale_b(%x_codes_global : tensor<f32>)
      : tensor<192x160xf4E2M1FN>, tensor<128x160xf4E2M1FN>, tensor<192x10xf8E4M3FN, #tiles>, tensor<128x10xf8E4M3FN, #tiles>
      -> tensor<192x128xbf16>
  %rotated_2 = blockscale.hadamard %gradient dim 0 sign_mask 55272 : tensor<160x64xbf16>
  %amax_5 = blockscale.amax %rotated_2 : tensor<160x64xbf16> -> tensor<f32>
  %global_5 = blockscale.global_scale %amax_5 recipe te nonzero_amax : tensor<f32>
  %data_5, %scale_5 = blockscale.quantize %rotated_2 block [16, 1] transposed recipe te global_amax(%amax_5 : tensor<f32>) nonzero_amax rng(%rng_down_wgrad_gradient : tensor<2xi64>)
      : tensor<160x64xbf16>
      -> tensor<64x160xf4E2M1FN>, tensor<64x10xf8E4M3FN, #tiles>
  %y_5 = blockscale.scaled_mm %data_5, %inner_codes_data scales(%scale_5, %inner_codes_scales) block [1, 16] global_scale_a(%global_5 : tensor<f32>) global_scale_b(%inner_codes_global : tensor<f32>)
      : tensor<64x160xf4E2M1FN>, tensor<192x160xf4E2M1FN>, tensor<64x10xf8E4M3FN, #tiles>, tensor<192x10xf8E4M3FN, #tiles>
      -> tensor<64x192xbf16>
  return %of_x, %y_3, %y_4, %y_5 : tensor<160x128xbf16>, tensor<192x128xbf16>, tensor<192x128xbf16>, tensor<64x192xbf16>
}

// CHECK-LABEL: func.func @mxfp8_forward(
// CHECK-COUNT-4: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @mxfp8_forward(%x: tensor<160x128xbf16>, %gate: tensor<192x128xbf16>, %up: tensor<192x128xbf16>, %down: tensor<64x192xbf16>)
    -> (tensor<160x64xbf16>, tensor<160x192xbf16>, tensor<160x192xbf16>, tensor<128x192xf8E4M3FN>, tensor<128x6xf8E8M0FNU, #tiles>, tensor<128x192xf8E4M3FN>, tensor<128x6xf8E8M0FNU, #tiles>, tensor<192x64xf8E4M3FN>, tensor<192x2xf8E8M0FNU, #tiles>, tensor<128x160xf8E4M3FN>, tensor<128x5xf8E8M0FNU, #tiles>, tensor<192x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>) {
  %data, %scale = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<160x128xbf16>
      -> tensor<160x128xf8E4M3FN>, tensor<160x4xf8E8M0FNU, #tiles>
  %data_1, %scale_1 = blockscale.quantize %gate block [1, 32] recipe rceil
      : tensor<192x128xbf16>
      -> tensor<192x128xf8E4M3FN>, tensor<192x4xf8E8M0FNU, #tiles>
  %y = blockscale.scaled_mm %data, %data_1 scales(%scale, %scale_1) block [1, 32]
      : tensor<160x128xf8E4M3FN>, tensor<192x128xf8E4M3FN>, tensor<160x4xf8E8M0FNU, #tiles>, tensor<192x4xf8E8M0FNU, #tiles>
      -> tensor<160x192xbf16>
  %data_2, %scale_2 = blockscale.quantize %up block [1, 32] recipe rceil
      : tensor<192x128xbf16>
      -> tensor<192x128xf8E4M3FN>, tensor<192x4xf8E8M0FNU, #tiles>
  %y_1 = blockscale.scaled_mm %data, %data_2 scales(%scale, %scale_2) block [1, 32]
      : tensor<160x128xf8E4M3FN>, tensor<192x128xf8E4M3FN>, tensor<160x4xf8E8M0FNU, #tiles>, tensor<192x4xf8E8M0FNU, #tiles>
      -> tensor<160x192xbf16>
  %empty = tensor.empty () : tensor<160x192xbf16>
  %inner = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %y_1 : tensor<160x192xbf16>, tensor<160x192xbf16>) outs(%empty : tensor<160x192xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.negf %v0 : f32
    %v3 = math.exp %v2 : f32
    %v4 = arith.constant 1.00000000000000000e+00 : f32
    %v5 = arith.addf %v4, %v3 : f32
    %v6 = arith.divf %v0, %v5 : f32
    %v7 = arith.truncf %v6 : f32 to bf16
    %v8 = arith.extf %v7 : bf16 to f32
    %v9 = arith.mulf %v8, %v1 : f32
    %v10 = arith.truncf %v9 : f32 to bf16
    linalg.yield %v10 : bf16
  } -> tensor<160x192xbf16>
  %data_3, %scale_3 = blockscale.quantize %inner block [1, 32] recipe rceil
      : tensor<160x192xbf16>
      -> tensor<160x192xf8E4M3FN>, tensor<160x6xf8E8M0FNU, #tiles>
  %data_4, %scale_4 = blockscale.quantize %down block [1, 32] recipe rceil
      : tensor<64x192xbf16>
      -> tensor<64x192xf8E4M3FN>, tensor<64x6xf8E8M0FNU, #tiles>
  %y_2 = blockscale.scaled_mm %data_3, %data_4 scales(%scale_3, %scale_4) block [1, 32]
      : tensor<160x192xf8E4M3FN>, tensor<64x192xf8E4M3FN>, tensor<160x6xf8E8M0FNU, #tiles>, tensor<64x6xf8E8M0FNU, #tiles>
      -> tensor<160x64xbf16>
  %data_5, %scale_5 = blockscale.quantize %gate block [32, 1] transposed recipe rceil
      : tensor<192x128xbf16>
      -> tensor<128x192xf8E4M3FN>, tensor<128x6xf8E8M0FNU, #tiles>
  %data_6, %scale_6 = blockscale.quantize %up block [32, 1] transposed recipe rceil
      : tensor<192x128xbf16>
      -> tensor<128x192xf8E4M3FN>, tensor<128x6xf8E8M0FNU, #tiles>
  %data_7, %scale_7 = blockscale.quantize %down block [32, 1] transposed recipe rceil
      : tensor<64x192xbf16>
      -> tensor<192x64xf8E4M3FN>, tensor<192x2xf8E8M0FNU, #tiles>
  %data_8, %scale_8 = blockscale.quantize %x block [32, 1] transposed recipe rceil
      : tensor<160x128xbf16>
      -> tensor<128x160xf8E4M3FN>, tensor<128x5xf8E8M0FNU, #tiles>
  %data_9, %scale_9 = blockscale.quantize %inner block [32, 1] transposed recipe rceil
      : tensor<160x192xbf16>
      -> tensor<192x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>
  return %y_2, %y, %y_1, %data_5, %scale_5, %data_6, %scale_6, %data_7, %scale_7, %data_8, %scale_8, %data_9, %scale_9 : tensor<160x64xbf16>, tensor<160x192xbf16>, tensor<160x192xbf16>, tensor<128x192xf8E4M3FN>, tensor<128x6xf8E8M0FNU, #tiles>, tensor<128x192xf8E4M3FN>, tensor<128x6xf8E8M0FNU, #tiles>, tensor<192x64xf8E4M3FN>, tensor<192x2xf8E8M0FNU, #tiles>, tensor<128x160xf8E4M3FN>, tensor<128x5xf8E8M0FNU, #tiles>, tensor<192x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>
}

// CHECK-LABEL: func.func @mxfp8_backward(
// CHECK-COUNT-9: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @mxfp8_backward(%gradient: tensor<160x64xbf16>, %gate: tensor<160x192xbf16>, %up: tensor<160x192xbf16>, %gate_codes_data: tensor<128x192xf8E4M3FN>, %gate_codes_scales: tensor<128x6xf8E8M0FNU, #tiles>, %up_codes_data: tensor<128x192xf8E4M3FN>, %up_codes_scales: tensor<128x6xf8E8M0FNU, #tiles>, %down_codes_data: tensor<192x64xf8E4M3FN>, %down_codes_scales: tensor<192x2xf8E8M0FNU, #tiles>, %x_codes_data: tensor<128x160xf8E4M3FN>, %x_codes_scales: tensor<128x5xf8E8M0FNU, #tiles>, %inner_codes_data: tensor<192x160xf8E4M3FN>, %inner_codes_scales: tensor<192x5xf8E8M0FNU, #tiles>)
    -> (tensor<160x128xbf16>, tensor<192x128xbf16>, tensor<192x128xbf16>, tensor<64x192xbf16>) {
  %data, %scale = blockscale.quantize %gradient block [1, 32] recipe rceil
      : tensor<160x64xbf16>
      -> tensor<160x64xf8E4M3FN>, tensor<160x2xf8E8M0FNU, #tiles>
  %y = blockscale.scaled_mm %data, %down_codes_data scales(%scale, %down_codes_scales) block [1, 32]
      : tensor<160x64xf8E4M3FN>, tensor<192x64xf8E4M3FN>, tensor<160x2xf8E8M0FNU, #tiles>, tensor<192x2xf8E8M0FNU, #tiles>
      -> tensor<160x192xbf16>
  %empty = tensor.empty () : tensor<160x192xbf16>
  %of_gate = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %gate, %up : tensor<160x192xbf16>, tensor<160x192xbf16>, tensor<160x192xbf16>) outs(%empty : tensor<160x192xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %a2: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.extf %a2 : bf16 to f32
    %v3 = arith.mulf %v0, %v2 : f32
    %v4 = arith.truncf %v3 : f32 to bf16
    %v5 = arith.extf %v4 : bf16 to f32
    %v6 = arith.constant 1.00000000000000000e+00 : f32
    %v7 = arith.negf %v1 : f32
    %v8 = math.exp %v7 : f32
    %v9 = arith.constant 1.00000000000000000e+00 : f32
    %v10 = arith.addf %v9, %v8 : f32
    %v11 = arith.divf %v9, %v10 : f32
    %v12 = arith.subf %v6, %v11 : f32
    %v13 = arith.mulf %v1, %v12 : f32
    %v14 = arith.addf %v6, %v13 : f32
    %v15 = arith.mulf %v11, %v14 : f32
    %v16 = arith.mulf %v5, %v15 : f32
    %v17 = arith.truncf %v16 : f32 to bf16
    linalg.yield %v17 : bf16
  } -> tensor<160x192xbf16>
  %empty_1 = tensor.empty () : tensor<160x192xbf16>
  %of_up = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %gate : tensor<160x192xbf16>, tensor<160x192xbf16>) outs(%empty_1 : tensor<160x192xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.negf %v1 : f32
    %v3 = math.exp %v2 : f32
    %v4 = arith.constant 1.00000000000000000e+00 : f32
    %v5 = arith.addf %v4, %v3 : f32
    %v6 = arith.divf %v1, %v5 : f32
    %v7 = arith.truncf %v6 : f32 to bf16
    %v8 = arith.extf %v7 : bf16 to f32
    %v9 = arith.mulf %v0, %v8 : f32
    %v10 = arith.truncf %v9 : f32 to bf16
    linalg.yield %v10 : bf16
  } -> tensor<160x192xbf16>
  %data_1, %scale_1 = blockscale.quantize %of_gate block [1, 32] recipe rceil
      : tensor<160x192xbf16>
      -> tensor<160x192xf8E4M3FN>, tensor<160x6xf8E8M0FNU, #tiles>
  %y_1 = blockscale.scaled_mm %data_1, %gate_codes_data scales(%scale_1, %gate_codes_scales) block [1, 32]
      : tensor<160x192xf8E4M3FN>, tensor<128x192xf8E4M3FN>, tensor<160x6xf8E8M0FNU, #tiles>, tensor<128x6xf8E8M0FNU, #tiles>
      -> tensor<160x128xbf16>
  %data_2, %scale_2 = blockscale.quantize %of_up block [1, 32] recipe rceil
      : tensor<160x192xbf16>
      -> tensor<160x192xf8E4M3FN>, tensor<160x6xf8E8M0FNU, #tiles>
  %y_2 = blockscale.scaled_mm %data_2, %up_codes_data scales(%scale_2, %up_codes_scales) block [1, 32]
      : tensor<160x192xf8E4M3FN>, tensor<128x192xf8E4M3FN>, tensor<160x6xf8E8M0FNU, #tiles>, tensor<128x6xf8E8M0FNU, #tiles>
      -> tensor<160x128xbf16>
  %empty_2 = tensor.empty () : tensor<160x128xbf16>
  %of_x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y_1, %y_2 : tensor<160x128xbf16>, tensor<160x128xbf16>) outs(%empty_2 : tensor<160x128xbf16>) {
  ^bb0(%a0: bf16, %a1: bf16, %out: bf16):
    %v0 = arith.extf %a0 : bf16 to f32
    %v1 = arith.extf %a1 : bf16 to f32
    %v2 = arith.addf %v0, %v1 : f32
    %v3 = arith.truncf %v2 : f32 to bf16
    linalg.yield %v3 : bf16
  } -> tensor<160x128xbf16>
  %data_3, %scale_3 = blockscale.quantize %of_gate block [32, 1] transposed recipe rceil
      : tensor<160x192xbf16>
      -> tensor<192x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>
  %y_3 = blockscale.scaled_mm %data_3, %x_codes_data scales(%scale_3, %x_codes_scales) block [1, 32]
      : tensor<192x160xf8E4M3FN>, tensor<128x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>, tensor<128x5xf8E8M0FNU, #tiles>
      -> tensor<192x128xbf16>
  %data_4, %scale_4 = blockscale.quantize %of_up block [32, 1] transposed recipe rceil
      : tensor<160x192xbf16>
      -> tensor<192x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>
  %y_4 = blockscale.scaled_mm %data_4, %x_codes_data scales(%scale_4, %x_codes_scales) block [1, 32]
      : tensor<192x160xf8E4M3FN>, tensor<128x160xf8E4M3FN>, tensor<192x5xf8E8M0FNU, #tiles>, tensor<128x5xf8E8M0FNU, #tiles>
      -> tensor<192x128xbf16>
  %data_5, %scale_5 = blockscale.quantize %gradient block [32, 1] transposed recipe rceil
      : tensor<160x64xbf16>
      -> tensor<64x160xf8E4M3FN>, tensor<64x5xf8E8M0FNU, #tiles>
  %y_5 = blockscale.scaled_mm %data_5, %inner_codes_data scales(%scale_5, %inner_codes_scales) block [1, 32]
      : tensor<64x160xf8E4M3FN>, tensor<192x160xf8E4M3FN>, tensor<64x5xf8E8M0FNU, #tiles>, tensor<192x5xf8E8M0FNU, #tiles>
      -> tensor<64x192xbf16>
  return %of_x, %y_3, %y_4, %y_5 : tensor<160x128xbf16>, tensor<192x128xbf16>, tensor<192x128xbf16>, tensor<64x192xbf16>
}
