// RUN: blockscale-opt %s -resolve-shaped-type-result-dims -canonicalize -cse | FileCheck %s

// Sizes of results from sizes of operands.

// CHECK-DAG: #[[UP16:.+]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-DAG: #[[UP32:.+]] = affine_map<()[s0] -> (s0 ceildiv 32)>
// CHECK-DAG: #[[PADDED:.+]] = affine_map<()[s0, s1] -> (((s0 + s1 * 31) floordiv 32) * 32)>

// Transposed data, and scales in units of either side of a block.
// CHECK-LABEL: func.func @quantize
// CHECK-SAME: %[[X:.+]]: tensor<?x?x?xbf16>
func.func @quantize(%x: tensor<?x?x?xbf16>) -> (index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<?x?x?xbf16> -> tensor<?x?x?xf8E4M3FN>, tensor<?x?x?xf8E8M0FNU>
  %0 = tensor.dim %q, %c0 : tensor<?x?x?xf8E4M3FN>
  %1 = tensor.dim %q, %c1 : tensor<?x?x?xf8E4M3FN>
  %2 = tensor.dim %q, %c2 : tensor<?x?x?xf8E4M3FN>
  %3 = tensor.dim %s, %c0 : tensor<?x?x?xf8E8M0FNU>
  %4 = tensor.dim %s, %c1 : tensor<?x?x?xf8E8M0FNU>
  %5 = tensor.dim %s, %c2 : tensor<?x?x?xf8E8M0FNU>
  // CHECK-DAG: %[[B:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[K:.+]] = tensor.dim %[[X]], %c2
  // CHECK-DAG: %[[R:.+]] = affine.apply #[[UP32]]()[%[[M]]]
  // CHECK: return %[[B]], %[[K]], %[[M]], %[[B]], %[[K]], %[[R]]
  return %0, %1, %2, %3, %4, %5 : index, index, index, index, index, index
}

// CHECK-LABEL: func.func @expanded
// CHECK-SAME: %[[X:.+]]: tensor<?x?xbf16>
func.func @expanded(%x: tensor<?x?xbf16>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %k = blockscale.quantize %x block [16, 16] scale_dim k recipe te : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %r, %n = blockscale.quantize %x block [16, 16] scale_dim n recipe te : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %0 = tensor.dim %k, %c0 : tensor<?x?xf8E4M3FN>
  %1 = tensor.dim %k, %c1 : tensor<?x?xf8E4M3FN>
  %2 = tensor.dim %n, %c0 : tensor<?x?xf8E4M3FN>
  %3 = tensor.dim %n, %c1 : tensor<?x?xf8E4M3FN>
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[K:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[KB:.+]] = affine.apply #[[UP16]]()[%[[K]]]
  // CHECK-DAG: %[[MB:.+]] = affine.apply #[[UP16]]()[%[[M]]]
  // CHECK: return %[[M]], %[[KB]], %[[K]], %[[MB]]
  return %0, %1, %2, %3 : index, index, index, index
}

// CHECK-LABEL: func.func @expand_scale
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x?xf8E8M0FNU>, %[[N:[a-z0-9]+]]: index
func.func @expand_scale(%s: tensor<?x?xf8E8M0FNU>, %n: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = blockscale.expand_scale %s block [32, 32] scale_dim n sizes(%n) : tensor<?x?xf8E8M0FNU> -> tensor<?x?xf8E8M0FNU>
  %f = blockscale.expand_scale %s block [32, 32] scale_dim k : tensor<?x?xf8E8M0FNU> -> tensor<64x?xf8E8M0FNU>
  %0 = tensor.dim %e, %c0 : tensor<?x?xf8E8M0FNU>
  %1 = tensor.dim %e, %c1 : tensor<?x?xf8E8M0FNU>
  %2 = tensor.dim %f, %c1 : tensor<64x?xf8E8M0FNU>
  // CHECK-DAG: %[[R:.+]] = tensor.dim %[[S]], %c0
  // CHECK-DAG: %[[C:.+]] = tensor.dim %[[S]], %c1
  // CHECK: return %[[N]], %[[R]], %[[C]]
  return %0, %1, %2 : index, index, index
}

// CHECK-LABEL: func.func @amax
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x?xf32>, %[[Y:[a-z0-9]+]]: tensor<?x?xf32>, %[[ENDS:[a-z0-9]+]]: tensor<?xi32>
func.func @amax(%x: tensor<?x?x?xf32>, %y: tensor<?x?xf32>, %ends: tensor<?xi32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = blockscale.amax %x : tensor<?x?x?xf32> -> tensor<?x?xf32>
  %g = blockscale.amax %y offsets(%ends : tensor<?xi32>) group_dim 1 : tensor<?x?xf32> -> tensor<?xf32>
  %o = blockscale.amax_over_ranks %r : tensor<?x?xf32> -> tensor<?x?xf32>
  %0 = tensor.dim %o, %c0 : tensor<?x?xf32>
  %1 = tensor.dim %r, %c1 : tensor<?x?xf32>
  %2 = tensor.dim %g, %c0 : tensor<?xf32>
  // CHECK-DAG: %[[B:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[G:.+]] = tensor.dim %[[ENDS]], %c0
  // CHECK: return %[[B]], %[[M]], %[[G]]
  return %0, %1, %2 : index, index, index
}

