// A layer of TOSA in MXFP8: y = max(x W^T + b, 0). The last dimension of x and W is divided into
// blocks of 32 that share a scale. W is the same for all matrices of x.
func.func @layer(%x: tensor<2x?x64xf32>, %w: tensor<1x48x64xf8E4M3FN>,
                 %ws: tensor<1x48x2xf8E8M0FNU>, %b: tensor<1x1x48xf32>) -> tensor<2x?x48xf32> {
  %q, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32}
      : (tensor<2x?x64xf32>) -> (tensor<2x?x64xf8E4M3FN>, tensor<2x?x2xf8E8M0FNU>)
  %p = tosa.matmul_t_block_scaled %q, %s, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<2x?x64xf8E4M3FN>, tensor<2x?x2xf8E8M0FNU>, tensor<1x48x64xf8E4M3FN>, tensor<1x48x2xf8E8M0FNU>)
      -> tensor<2x?x48xf32>
  %t = tosa.add %p, %b : (tensor<2x?x48xf32>, tensor<1x1x48xf32>) -> tensor<2x?x48xf32>
  %y = tosa.clamp %t {min_val = 0.0 : f32, max_val = 3.4e+38 : f32} : (tensor<2x?x48xf32>) -> tensor<2x?x48xf32>
  return %y : tensor<2x?x48xf32>
}
