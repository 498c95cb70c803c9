// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A quantizer writes expanded scales itself, in the layout of a swizzle behind.
// CHECK-LABEL: func.func @into_quantize
func.func @into_quantize(%x: tensor<3x70x96xbf16>) -> (tensor<3x70x96xf4E2M1FN>, tensor<3x70x6xf8E4M3FN, #swizzled>) {
  // CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %{{.+}} block [16, 16] scale_dim k recipe te : {{.+}} tensor<3x70x6xf8E4M3FN, #swizzled>
  // CHECK-NEXT: return %[[Q]], %[[S]]
  %q, %s = blockscale.quantize %x block [16, 16] recipe te : tensor<3x70x96xbf16> -> tensor<3x70x96xf4E2M1FN>, tensor<3x5x6xf8E4M3FN>
  %e = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<3x5x6xf8E4M3FN> -> tensor<3x70x6xf8E4M3FN>
  %t = blockscale.swizzle %e : tensor<3x70x6xf8E4M3FN> -> tensor<3x70x6xf8E4M3FN, #swizzled>
  return %q, %t : tensor<3x70x96xf4E2M1FN>, tensor<3x70x6xf8E4M3FN, #swizzled>
}

// Rows of transposed scales are columns of x.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: tensor<64x96xbf16>) -> (tensor<96x2xf8E8M0FNU>, tensor<64x3xf8E8M0FNU>) {
  // CHECK: %[[N:[a-z0-9_]+]] = blockscale.quantize %{{.+}} block [32, 32] transposed scale_dim n : {{.+}} tensor<96x2xf8E8M0FNU>
  %q, %s = blockscale.quantize %x block [32, 32] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<3x2xf8E8M0FNU>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<3x2xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU>
  // CHECK: %[[K:[a-z0-9_]+]] = blockscale.quantize %{{.+}} block [32, 32] transposed scale_dim k : {{.+}} tensor<64x3xf8E8M0FNU>
  %r, %t = blockscale.quantize %x block [32, 32] transposed : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<3x2xf8E8M0FNU>
  %f = blockscale.expand_scale %t block [32, 32] scale_dim n : tensor<3x2xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU>
  // CHECK: return %[[N]], %[[K]]
  return %e, %f : tensor<96x2xf8E8M0FNU>, tensor<64x3xf8E8M0FNU>
}

// The swizzle is expand_scale's where the scales are an argument.
// CHECK-LABEL: func.func @swizzle_into_expand
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x?xf8E8M0FNU>
func.func @swizzle_into_expand(%s: tensor<2x?xf8E8M0FNU>) -> tensor<40x?xf8E8M0FNU, #swizzled> {
  // CHECK-NEXT: %[[E:.+]] = blockscale.expand_scale %[[S]] block [32, 32] scale_dim k : tensor<2x?xf8E8M0FNU> -> tensor<40x?xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[E]]
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<2x?xf8E8M0FNU> -> tensor<40x?xf8E8M0FNU>
  %t = blockscale.swizzle %e : tensor<40x?xf8E8M0FNU> -> tensor<40x?xf8E8M0FNU, #swizzled>
  return %t : tensor<40x?xf8E8M0FNU, #swizzled>
}

// -----

// Both products take the compact scales: they are expanded twice.
// CHECK-LABEL: func.func @two_users
func.func @two_users(%x: tensor<64x96xbf16>) -> (tensor<64x3xf8E8M0FNU>, tensor<96x2xf8E8M0FNU>) {
  // CHECK: blockscale.quantize {{.+}} tensor<2x3xf8E8M0FNU>
  // CHECK-COUNT-2: blockscale.expand_scale
  %q, %s = blockscale.quantize %x block [32, 32] : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x3xf8E8M0FNU>
  %k = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<2x3xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU>
  %n = blockscale.expand_scale %s block [32, 32] scale_dim n : tensor<2x3xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU>
  return %k, %n : tensor<64x3xf8E8M0FNU>, tensor<96x2xf8E8M0FNU>
}

