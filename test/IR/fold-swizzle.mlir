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
