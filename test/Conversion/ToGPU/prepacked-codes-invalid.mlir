// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --split-input-file --verify-diagnostics

// What a kernel cannot store prepacked.
func.func @random(%x: memref<64x64xbf16>, %r: memref<2xi64>, %p: memref<1x1x2048xi8>, %s: memref<64x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %r : memref<64x64xbf16>, memref<2xi64>) outs(%p, %s : memref<1x1x2048xi8>, memref<64x4xf8E4M3FN>) family rows {
  ^bb0(%lx: tensor<64x64xbf16>, %lr: tensor<2xi64>, %lp: tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %ls: tensor<64x4xf8E4M3FN>):
    %q, %0 = blockscale.quantize %lx block [1, 16] rng(%lr : tensor<2xi64>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
    // expected-error @below {{'blockscale.prepack' op does not share its kernel (prepacked_codes_c4): expected a global value for the tensor or each matrix, and nothing else for blocks, but got rng}}
    %1 = blockscale.prepack %q : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
    blockscale.yield %1, %0 : tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>
  }
  return
}

// -----

// Elementwise ops that make x are in no such kernel.
#map = affine_map<(i, j) -> (i, j)>
func.func @made(%x: memref<64x64xf32>, %p: memref<1x1x2048xi8>, %s: memref<64x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<64x64xf32>) outs(%p, %s : memref<1x1x2048xi8>, memref<64x4xf8E4M3FN>) family rows {
  ^bb0(%lx: tensor<64x64xf32>, %lp: tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %ls: tensor<64x4xf8E4M3FN>):
    %m = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%lx : tensor<64x64xf32>) outs(%lx : tensor<64x64xf32>) {
    ^bb0(%i: f32, %o: f32):
      %n = arith.mulf %i, %i : f32
      linalg.yield %n : f32
    } -> tensor<64x64xf32>
    %q, %0 = blockscale.quantize %m block [1, 16] : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
    // expected-error @below {{'blockscale.prepack' op does not share its kernel (prepacked_codes_c3): expected a kernel that only quantizes, but got one with 'linalg.generic'}}
    %1 = blockscale.prepack %q : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
    blockscale.yield %1, %0 : tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>
  }
  return
}
