// RUN: blockscale-opt %s -transform-preload-library=transform-library-paths=%S/../Execution/Inputs/tile.mlir -transform-interpreter -canonicalize -cse | FileCheck %s

// Tiles of [32, 64], of hadamard [16, 32]; a scale tile starts at the block
// where its data does. The bytes are compared in test/Execution/tiling.mlir.

// CHECK-DAG: #[[BLOCK:.+]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-DAG: #[[BLOCK32:.+]] = affine_map<()[s0] -> (s0 ceildiv 32)>
// CHECK-DAG: #[[TIMES16:.+]] = affine_map<(d0) -> (d0 * 16)>
// CHECK-DAG: #[[TIMES32:.+]] = affine_map<(d0) -> (d0 * 32)>

// A value a row goes with the rows of the tile.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x128xbf16>, %[[G:[a-z0-9]+]]: tensor<64xf32>
func.func @rows(%x: tensor<64x128xbf16>, %g: tensor<64xf32>) -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>) {
  // CHECK: scf.for %[[I:.+]] = %c0 to %c64 step %c32
  // CHECK: scf.for %[[J:.+]] = %c0 to %c128 step %c64
  // CHECK-DAG: %[[XT:.+]] = tensor.extract_slice %[[X]][%[[I]], %[[J]]] [32, 64] [1, 1]
  // CHECK-DAG: %[[GT:.+]] = tensor.extract_slice %[[G]][%[[I]]] [32] [1]
  // CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[XT]] block [1, 16] recipe te global_scale(%[[GT]] : tensor<32xf32>) : tensor<32x64xbf16> -> tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>
  // CHECK-DAG: %[[B:.+]] = affine.apply #[[BLOCK]]()[%[[J]]]
  // CHECK-DAG: tensor.insert_slice %[[Q]] into %{{.+}}[%[[I]], %[[J]]] [32, 64] [1, 1]
  // CHECK-DAG: tensor.insert_slice %[[S]] into %{{.+}}[%[[I]], %[[B]]] [32, 4] [1, 1]
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_scale(%g : tensor<64xf32>) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %q, %s : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
}

// Transposed results have the tile (j, i) of the tile (i, j) of x.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x128xbf16>
func.func @transposed(%x: tensor<64x128xbf16>) -> (tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>) {
  // CHECK: scf.for %[[I:.+]] = %c0 to %c64 step %c32
  // CHECK: scf.for %[[J:.+]] = %c0 to %c128 step %c64
  // CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %{{.+}} block [32, 1] transposed : tensor<32x64xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  // CHECK-DAG: %[[B:.+]] = affine.apply #[[BLOCK32]]()[%[[I]]]
  // CHECK-DAG: tensor.insert_slice %[[Q]] into %{{.+}}[%[[J]], %[[I]]] [64, 32] [1, 1]
  // CHECK-DAG: tensor.insert_slice %[[S]] into %{{.+}}[%[[J]], %[[B]]] [64, 1] [1, 1]
  %q, %s = blockscale.quantize %x block [32, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
  return %q, %s : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
}

// Tiles of the scales that dequantize reads.
// CHECK-LABEL: func.func @dequantize
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<64x128xf8E4M3FN>, %[[S:[a-z0-9]+]]: tensor<2x4xf8E8M0FNU>
func.func @dequantize(%q: tensor<64x128xf8E4M3FN>, %s: tensor<2x4xf8E8M0FNU>) -> tensor<64x128xf32> {
  // CHECK: scf.for %[[I:.+]] = %c0 to %c64 step %c32
  // CHECK: scf.for %[[J:.+]] = %c0 to %c128 step %c64
  // CHECK-DAG: %[[R:.+]] = affine.apply #[[BLOCK32]]()[%[[I]]]
  // CHECK-DAG: %[[C:.+]] = affine.apply #[[BLOCK32]]()[%[[J]]]
  // CHECK-DAG: %[[QT:.+]] = tensor.extract_slice %[[Q]][%[[I]], %[[J]]] [32, 64] [1, 1]
  // CHECK-DAG: %[[ST:.+]] = tensor.extract_slice %[[S]][%[[R]], %[[C]]] [1, 2] [1, 1]
  // CHECK: blockscale.dequantize %[[QT]], %[[ST]] block [32, 32] : tensor<32x64xf8E4M3FN>, tensor<1x2xf8E8M0FNU> -> tensor<32x64xf32>
  %0 = blockscale.dequantize %q, %s block [32, 32] : tensor<64x128xf8E4M3FN>, tensor<2x4xf8E8M0FNU> -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @hadamard
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<32x64xbf16>
func.func @hadamard(%x: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
  // CHECK: scf.forall (%[[R:.+]], %[[C:.+]]) in (2, 2)
  // CHECK-DAG: %[[I:.+]] = affine.apply #[[TIMES16]](%[[R]])
  // CHECK-DAG: %[[J:.+]] = affine.apply #[[TIMES32]](%[[C]])
  // CHECK: %[[XT:.+]] = tensor.extract_slice %[[X]][%[[I]], %[[J]]] [16, 32] [1, 1]
  // CHECK: %[[Y:.+]] = blockscale.hadamard %[[XT]] dim 1 : tensor<16x32xbf16>
  // CHECK: tensor.parallel_insert_slice %[[Y]] into %{{.+}}[%[[I]], %[[J]]] [16, 32] [1, 1]
  %0 = blockscale.hadamard %x dim 1 : tensor<32x64xbf16>
  return %0 : tensor<32x64xbf16>
}
