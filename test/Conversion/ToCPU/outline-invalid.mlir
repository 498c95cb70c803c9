// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -split-input-file -verify-diagnostics

func.func @not_bufferized(%a: tensor<f32>, %g: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expected operand 0 to be bufferized to a memref, but got 'tensor<f32>'}}
  %0 = blockscale.kernel ins(%a : tensor<f32>) outs(%g : tensor<f32>) {
  ^bb0(%la: tensor<f32>, %lg: tensor<f32>):
    %1 = blockscale.global_scale %la : tensor<f32>
    blockscale.yield %1 : tensor<f32>
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @strided(%x: memref<4x16xbf16, strided<[64, 2]>>, %a: memref<f32>) {
  // expected-error @below {{expected operand 0 to have unit stride in the last dimension, but got 'memref<4x16xbf16, strided<[64, 2]>>'}}
  blockscale.kernel ins(%x : memref<4x16xbf16, strided<[64, 2]>>) outs(%a : memref<f32>) {
  ^bb0(%lx: tensor<4x16xbf16>, %la: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<4x16xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

// Values that are decoded for another op have no memory.
func.func @two_ops(%q: memref<4x32xf8E5M2>, %s: memref<4x1xf8E8M0FNU>, %a: memref<f32>) {
  // expected-error @below {{expected one op of the dialect in the body on the CPU, but got 2 ops}}
  blockscale.kernel ins(%q, %s : memref<4x32xf8E5M2>, memref<4x1xf8E8M0FNU>) outs(%a : memref<f32>) {
  ^bb0(%lq: tensor<4x32xf8E5M2>, %ls: tensor<4x1xf8E8M0FNU>, %la: tensor<f32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 32] : tensor<4x32xf8E5M2>, tensor<4x1xf8E8M0FNU> -> tensor<4x32xbf16>
    %1 = blockscale.amax %0 : tensor<4x32xbf16> -> tensor<f32>
    blockscale.yield %1 : tensor<f32>
  }
  return
}

// -----

func.func @no_op(%a: memref<f32>, %g: memref<f32>) {
  // expected-error @below {{expected one op of the dialect in the body on the CPU, but got 0 ops}}
  blockscale.kernel ins(%a : memref<f32>) outs(%g : memref<f32>) {
  ^bb0(%la: tensor<f32>, %lg: tensor<f32>):
    blockscale.yield %la : tensor<f32>
  }
  return
}

// -----

func.func @foreign_op(%a: memref<f32>, %g: memref<f32>) {
  // expected-error @below {{expected one op of the dialect in the body on the CPU, but got 'arith.negf'}}
  blockscale.kernel ins(%a : memref<f32>) outs(%g : memref<f32>) {
  ^bb0(%la: tensor<f32>, %lg: tensor<f32>):
    %0 = arith.negf %la : tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

func.func @other_result(%x: memref<4x16xbf16>, %q: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  // expected-error @below {{expected the body to yield each result of its op once}}
  blockscale.kernel ins(%x : memref<4x16xbf16>) outs(%q, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xbf16>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %ls : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  }
  return
}

// -----

// Products read row-major data.
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepacked(%x: memref<8x64xbf16>, %w: memref<1x1x4096xi8>, %s: memref<16x2xf8E8M0FNU>, %y: memref<8x16xbf16>) {
  blockscale.kernel ins(%x, %w, %s : memref<8x64xbf16>, memref<1x1x4096xi8>, memref<16x2xf8E8M0FNU>) outs(%y : memref<8x16xbf16>) {
  ^bb0(%lx: tensor<8x64xbf16>, %lw: tensor<16x64xf8E4M3FN, #prepacked>, %ls: tensor<16x2xf8E8M0FNU>, %ly: tensor<8x16xbf16>):
    // expected-error @below {{expected row-major data (blockscale-unpack-product-data makes it), but got 'tensor<16x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>'}}
    %0 = blockscale.scaled_mm %lx, %lw scales(none, %ls) block [1, 32]
        : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN, #prepacked>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xbf16>
    blockscale.yield %0 : tensor<8x16xbf16>
  }
  return
}

// -----

// Nor do they read codes across K.
func.func @mn_major(%x: memref<8x64xbf16>, %w: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>, %y: memref<8x32xbf16>) {
  blockscale.kernel ins(%x, %w, %s : memref<8x64xbf16>, memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>) outs(%y : memref<8x32xbf16>) {
  ^bb0(%lx: tensor<8x64xbf16>, %lw: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>, %ly: tensor<8x32xbf16>):
    // expected-error @below {{expected a K-major b (blockscale-decode-product-operands makes it plain), but got mn_major_b}}
    %0 = blockscale.scaled_mm %lx, %lw mn_major_b scales(none, %ls) block [1, 32]
        : tensor<8x64xbf16>, tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU> -> tensor<8x32xbf16>
    blockscale.yield %0 : tensor<8x32xbf16>
  }
  return
}

// -----

// Plain data, too, have rows that run along K.
func.func @mn_major_plain(%x: memref<8x64xbf16>, %w: memref<64x32xbf16>, %y: memref<8x32xbf16>) {
  blockscale.kernel ins(%x, %w : memref<8x64xbf16>, memref<64x32xbf16>) outs(%y : memref<8x32xbf16>) {
  ^bb0(%lx: tensor<8x64xbf16>, %lw: tensor<64x32xbf16>, %ly: tensor<8x32xbf16>):
    // expected-error @below {{expected a K-major b (blockscale-unpack-product-data makes it), but got mn_major_b}}
    %0 = blockscale.scaled_mm %lx, %lw mn_major_b scales(none, none) block [1, 16]
        : tensor<8x64xbf16>, tensor<64x32xbf16> -> tensor<8x32xbf16>
    blockscale.yield %0 : tensor<8x32xbf16>
  }
  return
}

// -----

// A change of layout that changes none is no kernel.
func.func @same_layout(%w: memref<16x64xf8E4M3FN>, %v: memref<16x64xf8E4M3FN>) {
  blockscale.kernel ins(%w : memref<16x64xf8E4M3FN>) outs(%v : memref<16x64xf8E4M3FN>) {
  ^bb0(%lw: tensor<16x64xf8E4M3FN>, %lv: tensor<16x64xf8E4M3FN>):
    // expected-error @below {{expected another layout than that of the source (canonicalization drops the op), but got 'tensor<16x64xf8E4M3FN>'}}
    %0 = blockscale.prepack %lw : tensor<16x64xf8E4M3FN> -> tensor<16x64xf8E4M3FN>
    blockscale.yield %0 : tensor<16x64xf8E4M3FN>
  }
  return
}

// -----

// blockscale-relayout-scales was not run.
func.func @other_tiles(%x: memref<4x64xbf16>, %q: memref<4x32xi8>, %s: memref<1x1x8x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x64xbf16>) outs(%q, %s : memref<4x32xi8>, memref<1x1x8x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x64xbf16>, %lq: tensor<4x64xf4E2M1FN>, %ls: tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>):
    // expected-error @below {{expected scales that are linear or in the layout swizzle_128x4 (blockscale-relayout-scales makes them), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>'}}
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    blockscale.yield %0, %1 : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  }
  return
}

// -----

func.func @between_tiles(%s: memref<1x1x32x4x4xf8E4M3FN>, %t: memref<1x1x8x4xf8E4M3FN>) {
  blockscale.kernel ins(%s : memref<1x1x32x4x4xf8E4M3FN>) outs(%t : memref<1x1x8x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %lt: tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>):
    // expected-error @below {{expected linear scales on one side (blockscale-relayout-scales makes them), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
    %0 = blockscale.swizzle %ls : tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    blockscale.yield %0 : tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  }
  return
}
