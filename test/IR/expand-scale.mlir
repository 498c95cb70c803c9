// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @static
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<3x2x5xf8E4M3FN>
func.func @static(%s: tensor<3x2x5xf8E4M3FN>) {
  // CHECK: blockscale.expand_scale %[[S]] block [16, 16] scale_dim k : tensor<3x2x5xf8E4M3FN> -> tensor<3x32x5xf8E4M3FN>
  %0 = blockscale.expand_scale %s block [16, 16] scale_dim k : tensor<3x2x5xf8E4M3FN> -> tensor<3x32x5xf8E4M3FN>
  // The last block may be short.
  // CHECK: blockscale.expand_scale %[[S]] block [16, 16] scale_dim n : tensor<3x2x5xf8E4M3FN> -> tensor<3x70x2xf8E4M3FN, #swizzled>
  %1 = blockscale.expand_scale %s block [16, 16] scale_dim n : tensor<3x2x5xf8E4M3FN> -> tensor<3x70x2xf8E4M3FN, #swizzled>
  return
}

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x?xf8E8M0FNU>, %[[N:[a-z0-9]+]]: index
func.func @dynamic(%s: tensor<?x?xf8E8M0FNU>, %n: index) {
  // CHECK: blockscale.expand_scale %[[S]] block [32, 32] scale_dim k sizes(%[[N]]) : tensor<?x?xf8E8M0FNU> -> tensor<?x?xf8E8M0FNU, #swizzled>
  %0 = blockscale.expand_scale %s block [32, 32] scale_dim k sizes(%n) : tensor<?x?xf8E8M0FNU> -> tensor<?x?xf8E8M0FNU, #swizzled>
  // CHECK: blockscale.expand_scale %[[S]] block [32, 32] scale_dim n : tensor<?x?xf8E8M0FNU> -> tensor<64x?xf8E8M0FNU>
  %1 = blockscale.expand_scale %s block [32, 32] scale_dim n : tensor<?x?xf8E8M0FNU> -> tensor<64x?xf8E8M0FNU>
  return
}
