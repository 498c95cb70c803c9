// A small model in bf16, as an importer writes it: two layers of 256 and 512 features, and
// a head of 12 classes. The attribute `blockscale.weight` says that an argument holds the
// same numbers in each call. A constant is a weight without the attribute.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

func.func @mlp(%x: tensor<64x256xbf16>, %up: tensor<512x256xbf16> {blockscale.weight},
               %down: tensor<256x512xbf16> {blockscale.weight}, %head: tensor<12x256xbf16> {blockscale.weight})
    -> tensor<64x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<64x512xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %0 = linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %up : tensor<64x256xbf16>, tensor<512x256xbf16>)
      outs(%z0 : tensor<64x512xf32>) -> tensor<64x512xf32> loc("layer.0.up")
  %1 = arith.maximumf %0, %z0 : tensor<64x512xf32>
  %2 = arith.truncf %1 : tensor<64x512xf32> to tensor<64x512xbf16>
  %e1 = tensor.empty() : tensor<64x256xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x256xf32>) -> tensor<64x256xf32>
  %3 = linalg.matmul indexing_maps = [#x, #w, #y] ins(%2, %down : tensor<64x512xbf16>, tensor<256x512xbf16>)
      outs(%z1 : tensor<64x256xf32>) -> tensor<64x256xf32> loc("layer.0.down")
  %4 = arith.truncf %3 : tensor<64x256xf32> to tensor<64x256xbf16>
  %e2 = tensor.empty() : tensor<64x12xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64x12xf32>) -> tensor<64x12xf32>
  %5 = linalg.matmul indexing_maps = [#x, #w, #y] ins(%4, %head : tensor<64x256xbf16>, tensor<12x256xbf16>)
      outs(%z2 : tensor<64x12xf32>) -> tensor<64x12xf32> loc("head")
  return %5 : tensor<64x12xf32>
}
