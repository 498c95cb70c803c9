// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_80 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_100a | FileCheck %s
// RUN: blockscale-opt %s "--blockscale-decode-product-operands=chip=" | FileCheck %s
// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_90a --remarks-filter-missed=gpu-launch 2>&1 | FileCheck %s --check-prefix=HOPPER
// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_100a --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#swizzled = #blockscale.layout<swizzle_128x4>
#prepacked = #blockscale.data_layout<fragments_64x64>

// An MN-major operand with scales is decoded on every target, from the data and scales as they are. The
// global scale stays the product's, of which both operands are plain then.
// HOPPER: (scaled_mm_c11): codes are decoded where they are multiplied only along K, or across it of prepacked data of b whose global scale multiplies sums, but this operand is mn_major_b"
// HOPPER-LABEL: func.func @sums
// HOPPER: blockscale.dequantize
// REMARK: Remark="'blockscale.scaled_mm' reads bf16 values of b that a kernel before it decodes (scaled_mm_c11): codes are decoded where they are multiplied only along K, but this operand is mn_major_b"
// CHECK-LABEL: func.func @sums
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<?x80xbf16>, %[[W:[a-z0-9]+]]: tensor<80x96xf4E2M1FN>, %[[S:[a-z0-9]+]]: tensor<80x6xf8E4M3FN, #swizzled>, %[[G:[a-z0-9]+]]: tensor<f32>
// CHECK: %[[V:.+]] = blockscale.dequantize %[[W]], %[[S]] block [1, 16] : tensor<80x96xf4E2M1FN>, tensor<80x6xf8E4M3FN, #swizzled> -> tensor<80x96xbf16>
// CHECK: blockscale.scaled_mm %[[DY]], %[[V]] mn_major_b scales(none, none) block [1, 16] global_scale_b(%[[G]] : tensor<f32>) : tensor<?x80xbf16>, tensor<80x96xbf16> -> tensor<?x96xbf16>
func.func @sums(%dy: tensor<?x80xbf16>, %w: tensor<80x96xf4E2M1FN>, %s: tensor<80x6xf8E4M3FN, #swizzled>, %g: tensor<f32>) -> tensor<?x96xbf16> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 16] global_scale_b(%g : tensor<f32>)
      : tensor<?x80xbf16>, tensor<80x96xf4E2M1FN>, tensor<80x6xf8E4M3FN, #swizzled> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// A global scale that multiplies elements is that of the decoded values, in the type of the other operand.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<2x8x48xf16>, %[[W:[a-z0-9]+]]: tensor<2x48x32xf4E2M1FN>, %[[S:[a-z0-9]+]]: tensor<2x48x2xf8E4M3FN>, %[[G:[a-z0-9]+]]: tensor<2xf32>
// CHECK: %[[V:.+]] = blockscale.dequantize %[[W]], %[[S]] block [1, 16] global_scale(%[[G]] : tensor<2xf32>) : tensor<2x48x32xf4E2M1FN>, tensor<2x48x2xf8E4M3FN> -> tensor<2x48x32xf16>
// CHECK: blockscale.scaled_mm %[[DY]], %[[V]] mn_major_b scales(none, none) block [1, 16] order chain : tensor<2x8x48xf16>
func.func @elements(%dy: tensor<2x8x48xf16>, %w: tensor<2x48x32xf4E2M1FN>, %s: tensor<2x48x2xf8E4M3FN>, %g: tensor<2xf32>) -> tensor<2x8x32xf32> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 16] global_scale_b(%g : tensor<2xf32>) global_scaling in_elements order chain
      : tensor<2x8x48xf16>, tensor<2x48x32xf4E2M1FN>, tensor<2x48x2xf8E4M3FN> -> tensor<2x8x32xf32>
  return %y : tensor<2x8x32xf32>
}

