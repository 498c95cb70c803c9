// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --split-input-file --verify-diagnostics

// A kernel decodes what it quantizes without a global scale.
func.func @global_scale(%x: memref<48x64xbf16>, %g: memref<f32>, %v: memref<48x64xbf16>) {
  blockscale.kernel ins(%x, %g : memref<48x64xbf16>, memref<f32>) outs(%v : memref<48x64xbf16>) family rows {
  ^bb0(%lx: tensor<48x64xbf16>, %lg: tensor<f32>, %lv: tensor<48x64xbf16>):
    %q, %s = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<f32>)
        : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
    // expected-error @below {{'blockscale.dequantize' op does not share its kernel (round_trip_c3): expected no global operand, but got tensor<f32>}}
    %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%lg : tensor<f32>)
        : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN> -> tensor<48x64xbf16>
    blockscale.yield %0 : tensor<48x64xbf16>
  }
  return
}

// -----

// A kernel of several x is the same code for each of them, and decodes none.
func.func @several(%x: memref<64x64xbf16>, %y: memref<96x64xbf16>, %v: memref<64x64xbf16>, %q: memref<96x64xf8E4M3FN>, %s: memref<96x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %y : memref<64x64xbf16>, memref<96x64xbf16>) outs(%v, %q, %s : memref<64x64xbf16>, memref<96x64xf8E4M3FN>, memref<96x2xf8E8M0FNU>) family strips {
  ^bb0(%lx: tensor<64x64xbf16>, %ly: tensor<96x64xbf16>, %lv: tensor<64x64xbf16>, %lq: tensor<96x64xf8E4M3FN>, %ls: tensor<96x2xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
    %2, %3 = blockscale.quantize %ly block [1, 32] : tensor<96x64xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
    // expected-error @below {{'blockscale.dequantize' op does not share its kernel (round_trip_c4): expected a kernel of one x, but got one of several}}
    %4 = blockscale.dequantize %0, %1 block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
    blockscale.yield %4, %2, %3 : tensor<64x64xbf16>, tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  }
  return
}

// -----

// Of values that nothing else reads, only codes and scales need no memory.
func.func @nothing_stored(%x: memref<48x64xbf16>, %q: memref<48x64xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<48x64xbf16>) outs(%q : memref<48x64xf8E4M3FN>) family rows {
  ^bb0(%lx: tensor<48x64xbf16>, %lq: tensor<48x64xf8E4M3FN>):
    %0, %s = blockscale.quantize %lx block [1, 32] : tensor<48x64xbf16> -> tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>
    %v = blockscale.dequantize %0, %s block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xbf16>
    // expected-error @below {{'blockscale.yield' op expected the data and the scales of the quantize, each once, on this target}}
    blockscale.yield %0 : tensor<48x64xf8E4M3FN>
  }
  return
}
