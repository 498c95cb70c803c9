// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_100a --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>

// Pipelines swizzle linear scales; a kernel does not.
func.func @sm100_plain_mm_c1(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<40x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<40x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_plain_mm_c1): expected scale_b to be in the layout swizzle_128x4, but got linear scales; bring them there by blockscale.swizzle first}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Sizes are i32 in the kernel.
func.func @sm100_plain_mm_c3(%a: memref<2147483648x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2147483648x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<2147483648x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2147483648x40xf32>) {
  ^bb0(%la: tensor<2147483648x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<2147483648x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_plain_mm_c3): expected M to be below 2^31, but got 2147483648; divide the product}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        : tensor<2147483648x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<2147483648x40xf32>
    blockscale.yield %0 : tensor<2147483648x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// The operand with scales has the 128 lanes of tensor memory.
func.func @sm100_plain_mm_c4(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_plain_mm_c4): expected a schedule with tiles of 16 x 128, 32 x 128, 64 x 128, 128 x 128, 256 x 128, but got 64 x 256}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 256, stages = 1, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Shared memory holds a few stages.
func.func @sm100_plain_mm_c4_stages(%a: memref<48x64xbf16>, %b: memref<40x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<48x64xbf16>, memref<40x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xbf16>, %lb: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN, #swizzled>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_plain_mm_c4): expected a schedule of 1 to 5 stages, which shared memory holds, but got 9}}
    %0 = blockscale.scaled_mm %la, %lb scales(none, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 9, band = 1, ctas = 1>}
        : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Blocks across K are decoded before the product; a kernel does not.
func.func @sm100_plain_mm_c5_mn_major(%x: memref<48x64xbf16>, %w: memref<64x24xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%x, %w, %s : memref<48x64xbf16>, memref<64x24xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %lw: tensor<64x48xf4E2M1FN>, %ls: tensor<64x3xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_plain_mm_c5): expected a K-major operand with scales, which alone is decoded as it is multiplied, but got mn_major_b; blockscale-decode-product-operands decodes it before}}
    %0 = blockscale.scaled_mm %lx, %lw mn_major_b scales(none, %ls) block [1, 16]
        : tensor<48x64xbf16>, tensor<64x48xf4E2M1FN>, tensor<64x3xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}
