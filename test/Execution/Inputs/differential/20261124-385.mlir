// seed 20261124, module 385
func.func @f0(%v0: tensor<127x48xbf16>, %v2: tensor<3x?x64xf4E2M1FN>, %v3: tensor<3x100x64xf4E2M1FN>, %v4: tensor<3x?x4xf8E4M3FN>, %v5: tensor<3x100x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %v6: tensor<100xf32>, %v8: tensor<1x0x100x257xf6E3M2FN>) -> (tensor<3x?x100xf32>, tensor<1x0x100x257xf6E3M2FN, #blockscale.data_layout<fragments_64x64>>) {
  %v1 = blockscale.amax %v0 : tensor<127x48xbf16> -> tensor<f32>
  %v7 = blockscale.scaled_mm %v2, %v3 scales(%v4, %v5) block [1, 16] bias(%v6 : tensor<100xf32>) unchecked_origins : tensor<3x?x64xf4E2M1FN>, tensor<3x100x64xf4E2M1FN>, tensor<3x?x4xf8E4M3FN>, tensor<3x100x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<3x?x100xf32>
  %v9 = blockscale.prepack %v8 : tensor<1x0x100x257xf6E3M2FN> -> tensor<1x0x100x257xf6E3M2FN, #blockscale.data_layout<fragments_64x64>>
  return %v7, %v9 : tensor<3x?x100xf32>, tensor<1x0x100x257xf6E3M2FN, #blockscale.data_layout<fragments_64x64>>
}
func.func @f1(%v0: tensor<127x48xbf16>, %v1: tensor<3x?x64xf4E2M1FN>, %v2: tensor<3x100x64xf4E2M1FN>, %v3: tensor<3x?x4xf8E4M3FN>, %v4: tensor<3x100x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %v5: tensor<100xf32>, %v6: tensor<1x0x100x257xf6E3M2FN>, %v9: tensor<4x32xbf16>, %v12: tensor<4x32xbf16>, %v15: tensor<4x32xbf16>, %v18: tensor<4x32xbf16>, %v21: tensor<4x32xbf16>) -> (tensor<4x2xf8E4M3FN>) {
  %v7, %v8 = func.call @f0(%v0, %v1, %v2, %v3, %v4, %v5, %v6) : (tensor<127x48xbf16>, tensor<3x?x64xf4E2M1FN>, tensor<3x100x64xf4E2M1FN>, tensor<3x?x4xf8E4M3FN>, tensor<3x100x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<100xf32>, tensor<1x0x100x257xf6E3M2FN>) -> (tensor<3x?x100xf32>, tensor<1x0x100x257xf6E3M2FN, #blockscale.data_layout<fragments_64x64>>)
  %v10, %v11 = blockscale.quantize %v9 block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  %v13, %v14 = blockscale.quantize %v12 block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  %v16, %v17 = blockscale.quantize %v15 block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  %v19, %v20 = blockscale.quantize %v18 block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  %v22, %v23 = blockscale.quantize %v21 block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  return %v23 : tensor<4x2xf8E4M3FN>
}
func.func @f2(%v0: tensor<4x32xbf16>) -> (tensor<4x2xf8E4M3FN>) {
  %v1, %v2 = blockscale.quantize %v0 block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  return %v2 : tensor<4x2xf8E4M3FN>
}
