// RUN: blockscale-opt %s --blockscale-to-gpu | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a > %t.mlir
// RUN: blockscale-opt %s --blockscale-to-sm100 | diff - %t.mlir
// RUN: not blockscale-opt %s --blockscale-to-gpu=chip=sm_75 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: expected the chip to be one of sm_80, {{.*}}, but got 'sm_75'

// Kernels become a gpu.module for the chip, and their names end with it. Where
// the SM100 pipeline has the chip too, the result is the same.

// SM90: gpu.module @{{.+}} [#blockscale.target<chip = "sm_90a", O = 2>]
// SM80: gpu.module @{{.+}} [#blockscale.target<chip = "sm_80", O = 2>]
// CHECK-LABEL: func.func @quantize(
// SM90:          gpu.launch_func @{{.+}}::@quantize_e2m1_torchao_f32_k64_sm90
// SM80:          gpu.launch_func @{{.+}}::@quantize_e2m1_torchao_f32_k64_sm80
func.func @quantize(%x: tensor<4x64xf32>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %q, %s : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
}
