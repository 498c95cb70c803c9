// seed 20261138, module 165
func.func private @f0(%v0: tensor<3x257x288xf8E4M3FN>, %v1: tensor<3x8x288xf4E2M1FN>, %v2: tensor<3x257x9xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, %v3: tensor<3x8x9xf8E8M0FNU>, %v4: tensor<8xf32>) -> (tensor<3x257x8xf32>) {
  %v5 = blockscale.scaled_mm %v0, %v1 scales(%v2, %v3) block [1, 32] bias(%v4 : tensor<8xf32>) unchecked_origins : tensor<3x257x288xf8E4M3FN>, tensor<3x8x288xf4E2M1FN>, tensor<3x257x9xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, tensor<3x8x9xf8E8M0FNU> -> tensor<3x257x8xf32>
  return %v5 : tensor<3x257x8xf32>
}
func.func @f1(%v0: tensor<3x257x288xf8E4M3FN>, %v1: tensor<3x8x288xf4E2M1FN>, %v3: tensor<3x8x9xf8E8M0FNU>, %v4: tensor<8xf32>) -> (tensor<3x257x9xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, tensor<3x257x8xf32>) {
  %v2 = arith.constant dense<1.0> : tensor<3x257x9xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
  %v5 = func.call @f0(%v0, %v1, %v2, %v3, %v4) : (tensor<3x257x288xf8E4M3FN>, tensor<3x8x288xf4E2M1FN>, tensor<3x257x9xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, tensor<3x8x9xf8E8M0FNU>, tensor<8xf32>) -> (tensor<3x257x8xf32>)
  return %v2, %v5 : tensor<3x257x9xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, tensor<3x257x8xf32>
}
