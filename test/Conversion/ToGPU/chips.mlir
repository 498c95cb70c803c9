// RUN: not blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_103a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_110a | FileCheck %s --check-prefix=SM110

// UNKNOWN: error: expected the chip to be one of sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_110a, sm_120a, sm_121a, but got 'sm_90'

// CHECK: gpu.module @blockscale_kernels [#blockscale.target<chip = "sm_103a", O = 2>]
// SM110: gpu.module @blockscale_kernels [#blockscale.target<chip = "sm_110a", O = 2>]
func.func @f(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}
