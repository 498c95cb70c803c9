// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines swizzle linear scales; a kernel does not.
func.func @sm90_mm_c1(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<40x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<40x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c1): expected scale_b to be in the layout swizzle_128x4, but got linear scales; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Rows of 24 bytes are none that copies can read.
func.func @sm90_mm_c2(%a: memref<48x48xbf16>, %b: memref<40x24xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x48xbf16>, memref<40x24xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x48xbf16>, %lb: tensor<40x48xf4E2M1FN>, %ls: tensor<40x3xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c2): expected K to be a multiple of 32, but got 48; pad K with zeros, in data and scales}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<48x48xbf16>, tensor<40x48xf4E2M1FN>, tensor<40x3xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Sizes are i32 in the kernel.
func.func @sm90_mm_c3(%a: memref<2147483648x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2147483648x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<2147483648x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2147483648x40xf32>) {
  ^bb0(%la: tensor<2147483648x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<2147483648x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c3): expected M to be below 2^31, but got 2147483648; divide the product}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<2147483648x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<2147483648x40xf32>
    blockscale.yield %0 : tensor<2147483648x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// wgmma takes 64 rows from the registers of each of two warpgroups.
func.func @sm90_mm_c4(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 128 columns, those of the operand with scales, but got 256}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 256, stages = 1, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Sums go through shared memory in parts that are alike.
func.func @sm90_mm_c4_plain(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of a power of two from 16 to 256 rows, those of the plain operand, but got 48}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 48, cols = 128, stages = 1, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A fragment of results has 32 columns, which are of the plain operand where A is the
// one with scales.
func.func @sm90_mm_c4_scaled_a(%a: memref<48x32xi8>, %b: memref<40x64xbf16>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x32xi8>, memref<40x64xbf16>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lb: tensor<40x64xbf16>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of a power of two from 32 to 256 columns, those of the plain operand, but got 16}}
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 16, stages = 1, band = 1, ctas = 1>}
        : tensor<48x64xf4E2M1FN>, tensor<40x64xbf16>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// CTAs are in no clusters here.
func.func @sm90_mm_c4_multicast(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule without multicast, but got 2}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 1, band = 1, ctas = 1, multicast = 2>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A schedule of one's own has to fit.
func.func @sm90_mm_c4_stages(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule of 2 to 5 stages, which shared memory holds, but got 6}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 6, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines make A plain before (blockscale.dequantize); a kernel does not.
func.func @sm90_mm_c5(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c5): expected one operand with scales and a plain one, which alone wgmma multiplies, but got 'f4E2M1FN' and 'f4E2M1FN' with scales; dequantize one of them (blockscale.dequantize)}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Parts of K of a group would be parts of nothing the host knows.
func.func @sm90_mm_c4_groups(%a: memref<48x64xbf16>, %b: memref<2x40x64xf8E4M3FN>, %ends: memref<2xi32>, %s: memref<2x1x1x32x4x4xf8E8M0FNU>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %s : memref<48x64xbf16>, memref<2x40x64xf8E4M3FN>, memref<2xi32>, memref<2x1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<2x40x64xf8E4M3FN>, %le: tensor<2xi32>, %ls: tensor<2x40x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_grouped_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule of groups, or with ops that follow, to have K in one part, but got 2}}
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%le) scales(none, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 4, band = 8, ctas = 132, splits = 2>}
        : tensor<48x64xbf16>, tensor<2x40x64xf8E4M3FN>, tensor<2xi32>, tensor<2x40x2xf8E8M0FNU, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}
