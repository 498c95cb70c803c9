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

func.func @sm100_mm_c2(%a: memref<48x24xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x24xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x48xf4E2M1FN>, %ls: tensor<48x3xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c2): expected K to be a multiple of 32, but got 48; pad K with zeros, in data and scales}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<48x48xf4E2M1FN>, tensor<48x48xf4E2M1FN>, tensor<48x3xf8E4M3FN, #swizzled>, tensor<48x3xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
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
func.func @stages(%a: memref<48x32xi8>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  blockscale.kernel ins(%a, %s : memref<48x32xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #swizzled>, %ly: tensor<48x48xf32>):
    // expected-error @below {{expected a schedule of at most 4 stages, which shared memory holds, but got 5}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 5, band = 8, ctas = 148>}
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}

// -----

// Rows of data with gaps.
func.func @strides(%a: memref<48x32xi8, strided<[40, 1]>>, %s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<48x48xf32>) {
  // expected-error @below {{expected operand 0 to be a memref without gaps on this target, but got 'memref<48x32xi8, strided<[40, 1]>>'}}
  blockscale.kernel ins(%a, %s : memref<48x32xi8, strided<[40, 1]>>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %ly: tensor<48x48xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<48x48xf32>
    blockscale.yield %0 : tensor<48x48xf32>
  }
  return
}
