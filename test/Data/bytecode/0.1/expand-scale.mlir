#swizzled = #blockscale.layout<swizzle_128x4>

func.func @static(%s: tensor<3x2x5xf8E4M3FN>) {
  %0 = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<3x2x5xf8E4M3FN> -> tensor<3x32x5xf8E4M3FN>
  // The last block may be short.
  %1 = blockscale.expand_scale %s block [16, 16] scale_dim n : tensor<3x2x5xf8E4M3FN> -> tensor<3x70x2xf8E4M3FN, #swizzled>
  return
}

func.func @dynamic(%s: tensor<?x?xf8E8M0FNU>, %n: index) {
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k sizes(%n) : tensor<?x?xf8E8M0FNU> -> tensor<?x?xf8E8M0FNU, #swizzled>
  %1 = blockscale.expand_scale %s block [32, 32] scale_dim n : tensor<?x?xf8E8M0FNU> -> tensor<64x?xf8E8M0FNU>
  return
}
