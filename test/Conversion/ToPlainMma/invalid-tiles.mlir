// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_86 --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Three stages of 33,792 bytes fill shared memory to the last byte.
func.func @just_fits(%a: memref<48x64xbf16>, %b: memref<48x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf8E4M3FN>, %ls: tensor<48x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x48xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// So there is one number of stages.
func.func @mma_mm_c4_one_more(%a: memref<48x64xbf16>, %b: memref<48x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf8E4M3FN>, %ls: tensor<48x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_86 (mma_mm_c4): expected a schedule of 3 stages, which shared memory holds, but got 4}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Stages of fewer plain rows have more steps. Another number of stages does not help.
func.func @mma_mm_c4_tile(%a: memref<48x64xbf16>, %b: memref<48x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf8E4M3FN>, %ls: tensor<48x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_86 (mma_mm_c4): expected a schedule with tiles whose 3 stages, the fewest, fit into 101376 bytes of shared memory, but those of 64 x 256 take 150528}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 256, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

// Without scales the message names no operand with scales.
func.func @mma_mm_c4_plain(%a: memref<48x64xbf16>, %b: memref<48x64xbf16>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b : memref<48x64xbf16>, memref<48x64xbf16>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xbf16>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_86 (mma_mm_c4): expected a schedule with tiles of 64, 128 or 256 columns by 16, 32, 64 or 128 rows that such a tile can have, but got 128 x 192}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 192, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}
