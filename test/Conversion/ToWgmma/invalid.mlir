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

// Tiles of 32 columns keep a chain.
func.func @sm90_mm_c4_free(%a: memref<8x64xbf16>, %b: memref<1x1x2048xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<8x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<8x64xbf16>, memref<1x1x2048xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<8x40xf32>) {
  ^bb0(%la: tensor<8x64xbf16>, %lb: tensor<40x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<8x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 64 or 128 columns, those of the operand with scales, but got 32}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 8, band = 1, ctas = 1>}
        : tensor<8x64xbf16>, tensor<40x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<8x40xf32>
    blockscale.yield %0 : tensor<8x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// They have prepacked codes.
func.func @sm90_mm_c4_row_major(%a: memref<8x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<8x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<8x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<8x40xf32>) {
  ^bb0(%la: tensor<8x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<8x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 64 or 128 columns, those of the operand with scales, but got 32}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16] order chain
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 32, stages = 8, band = 1, ctas = 1>}
        : tensor<8x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<8x40xf32>
    blockscale.yield %0 : tensor<8x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Beside eight rows, and no others, they can have 32 columns.
func.func @sm90_mm_c4_columns(%a: memref<8x64xbf16>, %b: memref<1x1x2048xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<8x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<8x64xbf16>, memref<1x1x2048xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<8x40xf32>) {
  ^bb0(%la: tensor<8x64xbf16>, %lb: tensor<40x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<8x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 32, 64 or 128 columns, those of the operand with scales, but got 16}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16] order chain
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 16, stages = 8, band = 1, ctas = 1>}
        : tensor<8x64xbf16>, tensor<40x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<8x40xf32>
    blockscale.yield %0 : tensor<8x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// wgmma takes 64 rows from the registers of each of two warpgroups.
func.func @sm90_mm_c4(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 64 or 128 columns, those of the operand with scales, but got 256}}
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
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of a power of two from 8 to 256 rows, those of the plain operand, but got 48}}
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

// CTAs whose threads decode share no rows.
func.func @sm90_mm_c4_multicast(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule without multicast, but got 2}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 2, band = 1, ctas = 2, multicast = 2>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

// CTAs share rows of A or a tile, not both.
func.func @sm90_mm_c4_shared_parts(%a: memref<512x512xbf16>, %b: memref<256x512xbf16>, %y: memref<512x256xf32>) {
  blockscale.kernel ins(%a, %b : memref<512x512xbf16>, memref<256x512xbf16>) outs(%y : memref<512x256xf32>) {
  ^bb0(%la: tensor<512x512xbf16>, %lb: tensor<256x512xbf16>, %ly: tensor<512x256xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule without multicast, but got 2}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 2, band = 1, ctas = 4, multicast = 2, splits = 2>}
        : tensor<512x512xbf16>, tensor<256x512xbf16> -> tensor<512x256xf32>
    blockscale.yield %0 : tensor<512x256xf32>
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

// Five stages fit into shared memory.
func.func @most_stages(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 5, band = 1, ctas = 1>}
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

// Row-major data with blocks across K are decoded before the product; a kernel does not.
func.func @sm90_mm_c5_mn_major(%x: memref<48x64xbf16>, %w: memref<64x24xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%x, %w, %s : memref<48x64xbf16>, memref<64x24xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %lw: tensor<64x48xf4E2M1FN>, %ls: tensor<64x3xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c5): expected a K-major operand with scales, or a prepacked b whose global scale multiplies sums, which alone is decoded as it is multiplied, but got mn_major_b; blockscale-decode-product-operands decodes it before}}
    %0 = blockscale.scaled_mm %lx, %lw mn_major_b scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<64x48xf4E2M1FN>, tensor<64x3xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Each team of a cluster adds the sums of a plain row at least: two teams have eight rows in four parts.