// Each group is padded to blocks of 32 rows.
// CHECK-LABEL: func.func @pad_groups
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xbf16>, %[[ENDS:[a-z0-9]+]]: tensor<?xi32>
func.func @pad_groups(%x: tensor<?x?xbf16>, %ends: tensor<?xi32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %e = blockscale.pad_groups %x offsets(%ends : tensor<?xi32>) unit 32 : tensor<?x?xbf16> -> tensor<?x?xbf16>
  %0 = tensor.dim %p, %c0 : tensor<?x?xbf16>
  %1 = tensor.dim %p, %c1 : tensor<?x?xbf16>
  %2 = tensor.dim %e, %c0 : tensor<?xi32>
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[K:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[G:.+]] = tensor.dim %[[ENDS]], %c0
  // CHECK-DAG: %[[P:.+]] = affine.apply #[[PADDED]]()[%[[M]], %[[G]]]
  // CHECK: return %[[P]], %[[K]], %[[G]]
  return %0, %1, %2 : index, index, index
}

// CHECK-LABEL: func.func @others
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xbf16>, %[[A:[a-z0-9]+]]: f32
func.func @others(%x: tensor<?x?xbf16>, %a: f32) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = blockscale.hadamard %x dim 0 : tensor<?x?xbf16>
  %b = blockscale.scale_sweep %h global_amax(%a : f32) : tensor<?x?xbf16> -> tensor<?x?xf32>
  %0 = tensor.dim %h, %c0 : tensor<?x?xbf16>
  %1 = tensor.dim %b, %c0 : tensor<?x?xf32>
  %2 = tensor.dim %b, %c1 : tensor<?x?xf32>
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[K:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[KB:.+]] = affine.apply #[[UP16]]()[%[[K]]]
  // CHECK: return %[[M]], %[[M]], %[[KB]]
  return %0, %1, %2 : index, index, index
}

// Prepacking changes no size; the other way they are operands.
// CHECK-LABEL: func.func @prepack
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<?x64xf4E2M1FN>, %{{.+}}: tensor<?x?xi8, #prepacked>, %[[R:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @prepack(%w: tensor<?x64xf4E2M1FN>, %q: tensor<?x?xi8, #prepacked>, %r: index, %c: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = blockscale.prepack %w : tensor<?x64xf4E2M1FN> -> tensor<?x64xf4E2M1FN, #prepacked>
  %u = blockscale.prepack %q sizes(%r, %c) : tensor<?x?xi8, #prepacked> -> tensor<?x?xi8>
  %0 = tensor.dim %p, %c0 : tensor<?x64xf4E2M1FN, #prepacked>
  %1 = tensor.dim %u, %c0 : tensor<?x?xi8>
  %2 = tensor.dim %u, %c1 : tensor<?x?xi8>
  // CHECK: %[[N:.+]] = tensor.dim %[[W]], %c0
  // CHECK: return %[[N]], %[[R]], %[[C]]
  return %0, %1, %2 : index, index, index
}

// Rows of prepacked data are those of the scales, whatever made these, or of the bias.
// CHECK-LABEL: func.func @rows_of_prepacked
// CHECK-SAME: %{{.+}}: tensor<8x64xbf16>, %{{.+}}: tensor<?x64xf8E4M3FN, #prepacked>, %[[S:[a-z0-9]+]]: tensor<?x2xf8E8M0FNU>, %{{.+}}: tensor<?x2xf8E8M0FNU, #swizzled>, %[[BIAS:[a-z0-9]+]]: tensor<?xbf16>
func.func @rows_of_prepacked(%x: tensor<8x64xbf16>, %w: tensor<?x64xf8E4M3FN, #prepacked>, %s: tensor<?x2xf8E8M0FNU>,
                             %u: tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, %bias: tensor<?xbf16>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = blockscale.swizzle %s : tensor<?x2xf8E8M0FNU> -> tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      : tensor<8x64xbf16>, tensor<?x64xf8E4M3FN, #prepacked>, tensor<?x2xf8E8M0FNU> -> tensor<8x?xbf16>
  %z = blockscale.scaled_mm %w, %x scales(%t, none) block [1, 32]
      : tensor<?x64xf8E4M3FN, #prepacked>, tensor<8x64xbf16>, tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>> -> tensor<?x8xbf16>
  %v = blockscale.scaled_mm %x, %w scales(none, %u) block [1, 32] bias(%bias : tensor<?xbf16>)
      : tensor<8x64xbf16>, tensor<?x64xf8E4M3FN, #prepacked>, tensor<?x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>> -> tensor<8x?xbf16>
  %0 = tensor.dim %y, %c1 : tensor<8x?xbf16>
  %1 = tensor.dim %z, %c0 : tensor<?x8xbf16>
  %2 = tensor.dim %z, %c1 : tensor<?x8xbf16>
  %3 = tensor.dim %v, %c1 : tensor<8x?xbf16>
  // CHECK-DAG: %[[N:.+]] = tensor.dim %[[S]], %c0
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[BIAS]], %c0
  // CHECK: return %[[N]], %[[N]], %c8, %[[M]]
  return %0, %1, %2, %3 : index, index, index, index
}
