#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#cols = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

func.func @scaled_mm(%a: tensor<48x64xf4E2M1FN>, %b: tensor<40x64xf4E2M1FN>,
    %sa: tensor<48x4xf8E4M3FN, #swizzled>, %sb: tensor<40x4xf8E4M3FN>,
    %g: tensor<f32>, %h: f32, %bias: tensor<40xbf16>) {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>,
        tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<f32>) global_scale_b(%h : f32) bias(%bias : tensor<40xbf16>)
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>,
        tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN> -> tensor<48x40xbf16>
  return
}

// Batched, with two data types of one scale type.
func.func @scaled_mm_mixed(%a: tensor<2x?x64xf8E5M2>, %b: tensor<2x?x64xf4E2M1FN>,
    %sa: tensor<2x?x2xf8E8M0FNU>, %sb: tensor<2x?x2xf8E8M0FNU>) {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<2x?x64xf8E5M2>, tensor<2x?x64xf4E2M1FN>,
        tensor<2x?x2xf8E8M0FNU>, tensor<2x?x2xf8E8M0FNU> -> tensor<2x?x?xf16>
  return
}

// 2d-3d: groups of rows; every expert has its own global scale.
func.func @grouped_rows(%a: tensor<96x64xf4E2M1FN>, %b: tensor<3x48x64xf4E2M1FN>,
    %ends: tensor<3xi32>, %sa: tensor<96x4xf8E4M3FN, #rows>,
    %sb: tensor<3x48x4xf8E4M3FN, #swizzled>, %g: tensor<3xf32>) {
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<3xf32>)
      : tensor<96x64xf4E2M1FN>, tensor<3x48x64xf4E2M1FN>, tensor<3xi32>,
        tensor<96x4xf8E4M3FN, #rows>, tensor<3x48x4xf8E4M3FN, #swizzled> -> tensor<96x48xbf16>
  return
}

// 2d-2d: groups of K.
func.func @grouped_columns(%a: tensor<16x96xf8E4M3FN>, %b: tensor<24x96xf8E4M3FN>,
    %ends: tensor<3xi32>, %sa: tensor<16x3xf8E8M0FNU, #cols>, %sb: tensor<24x3xf8E8M0FNU, #cols>) {
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<16x96xf8E4M3FN>, tensor<24x96xf8E4M3FN>, tensor<3xi32>,
        tensor<16x3xf8E8M0FNU, #cols>, tensor<24x3xf8E8M0FNU, #cols> -> tensor<3x16x24xf32>
  return
}
