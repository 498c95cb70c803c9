// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_120a --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines swizzle linear scales; a kernel does not.
func.func @warp_mm_c1(%a: memref<48x32xi8>, %sa: memref<1x1x32x4x4xf8E4M3FN>, %sb: memref<48x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %sa, %sb : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<48x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN, #swizzled>, %lsb: tensor<48x4xf8E4M3FN>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c1): expected scale_b to be in the layout swizzle_128x4, but got linear scales; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_mm %la, %la scales(%lsa, %lsb) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Tiles of pairs of CTAs are those of other chips.
func.func @warp_mm_c4_tile(%a: memref<48x32xi8>, %sa: memref<1x1x32x4x4xf8E4M3FN>, %sb: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %sa, %sb : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN, #swizzled>, %lsb: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c4): expected a schedule with tiles of 128 x 128, but got 256 x 256}}
    %0 = blockscale.scaled_mm %la, %la scales(%lsa, %lsb) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 3, band = 4, ctas = 170>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Shared memory holds four stages.
func.func @warp_mm_c4_most(%a: memref<48x32xi8>, %sa: memref<1x1x32x4x4xf8E4M3FN>, %sb: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %sa, %sb : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN, #swizzled>, %lsb: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c4): expected a schedule of 2 to 4 stages, which shared memory holds, but got 5}}
    %0 = blockscale.scaled_mm %la, %la scales(%lsa, %lsb) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 5, band = 8, ctas = 170>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A stage arrives while another one is multiplied.
func.func @warp_mm_c4_least(%a: memref<48x32xi8>, %sa: memref<1x1x32x4x4xf8E4M3FN>, %sb: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %sa, %sb : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN, #swizzled>, %lsb: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c4): expected a schedule of 2 to 4 stages, which shared memory holds, but got 1}}
    %0 = blockscale.scaled_mm %la, %la scales(%lsa, %lsb) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 1, band = 8, ctas = 170>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Tensor cores have no block-scaled INT8.
func.func @warp_mm_c5(%a: memref<48x64xi8>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %b: memref<48x64xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xi8>, memref<48x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xi8>, %lb: tensor<48x64xf8E4M3FN>, %ls: tensor<48x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c5): expected data of floating-point formats, which alone tensor cores multiply under block scales, but got 'i8' and 'f8E4M3FN'; quantize to one of these, or run the product on the CPU}}
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, %ls) block [1, 32]
        : tensor<48x64xi8>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU, #swizzled>, tensor<48x2xf8E8M0FNU, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A plain operand has no kernel here.
func.func @warp_mm_c6(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c6): expected both operands to have scales, but got plain 'bf16'; quantize it (blockscale.quantize), or dequantize the other operand and multiply by linalg}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}
