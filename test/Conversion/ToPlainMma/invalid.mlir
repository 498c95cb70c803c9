// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines swizzle linear scales; a kernel does not.
func.func @mma_mm_c1(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<48x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<48x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c1): expected scale_b to be in the layout swizzle_128x4, but got linear scales; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Nothing is made of a tile with fewer rows with scales than a warp has.
func.func @mma_mm_c4_scaled(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule with tiles of 64, 128 or 256 columns, those of the operand with scales, by 16, 32, 64 or 128 of the plain one that such a tile can have, but got 16 x 16}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 16, stages = 4, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Threads have no registers for the sums of more plain rows.
func.func @mma_mm_c4_plain(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule with tiles of 64, 128 or 256 columns, those of the operand with scales, by 16, 32, 64 or 128 of the plain one that such a tile can have, but got 256 x 128}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A tile of few rows with scales has few plain ones.
func.func @mma_mm_c4_narrow(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule with tiles of 64, 128 or 256 columns, those of the operand with scales, by 16, 32, 64 or 128 of the plain one that such a tile can have, but got 128 x 64}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 64, stages = 3, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A stage arrives while one is there and another one is multiplied.
func.func @mma_mm_c4_least(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule of 3 to 7 stages, which shared memory holds, but got 2}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 2, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Shared memory holds so many.
func.func @mma_mm_c4_most(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule of 3 to 6 stages, which shared memory holds, but got 7}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 7, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Six stages fit into shared memory.
func.func @most_stages(%a: memref<48x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 6, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines decode one of two operands with scales before; a kernel does not.
func.func @mma_mm_c5(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c5): expected one operand with scales and a plain one, which alone mma.sync multiplies, but got 'f4E2M1FN' and 'f4E2M1FN' with scales; dequantize one of them (blockscale.dequantize)}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Blocks across K are decoded before the product; a kernel does not.
func.func @mma_mm_c5_mn_major(%x: memref<48x64xbf16>, %w: memref<64x24xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%x, %w, %s : memref<48x64xbf16>, memref<64x24xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %lw: tensor<64x48xf4E2M1FN>, %ls: tensor<64x3xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c5): expected a K-major operand with scales, which alone is decoded as it is multiplied, but got mn_major_b; blockscale-decode-product-operands decodes it before}}
    %0 = blockscale.scaled_mm %lx, %lw mn_major_b scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<64x48xf4E2M1FN>, tensor<64x3xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Coordinates are numbers of 32 bits.
func.func @mma_mm_c3(%a: memref<2147483648x64xbf16>, %b: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2147483648x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<2147483648x64xbf16>, memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2147483648x48xf32>) {
  ^bb0(%la: tensor<2147483648x64xbf16>, %lb: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<2147483648x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c3): expected M to be below 2^31, but got 2147483648; divide the product}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<2147483648x64xbf16>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<2147483648x48xf32>
    blockscale.yield %0 : tensor<2147483648x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// No two CTAs share what they load.
func.func @mma_mm_c4_multicast(%a: memref<48x32xi8>, %b: memref<48x64xbf16>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x32xi8>, memref<48x64xbf16>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lb: tensor<48x64xbf16>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule without multicast, but got 2}}
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, none) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 64, stages = 3, band = 1, ctas = 2, multicast = 2>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xbf16>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Sums of parts of K go to memory, where nothing that follows the product is computed.
func.func @mma_mm_c4_splits(%a: memref<48x64xbf16>, %b: memref<1x48x32xi8>, %ends: memref<1xi32>, %s: memref<1x1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %s : memref<48x64xbf16>, memref<1x48x32xi8>, memref<1xi32>, memref<1x1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<1x48x64xf4E2M1FN>, %lends: tensor<1xi32>, %ls: tensor<1x48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_grouped_mm' op has no kernel on sm_80 (mma_mm_c4): expected a schedule of groups, or with ops that follow, to have K in one part, but got 2}}
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%lends) scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 1, ctas = 2, splits = 2>}
        : tensor<48x64xbf16>, tensor<1x48x64xf4E2M1FN>, tensor<1xi32>, tensor<1x48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}
