// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#cols = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

// CHECK-LABEL: func.func @scaled_mm
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<48x64xf4E2M1FN>, %[[B:[a-z0-9]+]]: tensor<40x64xf4E2M1FN>, %[[SA:[a-z0-9]+]]: tensor<48x4xf8E4M3FN, #swizzled>, %[[SB:[a-z0-9]+]]: tensor<40x4xf8E4M3FN>, %[[G:[a-z0-9]+]]: tensor<f32>, %[[H:[a-z0-9]+]]: f32, %[[BIAS:[a-z0-9]+]]: tensor<40xbf16>
func.func @scaled_mm(%a: tensor<48x64xf4E2M1FN>, %b: tensor<40x64xf4E2M1FN>,
    %sa: tensor<48x4xf8E4M3FN, #swizzled>, %sb: tensor<40x4xf8E4M3FN>,
    %g: tensor<f32>, %h: f32, %bias: tensor<40xbf16>) {
  // CHECK: blockscale.scaled_mm %[[A]], %[[B]] scales(%[[SA]], %[[SB]]) block [1, 16] :
  // CHECK-SAME: -> tensor<48x40xf32>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>,
        tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  // CHECK: block [1, 16] global_scale_a(%[[G]] : tensor<f32>) global_scale_b(%[[H]] : f32) bias(%[[BIAS]] : tensor<40xbf16>) :
  // CHECK-SAME: -> tensor<48x40xbf16>
  %1 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%g : tensor<f32>) global_scale_b(%h : f32) bias(%bias : tensor<40xbf16>)
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>,
        tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN> -> tensor<48x40xbf16>
  return
}

// One operand is plain and has no scales, but maybe a global one: either one, also beside
// groups.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<48x64xbf16>, %[[Y:[a-z0-9]+]]: tensor<40x64xf16>, %[[W:[a-z0-9]+]]: tensor<40x64xf4E2M1FN>, %[[SW:[a-z0-9]+]]: tensor<40x4xf8E4M3FN>
func.func @plain(%x: tensor<48x64xbf16>, %y: tensor<40x64xf16>, %w: tensor<40x64xf4E2M1FN>,
    %sw: tensor<40x4xf8E4M3FN>, %v: tensor<3x40x64xf8E5M2>, %sv: tensor<3x40x2xf8E8M0FNU>,
    %ends: tensor<3xi32>, %g: f32) {
  // CHECK: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[SW]]) block [1, 16] global_scale_b(%{{.+}} : f32) :
  // CHECK-SAME: tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  %0 = blockscale.scaled_mm %x, %w scales(none, %sw) block [1, 16] global_scale_b(%g : f32)
      : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  // CHECK: blockscale.scaled_mm %[[W]], %[[Y]] scales(%[[SW]], none) block [1, 16] global_scale_b(%{{.+}} : f32) :
  // CHECK-SAME: tensor<40x64xf4E2M1FN>, tensor<40x64xf16>, tensor<40x4xf8E4M3FN> -> tensor<40x40xf32>
  %1 = blockscale.scaled_mm %w, %y scales(%sw, none) block [1, 16] global_scale_b(%g : f32)
      : tensor<40x64xf4E2M1FN>, tensor<40x64xf16>, tensor<40x4xf8E4M3FN> -> tensor<40x40xf32>
  // CHECK: blockscale.scaled_grouped_mm %[[X]], %{{.+}} offsets(%{{.+}}) scales(none, %{{.+}}) block [1, 32] :
  // CHECK-SAME: tensor<48x64xbf16>, tensor<3x40x64xf8E5M2>, tensor<3xi32>, tensor<3x40x2xf8E8M0FNU> -> tensor<48x40xf32>
  %2 = blockscale.scaled_grouped_mm %x, %v offsets(%ends) scales(none, %sv) block [1, 32]
      : tensor<48x64xbf16>, tensor<3x40x64xf8E5M2>, tensor<3xi32>, tensor<3x40x2xf8E8M0FNU> -> tensor<48x40xf32>
  return
}

