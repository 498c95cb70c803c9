// Block shapes, transposed and expanded results, rows, groups and random bits
// of quantize, and the block shapes of dequantize.

#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

// Square blocks have one scale a square.
func.func @square(%x: tensor<2x64x96xbf16>) {
  %0, %1 = blockscale.quantize %x block [32, 32]
      : tensor<2x64x96xbf16> -> tensor<2x64x96xf6E2M3FN>, tensor<2x2x3xf8E8M0FNU>
  %2, %3 = blockscale.quantize %x block [16, 16] transposed recipe te
      : tensor<2x64x96xbf16> -> tensor<2x96x64xf4E2M1FN>, tensor<2x6x4xf8E4M3FN>
  return
}

// Blocks down columns, as they lie and transposed; only then in a layout.
func.func @columns(%x: tensor<64x96xbf16>) {
  %0, %1 = blockscale.quantize %x block [32, 1]
      : tensor<64x96xbf16> -> tensor<64x96xf6E3M2FN>, tensor<2x96xf8E8M0FNU>
  %2, %3 = blockscale.quantize %x block [32, 1] transposed
      : tensor<64x96xbf16> -> tensor<96x64xf8E5M2>, tensor<96x2xf8E8M0FNU, #swizzled>
  %4, %5 = blockscale.quantize %x block [16, 1] transposed recipe te_4over6_mse
      : tensor<64x96xbf16> -> tensor<96x64xf4E2M1FN>, tensor<96x4xf8E4M3FN>
  return
}

// Expanded along either dimension of x, whatever the data's orientation.
func.func @scale_dim(%x: tensor<?x?xbf16>) {
  %0, %1 = blockscale.quantize %x block [32, 32] scale_dim k
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #swizzled>
  %2, %3 = blockscale.quantize %x block [16, 16] transposed scale_dim n recipe mslk
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  return
}

// A tail of rows, of columns, and of both.
func.func @tails(%x: tensor<40x24xf32>) {
  %0, %1 = blockscale.quantize %x block [16, 16] recipe modelopt
      : tensor<40x24xf32> -> tensor<40x24xf4E2M1FN>, tensor<3x2xf8E4M3FN>
  %2, %3 = blockscale.quantize %x block [16, 1] transposed recipe te
      : tensor<40x24xf32> -> tensor<24x40xf4E2M1FN>, tensor<24x3xf8E4M3FN>
  return
}

// One global value a row, and the amax of each block.
func.func @rows(%x: tensor<2x8x64xf32>, %g: tensor<2x8xf32>, %b: tensor<2x8x4xf32>) -> tensor<2x8x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<2x8xf32>) block_amax(%b : tensor<2x8x4xf32>)
      : tensor<2x8x64xf32> -> tensor<2x8x64xf4E2M1FN>, tensor<2x8x4xf8E4M3FN>
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : tensor<2x8xf32>)
      : tensor<2x8x64xf4E2M1FN>, tensor<2x8x4xf8E4M3FN> -> tensor<2x8x64xf32>
  return %0 : tensor<2x8x64xf32>
}

// Groups of rows and of columns, in layouts that pad each group. Rows of x are
// columns of transposed scales.
func.func @groups(%x: tensor<96x64xbf16>, %g: tensor<3xf32>, %ends: tensor<3xi32>) {
  %0, %1 = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<3xf32>) offsets(%ends : tensor<3xi32>)
      : tensor<96x64xbf16> -> tensor<96x64xf4E2M1FN>, tensor<96x4xf8E4M3FN, #rows>
  %2, %3 = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<3xi32>) group_dim 1
      : tensor<96x64xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #columns>
  %4, %5 = blockscale.quantize %x block [32, 1] transposed offsets(%ends : tensor<3xi32>)
      : tensor<96x64xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, #columns>
  return
}

// Seed and offset of the bits that data are rounded with.
func.func @rng(%x: tensor<8x64xbf16>, %r: tensor<2xi64>) {
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te rng(%r : tensor<2xi64>)
      : tensor<8x64xbf16> -> tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>
  %2, %3 = blockscale.quantize %x block [1, 32] rng(%r : tensor<2xi64>)
      : tensor<8x64xbf16> -> tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>
  return
}

func.func @dequantize(%q: tensor<?x?xf6E2M3FN>, %s: tensor<?x?xf8E8M0FNU>) {
  %0 = blockscale.dequantize %q, %s block [32, 1]
      : tensor<?x?xf6E2M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
  %1 = blockscale.dequantize %q, %s block [32, 32]
      : tensor<?x?xf6E2M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
  return
}
