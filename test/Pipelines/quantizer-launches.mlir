// Launches of the quantizers of linear layers, which are the same on every chip: one that
// takes the amaxes, in parts, and one that quantizes rows of x and columns of its transform.
// Where groups have an amax each, one before clears these.
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_103a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_110a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_120a | FileCheck %s

#sw = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 4, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 4, dim = 1>

// Dynamic rows.
// CHECK-LABEL: func.func @dynamic_rows(
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @dynamic_rows(%x: tensor<?x256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #sw>, tensor<256x?xf4E2M1FN>, tensor<256x?xf8E4M3FN, #sw>, tensor<f32>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x256xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<?x256xbf16> -> tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #sw>
  %y = blockscale.hadamard %x dim 0 : tensor<?x256xbf16>
  %b = blockscale.amax %y : tensor<?x256xbf16> -> tensor<f32>
  %t, %u = blockscale.quantize %y block [16, 1] transposed recipe te global_amax(%b : tensor<f32>) : tensor<?x256xbf16> -> tensor<256x?xf4E2M1FN>, tensor<256x?xf8E4M3FN, #sw>
  return %q, %s, %t, %u, %a, %b : tensor<?x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #sw>, tensor<256x?xf4E2M1FN>, tensor<256x?xf8E4M3FN, #sw>, tensor<f32>, tensor<f32>
}

// Rows that are no multiple of 64, and columns that are none of 16.
// CHECK-LABEL: func.func @ragged(
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @ragged(%x: tensor<80x200xbf16>) -> (tensor<80x200xf4E2M1FN>, tensor<80x13xf8E4M3FN, #sw>, tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #sw>) {
  %a = blockscale.amax %x : tensor<80x200xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) : tensor<80x200xbf16> -> tensor<80x200xf4E2M1FN>, tensor<80x13xf8E4M3FN, #sw>
  %y = blockscale.hadamard %x dim 0 : tensor<80x200xbf16>
  %b = blockscale.amax %y : tensor<80x200xbf16> -> tensor<f32>
  %t, %u = blockscale.quantize %y block [16, 1] transposed recipe te global_amax(%b : tensor<f32>) : tensor<80x200xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #sw>
  return %q, %s, %t, %u : tensor<80x200xf4E2M1FN>, tensor<80x13xf8E4M3FN, #sw>, tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #sw>
}

// Stochastic rounding.
// CHECK-LABEL: func.func @random(
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @random(%x: tensor<128x256xbf16>, %r: tensor<2xi64>) -> (tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN, #sw>, tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN, #sw>, tensor<f32>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<128x256xbf16> -> tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<f32>) rng(%r : tensor<2xi64>) : tensor<128x256xbf16> -> tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN, #sw>
  %y = blockscale.hadamard %x dim 0 : tensor<128x256xbf16>
  %b = blockscale.amax %y : tensor<128x256xbf16> -> tensor<f32>
  %t, %u = blockscale.quantize %y block [16, 1] transposed recipe te global_amax(%b : tensor<f32>) rng(%r : tensor<2xi64>) : tensor<128x256xbf16> -> tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN, #sw>
  return %q, %s, %t, %u, %a, %b : tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN, #sw>, tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN, #sw>, tensor<f32>, tensor<f32>
}

// Groups of rows whose ends are on the device, with an amax and tiles of scales each.
// CHECK-LABEL: func.func @groups(
// CHECK-COUNT-3: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @groups(%x: tensor<512x256xbf16>, %o: tensor<4xi32>) -> (tensor<512x256xf4E2M1FN>, tensor<512x16xf8E4M3FN, #rows>, tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN, #columns>) {
  %a = blockscale.amax %x offsets(%o : tensor<4xi32>) : tensor<512x256xbf16> -> tensor<4xf32>
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<4xf32>) offsets(%o : tensor<4xi32>) : tensor<512x256xbf16> -> tensor<512x256xf4E2M1FN>, tensor<512x16xf8E4M3FN, #rows>
  %y = blockscale.hadamard %x dim 0 : tensor<512x256xbf16>
  %b = blockscale.amax %y offsets(%o : tensor<4xi32>) : tensor<512x256xbf16> -> tensor<4xf32>
  %t, %u = blockscale.quantize %y block [16, 1] transposed recipe te global_amax(%b : tensor<4xf32>) offsets(%o : tensor<4xi32>) : tensor<512x256xbf16> -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN, #columns>
  return %q, %s, %t, %u : tensor<512x256xf4E2M1FN>, tensor<512x16xf8E4M3FN, #rows>, tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN, #columns>
}
