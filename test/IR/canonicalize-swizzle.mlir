// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A quantizer writes swizzled scales itself.
// CHECK-LABEL: func.func @into_quantize
func.func @into_quantize(%x: tensor<?x80xbf16>) -> (tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>) {
  // CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize {{.+}} -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<?x5xf8E4M3FN> -> tensor<?x5xf8E4M3FN, #swizzled>
  // CHECK-NEXT: return %[[Q]], %[[S]]
  return %q, %t : tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>
}

// It writes linear ones as well.
// CHECK-LABEL: func.func @unswizzle_into_quantize
func.func @unswizzle_into_quantize(%x: tensor<?x80xbf16>, %r: index) -> tensor<?x5xf8E4M3FN> {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN, #swizzled>
  %t = blockscale.swizzle %s sizes(%r) : tensor<?x5xf8E4M3FN, #swizzled> -> tensor<?x5xf8E4M3FN>
  // CHECK-NEXT: return %[[S]]
  return %t : tensor<?x5xf8E4M3FN>
}

// Another reader wants the linear scales.
// CHECK-LABEL: func.func @two_users
func.func @two_users(%x: tensor<4x64xbf16>) -> (tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN, #swizzled>) {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: %[[T:.+]] = blockscale.swizzle %[[S]]
  %t = blockscale.swizzle %s : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #swizzled>
  // CHECK: return %[[S]], %[[T]]
  return %s, %t : tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN, #swizzled>
}

// Products that read the same scales have a swizzle each.
// CHECK-LABEL: func.func @two_swizzles
func.func @two_swizzles(%x: tensor<4x64xbf16>) -> (tensor<4x4xf8E4M3FN, #swizzled>, tensor<4x4xf8E4M3FN, #swizzled>) {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #swizzled>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %t = blockscale.swizzle %s : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #swizzled>
  %u = blockscale.swizzle %s : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #swizzled>
  // CHECK-NEXT: return %[[S]], %[[S]]
  return %t, %u : tensor<4x4xf8E4M3FN, #swizzled>, tensor<4x4xf8E4M3FN, #swizzled>
}

// CHECK-LABEL: func.func @two_swizzles_of_groups
func.func @two_swizzles_of_groups(%x: tensor<4x64xbf16>, %o: tensor<2xi32>) -> (tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>) {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} offsets({{.+}}, #swizzled_groups>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%o : tensor<2xi32>) : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%o : tensor<2xi32>) : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
  %u = blockscale.swizzle %s offsets(%o : tensor<2xi32>) : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
  // CHECK-NEXT: return %[[S]], %[[S]]
  return %t, %u : tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
}

// Swizzles into two layouts stay: there is one tensor of scales.
// CHECK-LABEL: func.func @two_layouts
func.func @two_layouts(%x: tensor<4x64xbf16>, %o: tensor<2xi32>) -> (tensor<4x4xf8E4M3FN, #swizzled>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>) {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%o : tensor<2xi32>) : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK-COUNT-2: blockscale.swizzle %[[S]]
  %t = blockscale.swizzle %s : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #swizzled>
  %u = blockscale.swizzle %s offsets(%o : tensor<2xi32>) : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
  return %t, %u : tensor<4x4xf8E4M3FN, #swizzled>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>>
}

// So with an expansion that two products read.
// CHECK-LABEL: func.func @two_swizzles_of_an_expansion
func.func @two_swizzles_of_an_expansion(%s: tensor<1x4xf8E8M0FNU>) -> (tensor<8x4xf8E8M0FNU, #swizzled>, tensor<8x4xf8E8M0FNU, #swizzled>) {
  // CHECK: %[[E:.+]] = blockscale.expand_scale {{.+}} -> tensor<8x4xf8E8M0FNU, #swizzled>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<1x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU>
  %t = blockscale.swizzle %e : tensor<8x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU, #swizzled>
  %u = blockscale.swizzle %e : tensor<8x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[E]], %[[E]]
  return %t, %u : tensor<8x4xf8E8M0FNU, #swizzled>, tensor<8x4xf8E8M0FNU, #swizzled>
}

// No kernel of a quantizer writes these tiles.
// CHECK-LABEL: func.func @other_tiles
func.func @other_tiles(%x: tensor<4x64xbf16>) -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>> {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: %[[T:.+]] = blockscale.swizzle %[[S]]
  %t = blockscale.swizzle %s : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  // CHECK: return %[[T]]
  return %t : tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
}

// Nor does one of an expansion.
// CHECK-LABEL: func.func @expansion
func.func @expansion(%s: tensor<1x4xf8E8M0FNU>) -> tensor<8x4xf8E8M0FNU, #blockscale.layout<swizzle_8x4>> {
  // CHECK: %[[E:.+]] = blockscale.expand_scale {{.+}} -> tensor<8x4xf8E8M0FNU>
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<1x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU>
  // CHECK: blockscale.swizzle %[[E]]
  %t = blockscale.swizzle %e : tensor<8x4xf8E8M0FNU> -> tensor<8x4xf8E8M0FNU, #blockscale.layout<swizzle_8x4>>
  return %t : tensor<8x4xf8E8M0FNU, #blockscale.layout<swizzle_8x4>>
}

// There and back.
// CHECK-LABEL: func.func @between_tiles
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor
// CHECK-NEXT: return %[[S]]
func.func @between_tiles(%s: tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>, %r: index) -> tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>> {
  %t = blockscale.swizzle %s sizes(%r) : tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>> -> tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %u = blockscale.swizzle %t sizes(%r) : tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  return %u : tensor<?x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
}

// The reader is not a swizzle.
// CHECK-LABEL: func.func @other_user
func.func @other_user(%x: tensor<4x64xbf16>) -> tensor<4x4xf8E4M3FN> {
  // CHECK: -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %s : tensor<4x4xf8E4M3FN>
}

// -----

// quantize has no offsets to place groups by.
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<4x64xbf16>, %ends: tensor<2xi32>) -> tensor<4x4xf8E4M3FN, #grouped> {
  // CHECK: blockscale.quantize {{.+}} -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // CHECK: blockscale.swizzle
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<4x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #grouped>
  return %t : tensor<4x4xf8E4M3FN, #grouped>
}

// -----

// The swizzle knows more of the shape than the quantizer.
#swizzled = #blockscale.layout<swizzle_128x4>
// CHECK-LABEL: func.func @other_shape
func.func @other_shape(%x: tensor<?x64xbf16>) -> tensor<4x4xf8E4M3FN, #swizzled> {
  // CHECK: blockscale.quantize {{.+}} tensor<?x4xf8E4M3FN>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  // CHECK: blockscale.swizzle
  %t = blockscale.swizzle %s : tensor<?x4xf8E4M3FN> -> tensor<4x4xf8E4M3FN, #swizzled>
  return %t : tensor<4x4xf8E4M3FN, #swizzled>
}
