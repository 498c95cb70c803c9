// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// There and back.
// CHECK-LABEL: func.func @linear_pair
// CHECK-SAME: %[[S:.+]]: tensor<2x40x5xf8E4M3FN>
func.func @linear_pair(%s: tensor<2x40x5xf8E4M3FN>) -> tensor<2x40x5xf8E4M3FN> {
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s : tensor<2x40x5xf8E4M3FN> -> tensor<2x40x5xf8E4M3FN, #swizzled>
  %1 = blockscale.swizzle %0 : tensor<2x40x5xf8E4M3FN, #swizzled> -> tensor<2x40x5xf8E4M3FN>
  // CHECK: return %[[S]]
  return %1 : tensor<2x40x5xf8E4M3FN>
}

// Back and there.
// CHECK-LABEL: func.func @swizzled_pair
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x?xf8E8M0FNU, #swizzled>
func.func @swizzled_pair(%s: tensor<?x?xf8E8M0FNU, #swizzled>, %r: index, %c: index) -> tensor<?x?xf8E8M0FNU, #swizzled> {
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s sizes(%r, %c) : tensor<?x?xf8E8M0FNU, #swizzled> -> tensor<?x?xf8E8M0FNU>
  %1 = blockscale.swizzle %0 : tensor<?x?xf8E8M0FNU> -> tensor<?x?xf8E8M0FNU, #swizzled>
  // CHECK: return %[[S]]
  return %1 : tensor<?x?xf8E8M0FNU, #swizzled>
}

// CHECK-LABEL: func.func @same_type
// CHECK-SAME: %[[S:.+]]: tensor<4x4xf8E4M3FN, #swizzled>
func.func @same_type(%s: tensor<4x4xf8E4M3FN, #swizzled>) -> tensor<4x4xf8E4M3FN, #swizzled> {
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s : tensor<4x4xf8E4M3FN, #swizzled> -> tensor<4x4xf8E4M3FN, #swizzled>
  // CHECK: return %[[S]]
  return %0 : tensor<4x4xf8E4M3FN, #swizzled>
}

// The ends of the pair have different static shapes.
// CHECK-LABEL: func.func @shape_changes
func.func @shape_changes(%s: tensor<?x4xf8E4M3FN>) -> tensor<4x4xf8E4M3FN> {
  // CHECK-COUNT-2: blockscale.swizzle
  %0 = blockscale.swizzle %s : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #swizzled>
  %1 = blockscale.swizzle %0 : tensor<?x4xf8E4M3FN, #swizzled> -> tensor<4x4xf8E4M3FN>
  return %1 : tensor<4x4xf8E4M3FN>
}

// -----

// A grouped layout drops the rows that no group covers.
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// CHECK-LABEL: func.func @grouped_pair
func.func @grouped_pair(%s: tensor<40x5xf8E4M3FN>, %ends: tensor<2xi32>) -> tensor<40x5xf8E4M3FN> {
  // CHECK-COUNT-2: blockscale.swizzle
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<40x5xf8E4M3FN> -> tensor<40x5xf8E4M3FN, #grouped>
  %1 = blockscale.swizzle %0 offsets(%ends : tensor<2xi32>) : tensor<40x5xf8E4M3FN, #grouped> -> tensor<40x5xf8E4M3FN>
  return %1 : tensor<40x5xf8E4M3FN>
}

// -----

// The groups are those of the quantizer, which places them itself. Back to
// linear scales too.
#rows = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// CHECK-LABEL: func.func @same_groups
// CHECK-SAME: %[[ENDS:[a-z0-9]+]]: tensor<2xi32>)
func.func @same_groups(%x: tensor<70x64xbf16>, %ends: tensor<2xi32>) -> (tensor<70x4xf8E4M3FN, #rows>, tensor<70x4xf8E4M3FN>) {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} offsets(%[[ENDS]] : tensor<2xi32>) : {{.+}} tensor<70x4xf8E4M3FN, #swizzled_groups>
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<2xi32>) : tensor<70x64xbf16> -> tensor<70x64xf4E2M1FN>, tensor<70x4xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<70x4xf8E4M3FN> -> tensor<70x4xf8E4M3FN, #rows>
  // CHECK: %[[U:[a-z0-9_]+]] = blockscale.quantize {{.+}} recipe te offsets(%[[ENDS]] : tensor<2xi32>) : {{.+}} tensor<70x4xf8E4M3FN>
  %r, %u = blockscale.quantize %x block [1, 16] recipe te offsets(%ends : tensor<2xi32>) : tensor<70x64xbf16> -> tensor<70x64xf4E2M1FN>, tensor<70x4xf8E4M3FN, #rows>
  %v = blockscale.swizzle %u offsets(%ends : tensor<2xi32>) : tensor<70x4xf8E4M3FN, #rows> -> tensor<70x4xf8E4M3FN>
  // CHECK-NOT: blockscale.swizzle
  // CHECK: return %[[S]], %[[U]]
  return %t, %v : tensor<70x4xf8E4M3FN, #rows>, tensor<70x4xf8E4M3FN>
}

