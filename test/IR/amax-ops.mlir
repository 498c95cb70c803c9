// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

// One value a row, with a batch and without.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x128xbf16>, %[[W:[a-z0-9]+]]: tensor<2x?x128xf32>
func.func @rows(%x: tensor<64x128xbf16>, %w: tensor<2x?x128xf32>) {
  // CHECK: blockscale.amax %[[X]] : tensor<64x128xbf16> -> tensor<64xf32>
  %0 = blockscale.amax %x : tensor<64x128xbf16> -> tensor<64xf32>
  // CHECK: blockscale.amax %[[W]] : tensor<2x?x128xf32> -> tensor<2x?xf32>
  %1 = blockscale.amax %w : tensor<2x?x128xf32> -> tensor<2x?xf32>
  return
}

// One a group of rows, and of columns.
// CHECK-LABEL: func.func @groups
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xbf16>, %[[ENDS:[a-z0-9]+]]: tensor<?xi32>
func.func @groups(%x: tensor<?x128xbf16>, %ends: tensor<?xi32>) {
  // CHECK: blockscale.amax %[[X]] offsets(%[[ENDS]] : tensor<?xi32>) : tensor<?x128xbf16> -> tensor<?xf32>
  %0 = blockscale.amax %x offsets(%ends : tensor<?xi32>) : tensor<?x128xbf16> -> tensor<?xf32>
  // CHECK: blockscale.amax %[[X]] offsets(%[[ENDS]] : tensor<?xi32>) group_dim 1 : tensor<?x128xbf16> -> tensor<?xf32>
  %1 = blockscale.amax %x offsets(%ends : tensor<?xi32>) group_dim 1 : tensor<?x128xbf16> -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x2x?xf16>
func.func @parts(%x: tensor<?x2x?xf16>) {
  // CHECK: %[[P:.+]] = blockscale.amax_parts %[[X]] : tensor<?x2x?xf16> -> tensor<1x8192xf32>
  %0 = blockscale.amax_parts %x : tensor<?x2x?xf16> -> tensor<1x8192xf32>
  // CHECK: blockscale.amax %[[P]] : tensor<1x8192xf32> -> tensor<f32>
  %1 = blockscale.amax %0 : tensor<1x8192xf32> -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @global_scale
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x?xf32>
func.func @global_scale(%a: tensor<2x?xf32>) {
  // CHECK: blockscale.global_scale %[[A]] recipe te_4over6_mae : tensor<2x?xf32>
  %0 = blockscale.global_scale %a recipe te_4over6_mae : tensor<2x?xf32>
  // CHECK: blockscale.global_scale %[[A]] nonzero_amax : tensor<2x?xf32>
  %1 = blockscale.global_scale %a nonzero_amax : tensor<2x?xf32>
  // CHECK: blockscale.global_scale %[[A]] recipe modelopt nonzero_amax : tensor<2x?xf32>
  %2 = blockscale.global_scale %a recipe modelopt nonzero_amax : tensor<2x?xf32>
  return
}

// CHECK-LABEL: func.func @scale_sweep
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x64xbf16>, %[[A:[a-z0-9]+]]: tensor<2xf32>, %[[H:[a-z0-9]+]]: tensor<4x16x16xf32>
func.func @scale_sweep(%x: tensor<2x8x64xbf16>, %a: tensor<2xf32>, %h: tensor<4x16x16xf32>, %y: tensor<?x?xf32>, %s: f32) {
  // CHECK: blockscale.scale_sweep %[[X]] global_amax(%[[A]] : tensor<2xf32>) : tensor<2x8x64xbf16> -> tensor<2x8x4xf32>
  %0 = blockscale.scale_sweep %x global_amax(%a : tensor<2xf32>) : tensor<2x8x64xbf16> -> tensor<2x8x4xf32>
  // CHECK: blockscale.scale_sweep %[[X]] global_amax(%[[A]] : tensor<2xf32>) hessian(%[[H]] : tensor<4x16x16xf32>)
  %1 = blockscale.scale_sweep %x global_amax(%a : tensor<2xf32>) hessian(%h : tensor<4x16x16xf32>)
      : tensor<2x8x64xbf16> -> tensor<2x8x4xf32>
  // CHECK: blockscale.scale_sweep %[[X]] global_amax(%[[A]] : tensor<2xf32>) nonzero_amax hessian(%[[H]] : tensor<4x16x16xf32>)
  %3 = blockscale.scale_sweep %x global_amax(%a : tensor<2xf32>) nonzero_amax hessian(%h : tensor<4x16x16xf32>)
      : tensor<2x8x64xbf16> -> tensor<2x8x4xf32>
  // A dynamic and a static size agree.
  // CHECK: global_amax({{.*}} : f32) : tensor<?x?xf32> -> tensor<?x4xf32>
  %2 = blockscale.scale_sweep %y global_amax(%s : f32) : tensor<?x?xf32> -> tensor<?x4xf32>
  return
}