// Without scales.
// CHECK-LABEL: func.func @both_plain
func.func @both_plain(%x: tensor<48x64xbf16>, %y: tensor<40x64xbf16>, %z: tensor<3x40x64xbf16>, %ends: tensor<3xi32>) {
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, none) block [1, 16] : tensor<48x64xbf16>, tensor<40x64xbf16> -> tensor<48x40xf32>
  %0 = blockscale.scaled_mm %x, %y scales(none, none) block [1, 16]
      : tensor<48x64xbf16>, tensor<40x64xbf16> -> tensor<48x40xf32>
  // CHECK: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} offsets(%{{.+}}) scales(none, none) block [1, 16] :
  // CHECK-SAME: tensor<48x64xbf16>, tensor<3x40x64xbf16>, tensor<3xi32> -> tensor<48x40xbf16>
  %1 = blockscale.scaled_grouped_mm %x, %z offsets(%ends) scales(none, none) block [1, 16]
      : tensor<48x64xbf16>, tensor<3x40x64xbf16>, tensor<3xi32> -> tensor<48x40xbf16>
  return
}

// Operands whose rows run along M or N.
// CHECK-LABEL: func.func @mn_major
func.func @mn_major(%x: tensor<64x48xf16>, %y: tensor<64x40xf16>, %z: tensor<3x64x40xf16>, %b: tensor<2x64x48xf16>, %c: tensor<2x40x64xf16>, %w: tensor<48x64xf16>, %ends: tensor<3xi32>) {
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_a mn_major_b scales(none, none) block [1, 16] : tensor<64x48xf16>, tensor<64x40xf16> -> tensor<48x40xf32>
  %0 = blockscale.scaled_mm %x, %y mn_major_a mn_major_b scales(none, none) block [1, 16]
      : tensor<64x48xf16>, tensor<64x40xf16> -> tensor<48x40xf32>
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_a scales(none, none)
  %1 = blockscale.scaled_mm %b, %c mn_major_a scales(none, none) block [1, 16]
      : tensor<2x64x48xf16>, tensor<2x40x64xf16> -> tensor<2x48x40xf32>
  // Groups of rows of A, and groups of K, which are rows of both.
  // CHECK: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} mn_major_b offsets(%{{.+}}) scales(none, none)
  %2 = blockscale.scaled_grouped_mm %w, %z mn_major_b offsets(%ends) scales(none, none) block [1, 16]
      : tensor<48x64xf16>, tensor<3x64x40xf16>, tensor<3xi32> -> tensor<48x40xf16>
  // CHECK: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} mn_major_a mn_major_b offsets(%{{.+}}) scales(none, none)
  %3 = blockscale.scaled_grouped_mm %x, %y mn_major_a mn_major_b offsets(%ends) scales(none, none) block [1, 16]
      : tensor<64x48xf16>, tensor<64x40xf16>, tensor<3xi32> -> tensor<3x48x40xf32>
  return
}

// Data with scales whose rows, and blocks, run along N or M.
// CHECK-LABEL: func.func @mn_major_scales
func.func @mn_major_scales(%dy: tensor<?x80xbf16>, %w: tensor<80x96xf4E2M1FN>, %s: tensor<80x6xf8E4M3FN, #swizzled>,
    %g: tensor<2xf32>, %x: tensor<2x8x48xf16>, %v: tensor<2x48x32xf4E2M1FN>, %t: tensor<2x48x2xf8E4M3FN>,
    %u: tensor<3x80x64xf8E4M3FN>, %r: tensor<3x80x2xf8E8M0FNU>, %ends: tensor<3xi32>, %y: tensor<80x16xbf16>, %one: f32,
    %e: tensor<24x80xbf16>) {
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_b scales(none, %{{.+}}) block [1, 16] : tensor<?x80xbf16>, tensor<80x96xf4E2M1FN>, tensor<80x6xf8E4M3FN, #{{.+}}> -> tensor<?x96xbf16>
  %0 = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 16]
      : tensor<?x80xbf16>, tensor<80x96xf4E2M1FN>, tensor<80x6xf8E4M3FN, #swizzled> -> tensor<?x96xbf16>
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_b scales(none, %{{.+}}) block [1, 16] global_scale_b(%{{.+}} : tensor<2xf32>) global_scaling in_elements
  %1 = blockscale.scaled_mm %x, %v mn_major_b scales(none, %t) block [1, 16] global_scale_b(%g : tensor<2xf32>) global_scaling in_elements
      : tensor<2x8x48xf16>, tensor<2x48x32xf4E2M1FN>, tensor<2x48x2xf8E4M3FN> -> tensor<2x8x32xf16>
  // K is no multiple of the block, which does not lie along it.
  // CHECK: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} mn_major_b offsets(%{{.+}}) scales(none, %{{.+}}) block [1, 32]
  %2 = blockscale.scaled_grouped_mm %e, %u mn_major_b offsets(%ends) scales(none, %r) block [1, 32]
      : tensor<24x80xbf16>, tensor<3x80x64xf8E4M3FN>, tensor<3xi32>, tensor<3x80x2xf8E8M0FNU> -> tensor<24x64xbf16>
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_a scales(%{{.+}}, none) block [1, 16]
  %3 = blockscale.scaled_mm %w, %dy mn_major_a scales(%s, none) block [1, 16]
      : tensor<80x96xf4E2M1FN>, tensor<?x80xbf16>, tensor<80x6xf8E4M3FN, #swizzled> -> tensor<96x?xf32>
  // Two plain operands have the global scales of what was decoded.
  // CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_b scales(none, none) block [1, 16] global_scale_b(%{{.+}} : f32)
  %4 = blockscale.scaled_mm %dy, %y mn_major_b scales(none, none) block [1, 16] global_scale_b(%one : f32)
      : tensor<?x80xbf16>, tensor<80x16xbf16> -> tensor<?x16xf32>
  return
}

