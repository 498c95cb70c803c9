#rows = #blockscale.layout<swizzle_128x4, groups = 4, dim = 0>
#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

func.func @moe(%x: tensor<?x128xbf16>, %ends: tensor<4xi32>,
    %gate: tensor<4x160x128xf4E2M1FN>, %gate_scale: tensor<4x160x8xf8E4M3FN, #swizzled>,
    %up: tensor<4x160x128xf4E2M1FN>, %up_scale: tensor<4x160x8xf8E4M3FN, #swizzled>,
    %down: tensor<4x128x160xf4E2M1FN>, %down_scale: tensor<4x128x10xf8E4M3FN, #swizzled>)
    -> tensor<?x128xbf16> {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao offsets(%ends : tensor<4xi32>) group_dim 0
      : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN, #rows>
  %g = blockscale.scaled_grouped_mm %q, %gate offsets(%ends) scales(%s, %gate_scale) block [1, 16]
      : tensor<?x128xf4E2M1FN>, tensor<4x160x128xf4E2M1FN>, tensor<4xi32>, tensor<?x8xf8E4M3FN, #rows>,
        tensor<4x160x8xf8E4M3FN, #swizzled> -> tensor<?x160xbf16>
  %u = blockscale.scaled_grouped_mm %q, %up offsets(%ends) scales(%s, %up_scale) block [1, 16]
      : tensor<?x128xf4E2M1FN>, tensor<4x160x128xf4E2M1FN>, tensor<4xi32>, tensor<?x8xf8E4M3FN, #rows>,
        tensor<4x160x8xf8E4M3FN, #swizzled> -> tensor<?x160xbf16>
  %rows = tensor.dim %g, %c0 : tensor<?x160xbf16>
  %e = tensor.empty(%rows) : tensor<?x160xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : tensor<?x160xbf16>, tensor<?x160xbf16>) outs(%e : tensor<?x160xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %wide = arith.extf %a : bf16 to f32
    %minus = arith.negf %wide : f32
    %exp = math.exp %minus : f32
    %sum = arith.addf %exp, %one : f32
    %silu = arith.divf %wide, %sum : f32
    %other = arith.extf %b : bf16 to f32
    %product = arith.mulf %silu, %other : f32
    %rounded = arith.truncf %product : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<?x160xbf16>
  %p, %t = blockscale.quantize %h block [1, 16] recipe torchao offsets(%ends : tensor<4xi32>) group_dim 0
      : tensor<?x160xbf16> -> tensor<?x160xf4E2M1FN>, tensor<?x10xf8E4M3FN, #rows>
  %y = blockscale.scaled_grouped_mm %p, %down offsets(%ends) scales(%t, %down_scale) block [1, 16]
      : tensor<?x160xf4E2M1FN>, tensor<4x128x160xf4E2M1FN>, tensor<4xi32>, tensor<?x10xf8E4M3FN, #rows>,
        tensor<4x128x10xf8E4M3FN, #swizzled> -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