// -----

// Columns in units of the block; rows of x are columns of transposed scales.
#columns = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
// CHECK-LABEL: func.func @same_columns
func.func @same_columns(%x: tensor<64x96xbf16>, %ends: tensor<2xi32>) -> (tensor<64x3xf8E8M0FNU, #columns>, tensor<96x2xf8E8M0FNU, #columns>) {
  // CHECK-COUNT-2: blockscale.quantize {{.+}} #swizzled_groups>
  // CHECK-NOT: blockscale.swizzle
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) block 32 : tensor<64x3xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU, #columns>
  %r, %u = blockscale.quantize %x block [32, 1] transposed offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
  %v = blockscale.swizzle %u offsets(%ends : tensor<2xi32>) block 32 : tensor<96x2xf8E8M0FNU> -> tensor<96x2xf8E8M0FNU, #columns>
  return %t, %v : tensor<64x3xf8E8M0FNU, #columns>, tensor<96x2xf8E8M0FNU, #columns>
}

// -----

// Rows are no blocks that could be short: their number may be dynamic.
#rows = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// CHECK-LABEL: func.func @same_dynamic_rows
func.func @same_dynamic_rows(%x: tensor<?x64xbf16>, %ends: tensor<2xi32>) -> tensor<?x4xf8E4M3FN, #rows> {
  // CHECK: blockscale.quantize {{.+}} #swizzled_groups>
  // CHECK-NOT: blockscale.swizzle
  %q, %s = blockscale.quantize %x block [1, 16] recipe te offsets(%ends : tensor<2xi32>) : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %t = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #rows>
  return %t : tensor<?x4xf8E4M3FN, #rows>
}

// -----

// Other offsets, another dimension, another unit, or a short last block.
#rows = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
// CHECK-LABEL: func.func @other_groups
func.func @other_groups(%x: tensor<64x96xbf16>, %y: tensor<64x40xbf16>, %ends: tensor<2xi32>, %other: tensor<2xi32>) {
  // CHECK: blockscale.quantize
  // CHECK: blockscale.swizzle
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %t = blockscale.swizzle %s offsets(%other : tensor<2xi32>) : tensor<64x3xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU, #rows>
  // CHECK: blockscale.quantize
  // CHECK: blockscale.swizzle
  %r, %u = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<2xi32>) : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %v = blockscale.swizzle %u offsets(%ends : tensor<2xi32>) block 32 : tensor<64x3xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU, #columns>
  // CHECK: blockscale.quantize
  // CHECK: blockscale.swizzle
  %p, %w = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %z = blockscale.swizzle %w offsets(%ends : tensor<2xi32>) block 16 : tensor<64x3xf8E8M0FNU> -> tensor<64x3xf8E8M0FNU, #columns>
  // CHECK: blockscale.quantize
  // CHECK: blockscale.swizzle
  %o, %a = blockscale.quantize %y block [1, 16] recipe te offsets(%ends : tensor<2xi32>) group_dim 1 : tensor<64x40xbf16> -> tensor<64x40xf4E2M1FN>, tensor<64x3xf8E4M3FN>
  %b = blockscale.swizzle %a offsets(%ends : tensor<2xi32>) block 16 : tensor<64x3xf8E4M3FN> -> tensor<64x3xf8E4M3FN, #columns>
  call @keep(%t, %v, %z, %b) : (tensor<64x3xf8E8M0FNU, #rows>, tensor<64x3xf8E8M0FNU, #columns>, tensor<64x3xf8E8M0FNU, #columns>, tensor<64x3xf8E4M3FN, #columns>) -> ()
  return
}
func.func private @keep(tensor<64x3xf8E8M0FNU, #rows>, tensor<64x3xf8E8M0FNU, #columns>, tensor<64x3xf8E8M0FNU, #columns>, tensor<64x3xf8E4M3FN, #columns>)

// -----

// One scale for a square of rows has no layout.
#swizzled = #blockscale.layout<swizzle_128x4>
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<64x96xbf16>) -> tensor<2x3xf8E8M0FNU, #swizzled> {
  // CHECK: blockscale.quantize {{.+}} tensor<2x3xf8E8M0FNU>
  // CHECK: blockscale.swizzle
  %q, %s = blockscale.quantize %x block [32, 32] : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x3xf8E8M0FNU>
  %t = blockscale.swizzle %s : tensor<2x3xf8E8M0FNU> -> tensor<2x3xf8E8M0FNU, #swizzled>
  return %t : tensor<2x3xf8E8M0FNU, #swizzled>
}
