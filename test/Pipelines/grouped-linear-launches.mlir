// A grouped linear layer's forward and backward, with weights that are quantized in it, is three
// products and two launches of quantizers on every chip, one of which has x and dy: each of x, dy and
// w is read once for its rows and its columns, and on chips that multiply one decoded operand the quantizers decode it.
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_80 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_89 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_103a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_110a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_120a | FileCheck %s

// CHECK-LABEL: func.func @forward_and_backward(
// CHECK-COUNT-5: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @forward_and_backward(%x: tensor<96x128xbf16>, %dy: tensor<96x64xbf16>, %w: tensor<3x64x128xbf16>, %o: tensor<3xi32>) -> (tensor<96x64xbf16>, tensor<96x128xbf16>, tensor<3x64x128xf32>) {
  %q,%s = blockscale.quantize %x block [1,32] : tensor<96x128xbf16> -> tensor<96x128xf8E4M3FN>, tensor<96x4xf8E8M0FNU>
  %wq,%ws = blockscale.quantize %w block [32,32] scale_dim k : tensor<3x64x128xbf16> -> tensor<3x64x128xf8E4M3FN>, tensor<3x64x4xf8E8M0FNU>
  %wt,%wu = blockscale.quantize %w block [32,32] transposed scale_dim n : tensor<3x64x128xbf16> -> tensor<3x128x64xf8E4M3FN>, tensor<3x128x2xf8E8M0FNU>
  %y = blockscale.scaled_grouped_mm %q, %wq offsets(%o) scales(%s,%ws) block [1,32] : tensor<96x128xf8E4M3FN>, tensor<3x64x128xf8E4M3FN>, tensor<3xi32>, tensor<96x4xf8E8M0FNU>, tensor<3x64x4xf8E8M0FNU> -> tensor<96x64xbf16>
  %d,%ds = blockscale.quantize %dy block [1,32] : tensor<96x64xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  %dx = blockscale.scaled_grouped_mm %d, %wt offsets(%o) scales(%ds,%wu) block [1,32] : tensor<96x64xf8E4M3FN>, tensor<3x128x64xf8E4M3FN>, tensor<3xi32>, tensor<96x2xf8E8M0FNU>, tensor<3x128x2xf8E8M0FNU> -> tensor<96x128xbf16>
  %xt,%xu = blockscale.quantize %x block [32,1] transposed : tensor<96x128xbf16> -> tensor<128x96xf8E4M3FN>, tensor<128x3xf8E8M0FNU>
  %dt,%du = blockscale.quantize %dy block [32,1] transposed : tensor<96x64xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %dw = blockscale.scaled_grouped_mm %dt, %xt offsets(%o) scales(%du,%xu) block [1,32] : tensor<64x96xf8E4M3FN>, tensor<128x96xf8E4M3FN>, tensor<3xi32>, tensor<64x3xf8E8M0FNU>, tensor<128x3xf8E8M0FNU> -> tensor<3x64x128xf32>
  return %y,%dx,%dw : tensor<96x64xbf16>, tensor<96x128xbf16>, tensor<3x64x128xf32> }
