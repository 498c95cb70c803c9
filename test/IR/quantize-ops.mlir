// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#grouped = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

// CHECK-LABEL: func.func @amax
// CHECK-SAME: %[[X:.+]]: tensor<2x64x128xbf16>
func.func @amax(%x: tensor<2x64x128xbf16>) -> (tensor<f32>, tensor<2xf32>) {
  // CHECK: blockscale.amax %[[X]] : tensor<2x64x128xbf16> -> tensor<f32>
  %a = blockscale.amax %x : tensor<2x64x128xbf16> -> tensor<f32>
  // CHECK: blockscale.amax %[[X]] : tensor<2x64x128xbf16> -> tensor<2xf32>
  %b = blockscale.amax %x : tensor<2x64x128xbf16> -> tensor<2xf32>
  return %a, %b : tensor<f32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @global_scale
// CHECK-SAME: %[[A:.+]]: tensor<?xf32>
func.func @global_scale(%a: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: %[[G:.+]] = blockscale.global_scale %[[A]] : tensor<?xf32>
  %g = blockscale.global_scale %a : tensor<?xf32>
  // CHECK: blockscale.global_scale %[[G]] recipe te : tensor<?xf32>
  %h = blockscale.global_scale %g recipe te : tensor<?xf32>
  return %h : tensor<?xf32>
}

// CHECK-LABEL: func.func @quantize
// CHECK-SAME: %[[X:.+]]: tensor<?x?xf32>, %[[G:.+]]: tensor<f32>
func.func @quantize(%x: tensor<?x?xf32>, %g: tensor<f32>) {
  // CHECK: blockscale.quantize %[[X]] block [1, 16] : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %0, %1 = blockscale.quantize %x block [1, 16]
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] recipe te global_scale(%[[G]] : tensor<f32>)
  // CHECK-SAME: tensor<?x?xf8E4M3FN, #swizzled>
  %2, %3 = blockscale.quantize %x block [1, 16] recipe te global_scale(%g : tensor<f32>)
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] recipe mslk global_amax(%[[G]] : tensor<f32>)
  %4, %5 = blockscale.quantize %x block [1, 16] recipe mslk global_amax(%g : tensor<f32>)
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  // CHECK: blockscale.quantize %[[X]] block [1, 16] global_amax(%[[G]] : tensor<f32>) nonzero_amax : tensor<?x?xf32>
  %8, %9 = blockscale.quantize %x block [1, 16] global_amax(%g : tensor<f32>) nonzero_amax
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  // CHECK: blockscale.quantize %[[X]] block [1, 32] recipe floor : tensor<?x?xf32> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  %6, %7 = blockscale.quantize %x block [1, 32] recipe floor
      : tensor<?x?xf32> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  return
}

// A tail of 8 elements takes a scale where the recipe allows it.
// CHECK-LABEL: func.func @tail
func.func @tail(%x: tensor<4x40xbf16>) {
  // CHECK: recipe modelopt : tensor<4x40xbf16> -> tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN>
  %0, %1 = blockscale.quantize %x block [1, 16] recipe modelopt
      : tensor<4x40xbf16> -> tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN>
  // CHECK: recipe te : tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN> -> tensor<4x40xf32>
  %2 = blockscale.dequantize %0, %1 block [1, 16] recipe te
      : tensor<4x40xf4E2M1FN>, tensor<4x3xf8E4M3FN> -> tensor<4x40xf32>
  return
}

// A scalar global scale, and one a batch element.
// CHECK-LABEL: func.func @dequantize
// CHECK-SAME: %[[Q:.+]]: tensor<3x8x32xf4E2M1FN>, %[[S:.+]]: tensor<3x8x2xf8E4M3FN>, %[[G:.+]]: f32, %[[A:.+]]: tensor<3xf32>
func.func @dequantize(%q: tensor<3x8x32xf4E2M1FN>, %s: tensor<3x8x2xf8E4M3FN>, %g: f32, %a: tensor<3xf32>) {
  // CHECK: blockscale.dequantize %[[Q]], %[[S]] block [1, 16] global_scale(%[[G]] : f32)
  %0 = blockscale.dequantize %q, %s block [1, 16] global_scale(%g : f32)
      : tensor<3x8x32xf4E2M1FN>, tensor<3x8x2xf8E4M3FN> -> tensor<3x8x32xbf16>
  // CHECK: blockscale.dequantize %[[Q]], %[[S]] block [1, 16] recipe te global_amax(%[[A]] : tensor<3xf32>)
  // CHECK-SAME: -> tensor<3x8x32xf16>
  %1 = blockscale.dequantize %q, %s block [1, 16] recipe te global_amax(%a : tensor<3xf32>)
      : tensor<3x8x32xf4E2M1FN>, tensor<3x8x2xf8E4M3FN> -> tensor<3x8x32xf16>
  return
}

// CHECK-LABEL: func.func @swizzle
// CHECK-SAME: %[[S:.+]]: tensor<?x8xf8E8M0FNU>, %[[N:.+]]: index, %[[ENDS:.+]]: tensor<3xi32>
func.func @swizzle(%s: tensor<?x8xf8E8M0FNU>, %n: index, %ends: tensor<3xi32>) {
  // CHECK: %[[T:.+]] = blockscale.swizzle %[[S]] : tensor<?x8xf8E8M0FNU> -> tensor<?x8xf8E8M0FNU, #swizzled>
  %t = blockscale.swizzle %s : tensor<?x8xf8E8M0FNU> -> tensor<?x8xf8E8M0FNU, #swizzled>
  // CHECK: blockscale.swizzle %[[T]] sizes(%[[N]])
  %u = blockscale.swizzle %t sizes(%n)
      : tensor<?x8xf8E8M0FNU, #swizzled> -> tensor<?x8xf8E8M0FNU>
  // CHECK: %[[V:.+]] = blockscale.swizzle %[[S]] offsets(%[[ENDS]] : tensor<3xi32>) block 32
  %v = blockscale.swizzle %s offsets(%ends : tensor<3xi32>) block 32
      : tensor<?x8xf8E8M0FNU> -> tensor<?x8xf8E8M0FNU, #grouped>
  // CHECK: blockscale.swizzle %[[V]] offsets(%[[ENDS]] : tensor<3xi32>) sizes(%[[N]]) block 32
  %w = blockscale.swizzle %v offsets(%ends : tensor<3xi32>) sizes(%n) block 32
      : tensor<?x8xf8E8M0FNU, #grouped> -> tensor<?x8xf8E8M0FNU>
  return
}
