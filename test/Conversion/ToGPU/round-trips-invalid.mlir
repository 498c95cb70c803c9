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
