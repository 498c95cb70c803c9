#id = affine_map<(i, j) -> (i, j)>

func.func @f(%x: tensor<16x64xbf16>, %y: tensor<16x64xbf16>) -> tensor<16x64xbf16> {
  %e = tensor.empty() : tensor<16x64xbf16>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<16x64xbf16>, tensor<16x64xbf16>) outs(%e : tensor<16x64xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %t = math.tanh %a : bf16
    %l = math.log %b : bf16
    %s = math.fma %t, %l, %a : bf16
    %r = math.roundeven %s : bf16
    %is_less = arith.cmpf olt, %a, %b : bf16
    %m = arith.select %is_less, %r, %b : bf16
    linalg.yield %m : bf16
  } -> tensor<16x64xbf16>
  return %0 : tensor<16x64xbf16>
}