func.func @sm90_mm_c4_few_splits(%a: memref<8x1024xbf16>, %b: memref<64x512xi8>, %s: memref<1x16x32x4x4xf8E4M3FN>, %y: memref<8x64xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<8x1024xbf16>, memref<64x512xi8>, memref<1x16x32x4x4xf8E4M3FN>) outs(%y : memref<8x64xf32>) {
  ^bb0(%la: tensor<8x1024xbf16>, %lb: tensor<64x1024xf4E2M1FN>, %ls: tensor<64x64xf8E4M3FN, #swizzled>, %ly: tensor<8x64xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with K in a power of two of parts, of at most 4, the CTAs of a cluster, but got 8}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 64, stages = 4, band = 8, ctas = 132, splits = 8>}
        : tensor<8x1024xbf16>, tensor<64x1024xf4E2M1FN>, tensor<64x64xf8E4M3FN, #swizzled> -> tensor<8x64xf32>
    blockscale.yield %0 : tensor<8x64xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A cluster has at most eight CTAs, and their rows of results are equally many.
func.func @sm90_mm_c4_splits(%a: memref<48x64xbf16>, %b: memref<40x64xi8>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x64xi8>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf6E2M3FN>, %ls: tensor<40x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with K in a power of two of parts, of at most 8, the CTAs of a cluster, but got 3}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 4, band = 8, ctas = 132, splits = 3>}
        : tensor<48x64xbf16>, tensor<40x64xf6E2M3FN>, tensor<40x2xf8E8M0FNU, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Two teams of warpgroups have every second stage each, so that a slot of the ring is always
// that of one of them.
func.func @sm90_mm_c4_teams(%a: memref<48x64xbf16>, %b: memref<40x64xi8>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x64xi8>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf6E2M3FN>, %ls: tensor<40x2xf8E8M0FNU, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with a multiple of 2 stages, which so many teams of warpgroups share, but got 5}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 64, stages = 5, band = 8, ctas = 132>}
        : tensor<48x64xbf16>, tensor<40x64xf6E2M3FN>, tensor<40x2xf8E8M0FNU, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#packed = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>

// Blocks in memory do not tell how many of their rows are in the matrix.
func.func @sm90_mm_c7(%a: memref<48x64xbf16>, %b: memref<?x1x2048xi8>, %s: memref<?x1x32x4x4xf8E4M3FN>, %y: memref<48x?xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<?x1x2048xi8>, memref<?x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x?xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<?x64xf4E2M1FN, #packed>, %ls: tensor<?x4xf8E4M3FN, #swizzled>, %ly: tensor<48x?xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c7): expected prepacked data of known rows and K, which its blocks do not tell, but got 'tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>'; unpack it (blockscale.prepack)}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<?x64xf4E2M1FN, #packed>, tensor<?x4xf8E4M3FN, #swizzled> -> tensor<48x?xf32>
    blockscale.yield %0 : tensor<48x?xf32>
  }
  return
}

// -----

// Without scales messages name no operand with scales.
func.func @sm90_mm_c4_plain_columns(%a: memref<48x64xbf16>, %b: memref<48x64xbf16>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b : memref<48x64xbf16>, memref<48x64xbf16>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xbf16>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 64 or 128 columns, or 256 of 64 or 128 rows, but got 96}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 96, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

func.func @sm90_mm_c4_plain_rows(%a: memref<48x64xbf16>, %b: memref<48x64xbf16>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b : memref<48x64xbf16>, memref<48x64xbf16>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xbf16>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of a power of two from 16 to 256 rows, but got 48}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 48, cols = 128, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

// A tile of 256 x 128 has 49,152 bytes in each stage, of which four fit beside sums.
func.func @sm90_mm_c4_plain_stages(%a: memref<48x64xbf16>, %b: memref<48x64xbf16>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b : memref<48x64xbf16>, memref<48x64xbf16>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xbf16>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule of 2 to 4 stages, which shared memory holds, but got 5}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 5, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

// A step of an MN-major operand has 64 rows.
func.func @sm90_mm_c4_mn_major_rows(%a: memref<64x48xbf16>, %b: memref<48x64xbf16>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b : memref<64x48xbf16>, memref<48x64xbf16>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<64x48xbf16>, %lb: tensor<48x64xbf16>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of a power of two from 64 to 256 rows, but got 32}}
    %0 = blockscale.scaled_mm %la, %lb mn_major_a scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 32, cols = 128, stages = 3, band = 1, ctas = 1>}
        : tensor<64x48xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

// With more columns than B has rows as the first operand, that is A.
func.func @sm90_mm_c4_plain_first(%a: memref<48x64xbf16>, %b: memref<48x64xbf16>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b : memref<48x64xbf16>, memref<48x64xbf16>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xbf16>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c4): expected a schedule with tiles of 64 or 128 rows, but got 256}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xbf16> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}
