func.func @quantize(%x: tensor<?x64xbf16>)
    -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %data, %scales = blockscale.quantize %x block [1, 16]
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %data, %scales : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
}