// The expanded size is not that of x, or may not be.
// CHECK-LABEL: func.func @other_size
func.func @other_size(%x: tensor<70x96xbf16>, %y: tensor<?x96xbf16>, %n: index) -> (tensor<80x6xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {
  // CHECK: blockscale.quantize {{.+}} tensor<5x6xf8E4M3FN>
  // CHECK: blockscale.expand_scale
  %q, %s = blockscale.quantize %x block [16, 16] recipe te : tensor<70x96xbf16> -> tensor<70x96xf4E2M1FN>, tensor<5x6xf8E4M3FN>
  %e = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<5x6xf8E4M3FN> -> tensor<80x6xf8E4M3FN>
  // CHECK: blockscale.quantize {{.+}} tensor<?x3xf8E8M0FNU>
  // CHECK: blockscale.expand_scale
  %r, %t = blockscale.quantize %y block [32, 32] : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  %f = blockscale.expand_scale %t block [32, 32] scale_dim k sizes(%n) : tensor<?x3xf8E8M0FNU> -> tensor<?x3xf8E8M0FNU>
  return %e, %f : tensor<80x6xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}

// Scales of other blocks, or expanded before, which a matrix of one row has as
// many of.
// CHECK-LABEL: func.func @other_blocks
func.func @other_blocks(%x: tensor<1x64xbf16>) -> (tensor<1x2xf8E8M0FNU>, tensor<1x4xf8E4M3FN>) {
  // CHECK: blockscale.quantize {{.+}} block [1, 32] :
  // CHECK: blockscale.expand_scale
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<1x64xbf16> -> tensor<1x64xf8E4M3FN>, tensor<1x2xf8E8M0FNU>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<1x2xf8E8M0FNU> -> tensor<1x2xf8E8M0FNU>
  // CHECK: blockscale.quantize
  // CHECK: blockscale.expand_scale
  %r, %t = blockscale.quantize %x block [16, 16] scale_dim k recipe te : tensor<1x64xbf16> -> tensor<1x64xf4E2M1FN>, tensor<1x4xf8E4M3FN>
  %f = blockscale.expand_scale %t block [16, 16] scale_dim k : tensor<1x4xf8E4M3FN> -> tensor<1x4xf8E4M3FN>
  return %e, %f : tensor<1x2xf8E8M0FNU>, tensor<1x4xf8E4M3FN>
}

// With groups, scales of blocks that no group covers are zero in either form,
// but quantize is not asked to expand them.
// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<64x96xbf16>, %ends: tensor<2xi32>) -> tensor<64x3xf8E8M0FNU> {
  // CHECK: blockscale.quantize {{.+}} tensor<2x3xf8E8M0FNU>
  // CHECK: blockscale.expand_scale
  %q, %s = blockscale.quantize %x block [32, 32] offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x3xf8E8M0FNU>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<2x3xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU>
  return %e : tensor<64x3xf8E8M0FNU>
}

// -----

// The linear expanded scales have another reader, or the swizzle has groups.
#swizzled = #blockscale.layout<swizzle_128x4>
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// CHECK-LABEL: func.func @swizzle_kept
func.func @swizzle_kept(%s: tensor<2x3xf8E8M0FNU>, %ends: tensor<2xi32>) -> (tensor<40x3xf8E8M0FNU>, tensor<40x3xf8E8M0FNU, #swizzled>, tensor<40x3xf8E8M0FNU, #grouped>) {
  // CHECK: blockscale.expand_scale {{.+}} -> tensor<40x3xf8E8M0FNU>
  // CHECK: blockscale.swizzle
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<2x3xf8E8M0FNU> -> tensor<40x3xf8E8M0FNU>
  %t = blockscale.swizzle %e : tensor<40x3xf8E8M0FNU> -> tensor<40x3xf8E8M0FNU, #swizzled>
  // CHECK: blockscale.expand_scale {{.+}} -> tensor<40x3xf8E8M0FNU>
  // CHECK: blockscale.swizzle
  %f = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<2x3xf8E8M0FNU> -> tensor<40x3xf8E8M0FNU>
  %u = blockscale.swizzle %f offsets(%ends : tensor<2xi32>) : tensor<40x3xf8E8M0FNU> -> tensor<40x3xf8E8M0FNU, #grouped>
  return %e, %t, %u : tensor<40x3xf8E8M0FNU>, tensor<40x3xf8E8M0FNU, #swizzled>, tensor<40x3xf8E8M0FNU, #grouped>
}
