func.func @transpose(%x: tensor<?x8xf32>) -> tensor<8x?xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%m) : tensor<8x?xf32>
  %y = linalg.transpose ins(%x : tensor<?x8xf32>) outs(%e : tensor<8x?xf32>) permutation = [1, 0]
  return %y : tensor<8x?xf32>
}
