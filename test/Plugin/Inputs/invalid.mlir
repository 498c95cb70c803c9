// 60 columns are no multiple of a block.
func.func @quantize(%x: tensor<4x60xbf16>)
    -> (tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  %data, %scales = blockscale.quantize %x block [1, 16]
      : tensor<4x60xbf16> -> tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %data, %scales : tensor<4x60xf4E2M1FN>, tensor<4x4xf8E4M3FN>
}
