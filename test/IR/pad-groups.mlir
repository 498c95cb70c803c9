// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

// 96 rows in 3 groups take 5 blocks of 32 at most: 1, 1 and 94 rows.
// CHECK-LABEL: func.func @static
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<96x40xbf16>, %[[ENDS:[a-z0-9]+]]: tensor<3xi32>
func.func @static(%x: tensor<96x40xbf16>, %ends: tensor<3xi32>) -> (tensor<160x40xbf16>, tensor<3xi32>) {
  // CHECK: %[[P:.+]], %[[E:.+]] = blockscale.pad_groups %[[X]] offsets(%[[ENDS]] : tensor<3xi32>) unit 32 : tensor<96x40xbf16> -> tensor<160x40xbf16>
  %p, %e = blockscale.pad_groups %x offsets(%ends : tensor<3xi32>) unit 32 : tensor<96x40xbf16> -> tensor<160x40xbf16>
  return %p, %e : tensor<160x40xbf16>, tensor<3xi32>
}

// A unit of 1 pads nothing, and keeps the rows behind the last group as zeros.
// CHECK-LABEL: func.func @one
func.func @one(%x: tensor<96x?xf32>, %ends: tensor<3xi32>) -> tensor<96x?xf32> {
  // CHECK: blockscale.pad_groups %{{.+}} unit 1 : tensor<96x?xf32> -> tensor<96x?xf32>
  %p, %e = blockscale.pad_groups %x offsets(%ends : tensor<3xi32>) unit 1 : tensor<96x?xf32> -> tensor<96x?xf32>
  return %p : tensor<96x?xf32>
}

// Dynamic rows or groups make dynamic rows, of which a static number is one.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x40xf16>, %ends: tensor<3xi32>, %y: tensor<96x40xf16>, %more: tensor<?xi32>) {
  // CHECK: blockscale.pad_groups %{{.+}} unit 16 : tensor<?x40xf16> -> tensor<?x40xf16>
  %p, %pe = blockscale.pad_groups %x offsets(%ends : tensor<3xi32>) unit 16 : tensor<?x40xf16> -> tensor<?x40xf16>
  // CHECK: blockscale.pad_groups %{{.+}} unit 65536 : tensor<96x40xf16> -> tensor<65536x40xf16>
  %q, %qe = blockscale.pad_groups %y offsets(%more : tensor<?xi32>) unit 65536 : tensor<96x40xf16> -> tensor<65536x40xf16>
  return
}
