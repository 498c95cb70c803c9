#swizzled = #blockscale.layout<swizzle_128x4>
#grouped = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

func.func @amax(%x: tensor<2x64x128xbf16>) -> (tensor<f32>, tensor<2xf32>) {
  %a = blockscale.amax %x : tensor<2x64x128xbf16> -> tensor<f32>
  %b = blockscale.amax %x : tensor<2x64x128xbf16> -> tensor<2xf32>
  return %a, %b : tensor<f32>, tensor<2xf32>
}

func.func @global_scale(%a: tensor<?xf32>) -> tensor<?xf32> {
  %g = blockscale.global_scale %a : tensor<?xf32>
  %h = blockscale.global_scale %g recipe te : tensor<?xf32>
  return %h : tensor<?xf32>
}

func.func @quantize(%x: tensor<?x?xf32>, %g: tensor<f32>) {
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %2, %3 = blockscale.quantize %x block [1, 16] recipe te global_scale(%g : tensor<f32>)
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  %4, %5 = blockscale.quantize %x block [1, 16] recipe mslk global_amax(%g : tensor<f32>)
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %6, %7 = blockscale.quantize %x block [1, 32] recipe floor
      : tensor<?x?xf32> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  return
}

// A tail of 8 elements takes a scale where the recipe allows it.
func.func @tail(%x: tensor<4x40xbf16>) {
  %0, %1 = blockscale.quantize %x block [1, 16] recipe modelopt
      : tensor<4x40xbf16> -> tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN>
  %2 = blockscale.dequantize %0, %1 block [1, 16] recipe te
      : tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN> -> tensor<4x40xf32>
  return
}

// A scalar global scale, and one a batch element.
func.func @dequantize(%q: tensor<3x8x32xf4E2M1FN>, %s: tensor<3x8x2xf8E4M3FN>, %g: f32, %a: tensor<3xf32>) {
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : f32)
      : tensor<3x8x32xf4E2M1FN>, tensor<3x8x2xf8E4M3FN> -> tensor<3x8x32xbf16>
  %1 = blockscale.dequantize %q, %s block [1, 16] recipe te global_amax(%a : tensor<3xf32>)
      : tensor<3x8x32xf4E2M1FN>, tensor<3x8x2xf8E4M3FN> -> tensor<3x8x32xf16>
  return
}

func.func @swizzle(%s: tensor<?x8xf8E8M0FNU>, %n: index, %ends: tensor<3xi32>) {
  %t = blockscale.swizzle %s : tensor<?x8xf8E8M0FNU> -> tensor<?x8xf8E8M0FNU, #swizzled>
  %u = blockscale.swizzle %t sizes(%n)
      : tensor<?x8xf8E8M0FNU, #swizzled> -> tensor<?x8xf8E8M0FNU>
  %v = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) block 32
      : tensor<?x8xf8E8M0FNU> -> tensor<?x8xf8E8M0FNU, #grouped>
  %w = blockscale.swizzle %v offsets(%ends : tensor<3xi32>) sizes(%n) block 32
      : tensor<?x8xf8E8M0FNU, #grouped> -> tensor<?x8xf8E8M0FNU>
  return
}
