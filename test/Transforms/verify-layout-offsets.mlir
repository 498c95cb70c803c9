// RUN: blockscale-opt %s -blockscale-verify-layout -split-input-file -verify-diagnostics

// Empty groups, and rows that no group covers, are legal.
#rows = #blockscale.layout<swizzle_128x4, groups = 4, dim = 0>
func.func @allowed(%s: tensor<70x3xf8E8M0FNU>, %n: tensor<?x3xf8E8M0FNU>) {
  %ends = arith.constant dense<[0, 33, 33, 69]> : tensor<4xi32>
  %0 = blockscale.swizzle %s offsets(%ends : tensor<4xi32>) : tensor<70x3xf8E8M0FNU> -> tensor<70x3xf8E8M0FNU, #rows>
  %1 = blockscale.swizzle %n offsets(%ends : tensor<4xi32>) : tensor<?x3xf8E8M0FNU> -> tensor<?x3xf8E8M0FNU, #rows>
  return
}

// -----

#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
func.func @swizzle_rows(%s: tensor<70x3xf8E8M0FNU>) {
  %negative = arith.constant dense<[-1, 33, 70]> : tensor<3xi32>
  // expected-error @below {{'blockscale.swizzle' op expected constant offset 0 to be 0 or more, but got -1}}
  %0 = blockscale.swizzle %s offsets(%negative : tensor<3xi32>) : tensor<70x3xf8E8M0FNU> -> tensor<70x3xf8E8M0FNU, #rows>
  %descending = arith.constant dense<[40, 33, 70]> : tensor<3xi32>
  // expected-error @below {{expected constant offset 1 to be at least the offset before it, 40, but got 33}}
  %1 = blockscale.swizzle %s offsets(%descending : tensor<3xi32>) : tensor<70x3xf8E8M0FNU> -> tensor<70x3xf8E8M0FNU, #rows>
  %beyond = arith.constant dense<71> : tensor<3xi32>
  // expected-error @below {{expected constant offset 0 to be at most the extent 70, but got 71}}
  %2 = blockscale.swizzle %s offsets(%beyond : tensor<3xi32>) : tensor<70x3xf8E8M0FNU> -> tensor<70x3xf8E8M0FNU, #rows>
  return
}

// -----

// Offsets of columns count elements of the quantized tensor.
#cols = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
func.func @swizzle_columns(%s: tensor<70x3xf8E8M0FNU>, %t: tensor<70x3xf8E8M0FNU, #cols>) {
  %ends = arith.constant dense<[32, 96]> : tensor<2xi32>
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 32 : tensor<70x3xf8E8M0FNU> -> tensor<70x3xf8E8M0FNU, #cols>
  %beyond = arith.constant dense<[32, 128]> : tensor<2xi32>
  // expected-error @below {{expected constant offset 1 to be at most the extent 96, but got 128}}
  %1 = blockscale.swizzle %t offsets(%beyond : tensor<2xi32>) block 32 : tensor<70x3xf8E8M0FNU, #cols> -> tensor<70x3xf8E8M0FNU>
  %inside = arith.constant dense<[40, 96]> : tensor<2xi32>
  // expected-error @below {{expected constant offset 0 to be a multiple of the block 32, but got 40}}
  %2 = blockscale.swizzle %s offsets(%inside : tensor<2xi32>) block 32 : tensor<70x3xf8E8M0FNU> -> tensor<70x3xf8E8M0FNU, #cols>
  return
}

// -----

// 2d-3d: the offsets bound rows.
func.func @grouped_rows(%a: tensor<96x64xf8E4M3FN>, %b: tensor<2x48x64xf8E4M3FN>, %sa: tensor<96x2xf8E8M0FNU>, %sb: tensor<2x48x2xf8E8M0FNU>) {
  %ends = arith.constant dense<[5, 96]> : tensor<2xi32>
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<2x48x64xf8E4M3FN>, tensor<2xi32>, tensor<96x2xf8E8M0FNU>, tensor<2x48x2xf8E8M0FNU> -> tensor<96x48xf32>
  %beyond = arith.constant dense<[5, 97]> : tensor<2xi32>
  // expected-error @below {{'blockscale.scaled_grouped_mm' op expected constant offset 1 to be at most the extent 96, but got 97}}
  %1 = blockscale.scaled_grouped_mm %a, %b offsets(%beyond) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<2x48x64xf8E4M3FN>, tensor<2xi32>, tensor<96x2xf8E8M0FNU>, tensor<2x48x2xf8E8M0FNU> -> tensor<96x48xf32>
  %descending = arith.constant dense<[96, 5]> : tensor<2xi32>
  // expected-error @below {{'blockscale.scaled_grouped_mm' op expected constant offset 1 to be at least the offset before it, 96, but got 5}}
  %2 = blockscale.scaled_grouped_mm %a, %b offsets(%descending) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<2x48x64xf8E4M3FN>, tensor<2xi32>, tensor<96x2xf8E8M0FNU>, tensor<2x48x2xf8E8M0FNU> -> tensor<96x48xf32>
  return
}

// -----