// Prepacked data are brought back to rows first. The block of two plain operands is that of K. Kernels of
// Hopper decode them as they are.
// HOPPER-LABEL: func.func @groups
// HOPPER-NOT: blockscale.dequantize
// HOPPER: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} mn_major_b offsets(%{{.+}}) scales(none, %{{.+}}) block [1, 32]
// CHECK-LABEL: func.func @groups
// CHECK-SAME: %{{.+}}: tensor<24x80xbf16>, %[[W:[a-z0-9]+]]: tensor<?x80x64xf8E4M3FN, #{{.+}}>, %[[ENDS:[a-z0-9]+]]: tensor<?xi32>
// CHECK: %[[G:.+]] = tensor.dim %[[ENDS]], %{{.+}}
// CHECK: %[[R:.+]] = blockscale.prepack %[[W]] sizes(%[[G]]) : tensor<?x80x64xf8E4M3FN, #{{.+}}> -> tensor<?x80x64xf8E4M3FN>
// CHECK: %[[V:.+]] = blockscale.dequantize %[[R]], %{{.+}} block [1, 32] : {{.+}} -> tensor<?x80x64xbf16>
// CHECK: blockscale.scaled_grouped_mm %{{.+}}, %[[V]] mn_major_b offsets(%[[ENDS]]) scales(none, none) block [1, 16]
func.func @groups(%dy: tensor<24x80xbf16>, %w: tensor<?x80x64xf8E4M3FN, #prepacked>, %ends: tensor<?xi32>, %s: tensor<?x80x2xf8E8M0FNU>) -> tensor<24x64xbf16> {
  %y = blockscale.scaled_grouped_mm %dy, %w mn_major_b offsets(%ends) scales(none, %s) block [1, 32]
      : tensor<24x80xbf16>, tensor<?x80x64xf8E4M3FN, #prepacked>, tensor<?xi32>, tensor<?x80x2xf8E8M0FNU> -> tensor<24x64xbf16>
  return %y : tensor<24x64xbf16>
}

// Where a global scale multiplies elements, Hopper's do not.
// HOPPER-LABEL: func.func @packed_elements
// HOPPER: blockscale.dequantize
// CHECK-LABEL: func.func @packed_elements
// CHECK: blockscale.dequantize
func.func @packed_elements(%dy: tensor<8x64xbf16>, %w: tensor<64x64xf4E2M1FN, #prepacked>, %s: tensor<64x4xf8E4M3FN>, %g: tensor<f32>) -> tensor<8x64xf32> {
  %y = blockscale.scaled_mm %dy, %w mn_major_b scales(none, %s) block [1, 16] global_scale_b(%g : tensor<f32>) global_scaling in_elements
      : tensor<8x64xbf16>, tensor<64x64xf4E2M1FN, #prepacked>, tensor<64x4xf8E4M3FN> -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Weights on the left are decoded as well.
// CHECK-LABEL: func.func @left
// CHECK: %[[V:.+]] = blockscale.dequantize
// CHECK: blockscale.scaled_mm %[[V]], %{{.+}} mn_major_a scales(none, none) block [1, 16]
func.func @left(%w: tensor<80x96xf8E5M2>, %s: tensor<80x3xf8E8M0FNU>, %x: tensor<8x80xbf16>) -> tensor<96x8xf32> {
  %y = blockscale.scaled_mm %w, %x mn_major_a scales(%s, none) block [1, 32]
      : tensor<80x96xf8E5M2>, tensor<8x80xbf16>, tensor<80x3xf8E8M0FNU> -> tensor<96x8xf32>
  return %y : tensor<96x8xf32>
}

// Kernels read K-major codes, and plain operands of every order.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: blockscale.dequantize
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, %{{.+}}) block [1, 16]
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_b scales(none, none)
func.func @kept(%x: tensor<8x96xbf16>, %w: tensor<80x96xf4E2M1FN>, %s: tensor<80x6xf8E4M3FN>, %v: tensor<96x80xbf16>) -> (tensor<8x80xf32>, tensor<8x80xf32>) {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<8x96xbf16>, tensor<80x96xf4E2M1FN>, tensor<80x6xf8E4M3FN> -> tensor<8x80xf32>
  %z = blockscale.scaled_mm %x, %v mn_major_b scales(none, none) block [1, 16]
      : tensor<8x96xbf16>, tensor<96x80xbf16> -> tensor<8x80xf32>
  return %y, %z : tensor<8x80xf32>, tensor<8x80xf32>
}
