func.func @quantize(%x: tensor<64x128xbf16>)
    -> (tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) {
  %data, %scales = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return %data, %scales : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
}