// 2d-2d: they bound K, in whole blocks.
func.func @grouped_columns(%a: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) {
  %inside = arith.constant dense<[16, 64]> : tensor<2xi32>
  // expected-error @below {{expected constant offset 0 to be a multiple of the block 32, but got 16}}
  %0 = blockscale.scaled_grouped_mm %a, %a offsets(%inside) scales(%s, %s) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>, tensor<2xi32>, tensor<8x2xf8E8M0FNU>, tensor<8x2xf8E8M0FNU> -> tensor<2x8x8xf32>
  return
}

// -----

// quantize and amax divide rows or columns of x; whole blocks of quantize.
func.func @quantize(%x: tensor<64x96xbf16>) {
  %ends = arith.constant dense<[32, 64]> : tensor<2xi32>
  %rows = arith.constant dense<[33, 64]> : tensor<2xi32>
  %columns = arith.constant dense<[32, 96]> : tensor<2xi32>
  %0:2 = blockscale.quantize %x block [1, 32] offsets(%rows : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %1:2 = blockscale.quantize %x block [1, 32] offsets(%columns : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %2:2 = blockscale.quantize %x block [32, 1] offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
  %3:2 = blockscale.quantize %x block [32, 1] offsets(%rows : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
  // expected-error @below {{'blockscale.quantize' op expected constant offset 0 to be a multiple of the block 32, but got 33}}
  %4:2 = blockscale.quantize %x block [32, 1] offsets(%rows : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
  // expected-error @below {{'blockscale.quantize' op expected constant offset 0 to be a multiple of the block 32, but got 33}}
  %5:2 = blockscale.quantize %x block [32, 32] offsets(%rows : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x3xf8E8M0FNU>
  // expected-error @below {{'blockscale.quantize' op expected constant offset 1 to be at most the extent 64, but got 96}}
  %6:2 = blockscale.quantize %x block [1, 32] offsets(%columns : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %negative = arith.constant dense<-32> : tensor<2xi32>
  // expected-error @below {{'blockscale.quantize' op expected constant offset 0 to be 0 or more, but got -32}}
  %7:2 = blockscale.quantize %x block [1, 32] offsets(%negative : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %descending = arith.constant dense<[64, 32]> : tensor<2xi32>
  // expected-error @below {{'blockscale.quantize' op expected constant offset 1 to be at least the offset before it, 64, but got 32}}
  %8:2 = blockscale.quantize %x block [1, 32] offsets(%descending : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return
}
// pad_groups takes ends within blocks.
func.func @pad_groups(%x: tensor<64x96xbf16>) {
  %ends = arith.constant dense<[33, 64]> : tensor<2xi32>
  %0:2 = blockscale.pad_groups %x offsets(%ends : tensor<2xi32>) unit 32 : tensor<64x96xbf16> -> tensor<96x96xbf16>
  %outside = arith.constant dense<[33, 65]> : tensor<2xi32>
  // expected-error @below {{'blockscale.pad_groups' op expected constant offset 1 to be at most the extent 64, but got 65}}
  %1:2 = blockscale.pad_groups %x offsets(%outside : tensor<2xi32>) unit 32 : tensor<64x96xbf16> -> tensor<96x96xbf16>
  %descending = arith.constant dense<[33, 32]> : tensor<2xi32>
  // expected-error @below {{'blockscale.pad_groups' op expected constant offset 1 to be at least the offset before it, 33, but got 32}}
  %2:2 = blockscale.pad_groups %x offsets(%descending : tensor<2xi32>) unit 32 : tensor<64x96xbf16> -> tensor<96x96xbf16>
  return
}
func.func @amax(%x: tensor<64x96xbf16>) {
  %ends = arith.constant dense<[33, 96]> : tensor<2xi32>
  %0 = blockscale.amax %x offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<2xf32>
  // expected-error @below {{'blockscale.amax' op expected constant offset 1 to be at most the extent 64, but got 96}}
  %1 = blockscale.amax %x offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<2xf32>
  %descending = arith.constant dense<[33, 32]> : tensor<2xi32>
  // expected-error @below {{'blockscale.amax' op expected constant offset 1 to be at least the offset before it, 33, but got 32}}
  %2 = blockscale.amax %x offsets(%descending : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<2xf32>
  return
}

// -----

// Constants that a tensor is made of.
func.func @of_scalars(%x: tensor<64x96xbf16>, %n: i32) {
  %c32 = arith.constant 32 : i32
  %c65 = arith.constant 65 : i32
  %ends = tensor.from_elements %c65, %c32 : tensor<2xi32>
  // expected-error @below {{'blockscale.amax' op expected constant offset 0 to be at most the extent 64, but got 65}}
  %0 = blockscale.amax %x offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<2xf32>
  // expected-error @below {{'blockscale.amax' op expected constant offset 1 to be at least the offset before it, 65, but got 32}}
  %1 = blockscale.amax %x offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<2xf32>
  %splat = tensor.splat %c65 : tensor<2xi32>
  // expected-error @below {{'blockscale.amax' op expected constant offset 0 to be at most the extent 64, but got 65}}
  %2 = blockscale.amax %x offsets(%splat : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<2xf32>
  // One that is known at run time leaves the others for then.
  %some = tensor.from_elements %c65, %n : tensor<2xi32>
  %3 = blockscale.amax %x offsets(%some : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<2xf32>
  return
}
