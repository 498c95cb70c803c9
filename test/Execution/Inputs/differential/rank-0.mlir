// seed 1, module 0
// A result of rank 0, in which a planted fault has no dimension to count along.
func.func @amax(%x: tensor<4x32xf32>) -> tensor<f32> {
  %a = blockscale.amax %x : tensor<4x32xf32> -> tensor<f32>
  return %a : tensor<f32>
}
