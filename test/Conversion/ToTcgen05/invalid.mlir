// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines swizzle linear scales; a kernel does not.
func.func @sm100_mm_c1(%a: memref<48x32xi8>, %sa: memref<1x1x32x4x4xf8E4M3FN>, %sb: memref<48x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %sa, %sb : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<48x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN, #swizzled>, %lsb: tensor<48x4xf8E4M3FN>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c1): expected scale_b to be in the layout swizzle_128x4, but got linear scales; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_mm %la, %la scales(%lsa, %lsb) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

func.func @sm100_mm_c3(%a: memref<2147483648x16xi8>, %s: memref<16777216x1x32x4x4xf8E4M3FN>, %b: memref<48x16xi8>, %t: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2147483648x48xf32>) {
  blockscale.kernel ins(%a, %s, %b, %t : memref<2147483648x16xi8>, memref<16777216x1x32x4x4xf8E4M3FN>, memref<48x16xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2147483648x48xf32>) {
  ^bb0(%la: tensor<2147483648x32xf4E2M1FN>, %ls: tensor<2147483648x2xf8E4M3FN, #swizzled>, %lb: tensor<48x32xf4E2M1FN>, %lt: tensor<48x2xf8E4M3FN, #swizzled>, %ly: tensor<2147483648x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c3): expected M to be below 2^31, but got 2147483648; divide the product}}
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, %lt) block [1, 16]
        : tensor<2147483648x32xf4E2M1FN>, tensor<48x32xf4E2M1FN>, tensor<2147483648x2xf8E4M3FN, #swizzled>, tensor<48x2xf8E4M3FN, #swizzled> -> tensor<2147483648x48xf32>
    blockscale.yield %0 : tensor<2147483648x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A schedule of one's own has to fit.
func.func @sm100_mm_c4(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c4): expected a schedule of 1 to 4 stages, which shared memory holds, but got 5}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 5, band = 8, ctas = 148>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Four stages fit into shared memory.
func.func @most_stages(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Tensor cores of SM100 have no tiles of 64 rows here.
func.func @sm100_mm_c4_rows(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c4): expected a schedule of 128 or 256 rows, but got 64}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 256, stages = 1, band = 8, ctas = 148>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Scales of columns are whole bands of 128.
func.func @sm100_mm_c4_cols(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c4): expected a schedule of 128 rows to have 128 or 256 columns, but got 192}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 192, stages = 1, band = 8, ctas = 148>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Pairs of CTAs have tiles of 256 x 256.
func.func @sm100_mm_c4_pair(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c4): expected a schedule of 256 rows to have 256 columns, but got 128}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 1, band = 8, ctas = 148>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

