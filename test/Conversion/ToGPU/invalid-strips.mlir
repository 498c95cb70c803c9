// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a -split-input-file -verify-diagnostics

// Blocks of 32 rows do not fit in 16.
func.func @not_whole(%x: memref<256x128xbf16>, %q: memref<256x128xf8E4M3FN>, %s: memref<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected blockscale.strip to be one of array<i64: 32, 128>, array<i64: 64, 64>, array<i64: 128, 32>, but got array<i64: 16, 256>}}
  blockscale.kernel ins(%x : memref<256x128xbf16>) outs(%q, %s : memref<256x128xf8E4M3FN>, memref<8x4xf8E8M0FNU>) attributes {blockscale.strip = array<i64: 16, 256>} {
  ^bb0(%lx: tensor<256x128xbf16>, %lq: tensor<256x128xf8E4M3FN>, %ls: tensor<8x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 32] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
  }
  return
}

// -----

func.func @not_a_tile(%x: memref<256x128xbf16>, %q: memref<256x128xf8E4M3FN>, %s: memref<8x4xf8E8M0FNU>) {
  // expected-error @below {{expected blockscale.strip to be one of array<i64: 32, 128>, array<i64: 64, 64>, array<i64: 128, 32>, but got "64x64"}}
  blockscale.kernel ins(%x : memref<256x128xbf16>) outs(%q, %s : memref<256x128xf8E4M3FN>, memref<8x4xf8E8M0FNU>) attributes {blockscale.strip = "64x64"} {
  ^bb0(%lx: tensor<256x128xbf16>, %lq: tensor<256x128xf8E4M3FN>, %ls: tensor<8x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 32] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
  }
  return
}

// -----

// A kernel of rows.
func.func @no_strips(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  // expected-error @below {{expected blockscale.strip on kernels for blocks of several rows, or of several results of one x, only}}
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) attributes {blockscale.strip = array<i64: 64, 64>} {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}
