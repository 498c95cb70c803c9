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

func.func @warp_mm_c3(%a: memref<2147483648x16xi8>, %s: memref<16777216x1x32x4x4xf8E4M3FN>, %b: memref<48x16xi8>, %t: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2147483648x48xf32>) {
  blockscale.kernel ins(%a, %s, %b, %t : memref<2147483648x16xi8>, memref<16777216x1x32x4x4xf8E4M3FN>, memref<48x16xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2147483648x48xf32>) {
  ^bb0(%la: tensor<2147483648x32xf4E2M1FN>, %ls: tensor<2147483648x2xf8E4M3FN, #swizzled>, %lb: tensor<48x32xf4E2M1FN>, %lt: tensor<48x2xf8E4M3FN, #swizzled>, %ly: tensor<2147483648x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_120a (warp_mm_c3): expected M to be below 2^31, but got 2147483648; divide the product}}
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, %lt) block [1, 16]
        : tensor<2147483648x32xf4E2M1FN>, tensor<48x32xf4E2M1FN>, tensor<2147483648x2xf8E4M3FN, #swizzled>, tensor<48x2xf8E4M3FN, #swizzled> -> tensor<2147483648x48xf32>
    blockscale.yield %0 : tensor<2147483648x48xf32>
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

// Four stages fit into shared memory.
func.func @most_stages(%a: memref<48x32xi8>, %sa: memref<1x1x32x4x4xf8E4M3FN>, %sb: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %sa, %sb : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN, #swizzled>, %lsb: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%lsa, %lsb) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 170>}
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

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
#swizzled = #blockscale.layout<swizzle_128x4>

// Parts of K of a group would be parts of nothing the host knows.
func.func @warp_mm_c4_groups(%a: memref<48x64xf8E4M3FN>, %b: memref<2x40x64xf8E4M3FN>, %ends: memref<2xi32>, %sa: memref<2x32x4x4xf8E8M0FNU>, %sb: memref<2x1x1x32x4x4xf8E8M0FNU>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %sa, %sb : memref<48x64xf8E4M3FN>, memref<2x40x64xf8E4M3FN>, memref<2xi32>, memref<2x32x4x4xf8E8M0FNU>, memref<2x1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xf8E4M3FN>, %lb: tensor<2x40x64xf8E4M3FN>, %le: tensor<2xi32>, %lsa: tensor<48x2xf8E8M0FNU, #grouped>, %lsb: tensor<2x40x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_grouped_mm' op has no kernel on sm_120a (warp_mm_c4): expected a schedule of groups, or with ops that follow, to have K in one part, but got 2}}
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%le) scales(%lsa, %lsb) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 170, splits = 2>}
        : tensor<48x64xf8E4M3FN>, tensor<2x40x64xf8E4M3FN>, tensor<2xi32>, tensor<48x2xf8E8M0FNU, #grouped>, tensor<2x40x2xf8E8M0FNU, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
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
