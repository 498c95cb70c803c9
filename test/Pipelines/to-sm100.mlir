// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s --check-prefixes=CHECK,SM100
// RUN: blockscale-opt %s --blockscale-to-sm100=chip=sm_103a | FileCheck %s --check-prefixes=CHECK,SM103
// RUN: blockscale-opt %s --blockscale-to-sm100=to=bufferize | FileCheck %s --check-prefix=BUFFERS
// RUN: not blockscale-opt %s --blockscale-to-sm100=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: expected option 'chip' to be one of sm_100a, sm_103a, sm_110a, but got 'sm_90a'

// Kernels become a gpu.module for the chip and launches of its functions; the host
// part stays on memrefs.

// SM100: gpu.module @{{.+}} [#blockscale.target<chip = "sm_100a", O = 2>]
// SM103: gpu.module @{{.+}} [#blockscale.target<chip = "sm_103a", O = 2>]
// CHECK-LABEL: func.func @quantize(
// CHECK-SAME:      memref<4x64xf32>
// CHECK:         gpu.launch_func

// BUFFERS-NOT: gpu
// BUFFERS:     blockscale.kernel
func.func @quantize(%x: tensor<4x64xf32>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %q, %s : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
}