// Rows of data with gaps.
func.func @strides(%a: memref<48x32xi8, strided<[40, 1]>>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  // expected-error @below {{expected operand 0 to be a memref without gaps on this target, but got 'memref<48x32xi8, strided<[40, 1]>>'; copy it into one}}
  blockscale.kernel ins(%a, %s : memref<48x32xi8, strided<[40, 1]>>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %ly: tensor<48x48xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
#swizzled = #blockscale.layout<swizzle_128x4>

// Parts of K of a group would be parts of nothing the host knows.
func.func @sm100_mm_c4_groups(%a: memref<48x64xf8E4M3FN>, %b: memref<2x40x64xf8E4M3FN>, %ends: memref<2xi32>, %sa: memref<2x32x4x4xf8E8M0FNU>, %sb: memref<2x1x1x32x4x4xf8E8M0FNU>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %sa, %sb : memref<48x64xf8E4M3FN>, memref<2x40x64xf8E4M3FN>, memref<2xi32>, memref<2x32x4x4xf8E8M0FNU>, memref<2x1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xf8E4M3FN>, %lb: tensor<2x40x64xf8E4M3FN>, %le: tensor<2xi32>, %lsa: tensor<48x2xf8E8M0FNU, #grouped>, %lsb: tensor<2x40x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_grouped_mm' op has no kernel on sm_100a (sm100_mm_c4): expected a schedule of groups, or with ops that follow, to have K in one part, but got 2}}
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%le) scales(%lsa, %lsb) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 148, splits = 2>}
        : tensor<48x64xf8E4M3FN>, tensor<2x40x64xf8E4M3FN>, tensor<2xi32>, tensor<48x2xf8E8M0FNU, #grouped>, tensor<2x40x2xf8E8M0FNU, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

// Rows of groups need tiles of their own, however many groups there are.
func.func @sm100_mm_c1_groups(%a: memref<48x64xf8E4M3FN>, %b: memref<?x40x64xf8E4M3FN>, %ends: memref<?xi32>, %sa: memref<48x2xf8E8M0FNU>, %sb: memref<?x40x2xf8E8M0FNU>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %sa, %sb : memref<48x64xf8E4M3FN>, memref<?x40x64xf8E4M3FN>, memref<?xi32>, memref<48x2xf8E8M0FNU>, memref<?x40x2xf8E8M0FNU>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xf8E4M3FN>, %lb: tensor<?x40x64xf8E4M3FN>, %le: tensor<?xi32>, %lsa: tensor<48x2xf8E8M0FNU>, %lsb: tensor<?x40x2xf8E8M0FNU>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_grouped_mm' op has no kernel on sm_100a (sm100_mm_c1): expected scale_a to be in the layout swizzle_128x4 of each group, but got linear scales; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%le) scales(%lsa, %lsb) block [1, 32]
        : tensor<48x64xf8E4M3FN>, tensor<?x40x64xf8E4M3FN>, tensor<?xi32>, tensor<48x2xf8E8M0FNU>, tensor<?x40x2xf8E8M0FNU> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#columns = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>

// Groups of K part the scales of B, too.
func.func @sm100_mm_c1_depth(%a: memref<48x64xf8E4M3FN>, %ends: memref<2xi32>, %s: memref<2x32x4x4xf8E8M0FNU>, %t: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<2x48x48xf32>) {
  blockscale.kernel ins(%a, %ends, %s, %t : memref<48x64xf8E4M3FN>, memref<2xi32>, memref<2x32x4x4xf8E8M0FNU>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<2x48x48xf32>) {
  ^bb0(%la: tensor<48x64xf8E4M3FN>, %le: tensor<2xi32>, %ls: tensor<48x2xf8E8M0FNU, #columns>, %lt: tensor<48x2xf8E8M0FNU, #swizzled>, %ly: tensor<2x48x48xf32>):
    // expected-error @below {{'blockscale.scaled_grouped_mm' op has no kernel on sm_100a (sm100_mm_c1): expected scale_b to be in the layout swizzle_128x4 of each group, but got #blockscale.layout<swizzle_128x4>; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_grouped_mm %la, %la offsets(%le) scales(%ls, %lt) block [1, 32]
        : tensor<48x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>, tensor<2xi32>, tensor<48x2xf8E8M0FNU, #columns>, tensor<48x2xf8E8M0FNU, #swizzled> -> tensor<2x48x48xf32>
    blockscale.yield %0 : tensor<2x48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Tensor cores have block-scaled products of floating-point formats alone; one
// operand of MXINT8 is enough to have none.
func.func @sm100_mm_c5(%a: memref<64x64xi8>, %b: memref<64x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<64x64xi8>, memref<64x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<64x64xf32>) {
  ^bb0(%la: tensor<64x64xi8>, %lb: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c5): expected data of floating-point formats, which alone tensor cores multiply under block scales, but got 'i8' and 'f8E4M3FN'; quantize to one of these, or run the product on the CPU}}
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, %ls) block [1, 32]
        : tensor<64x64xi8>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    blockscale.yield %0 : tensor<64x64xf32>
  }
  return
}