// Batched, with two data types of one scale type.
// CHECK-LABEL: func.func @scaled_mm_mixed
func.func @scaled_mm_mixed(%a: tensor<2x?x64xf8E5M2>, %b: tensor<2x?x64xf4E2M1FN>,
    %sa: tensor<2x?x2xf8E8M0FNU>, %sb: tensor<2x?x2xf8E8M0FNU>) {
  // CHECK: blockscale.scaled_mm
  // CHECK-SAME: tensor<2x?x64xf8E5M2>, tensor<2x?x64xf4E2M1FN>
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<2x?x64xf8E5M2>, tensor<2x?x64xf4E2M1FN>,
        tensor<2x?x2xf8E8M0FNU>, tensor<2x?x2xf8E8M0FNU> -> tensor<2x?x?xf16>
  return
}

// 2d-3d: groups of rows; every expert has its own global scale.
// CHECK-LABEL: func.func @grouped_rows
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<96x64xf4E2M1FN>, %[[B:[a-z0-9]+]]: tensor<3x48x64xf4E2M1FN>, %[[ENDS:[a-z0-9]+]]: tensor<3xi32>, %[[SA:[a-z0-9]+]]: {{.+}}, %[[SB:[a-z0-9]+]]: {{.+}}, %[[G:[a-z0-9]+]]: tensor<3xf32>
func.func @grouped_rows(%a: tensor<96x64xf4E2M1FN>, %b: tensor<3x48x64xf4E2M1FN>,
    %ends: tensor<3xi32>, %sa: tensor<96x4xf8E4M3FN, #rows>,
    %sb: tensor<3x48x4xf8E4M3FN, #swizzled>, %g: tensor<3xf32>) {
  // CHECK: blockscale.scaled_grouped_mm %[[A]], %[[B]] offsets(%[[ENDS]]) scales(%[[SA]], %[[SB]]) block [1, 16]
  // CHECK-SAME: global_scale_b(%[[G]] : tensor<3xf32>)
  // CHECK-SAME: -> tensor<96x48xbf16>
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      global_scale_b(%g : tensor<3xf32>)
      : tensor<96x64xf4E2M1FN>, tensor<3x48x64xf4E2M1FN>, tensor<3xi32>,
        tensor<96x4xf8E4M3FN, #rows>, tensor<3x48x4xf8E4M3FN, #swizzled> -> tensor<96x48xbf16>
  return
}

// 2d-2d: groups of K.
// CHECK-LABEL: func.func @grouped_columns
func.func @grouped_columns(%a: tensor<16x96xf8E4M3FN>, %b: tensor<24x96xf8E4M3FN>,
    %ends: tensor<3xi32>, %sa: tensor<16x3xf8E8M0FNU, #cols>, %sb: tensor<24x3xf8E8M0FNU, #cols>) {
  // CHECK: blockscale.scaled_grouped_mm {{.*}} block [1, 32] : {{.*}} -> tensor<3x16x24xf32>
  %0 = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<16x96xf8E4M3FN>, tensor<24x96xf8E4M3FN>, tensor<3xi32>,
        tensor<16x3xf8E8M0FNU, #cols>, tensor<24x3xf8E8M0FNU, #cols> -> tensor<3x16x24xf32>
  return
}
