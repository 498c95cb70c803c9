// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// An item is a band of 64 rows, whose blocks have 128 threads, each with 2 units of
// two words and eight pairs.
// CHECK-LABEL: func.func private @to_prepack_0(
// CHECK-SAME:      [[W:%.+]]: memref<200x40xi8>, [[P:%.+]]: memref<4x2x2048xi8>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:         scf.for [[COL:%.+]] = {{%.+}} to [[C2]] step
// CHECK:         scf.for {{%.+}} = {{%.+}} to [[C128]] step
// CHECK:         scf.for {{%.+}} = {{%.+}} to [[C2]] step
// CHECK-COUNT-8: memref.load [[W]]
// CHECK-COUNT-8: memref.store {{%.+}}, [[P]][[[ITEM]], [[COL]],
// CHECK-LABEL: func.func @to(
// CHECK:         [[ITEMS:%.+]] = arith.constant 4 : index
// CHECK:         call @to_prepack_0({{.*}}, [[ITEMS]])
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @to(%w: memref<200x40xi8>, %p: memref<4x2x2048xi8>) {
  blockscale.kernel ins(%w : memref<200x40xi8>) outs(%p : memref<4x2x2048xi8>) {
  ^bb0(%lw: tensor<200x80xf4E2M1FN>, %lp: tensor<200x80xf4E2M1FN, #prepacked>):
    %0 = blockscale.prepack %lw : tensor<200x80xf4E2M1FN> -> tensor<200x80xf4E2M1FN, #prepacked>
    blockscale.yield %0 : tensor<200x80xf4E2M1FN, #prepacked>
  }
  return
}

// -----

// The other way, bytes beyond the matrix are not stored.
// CHECK-LABEL: func.func private @from_prepack_0(
// CHECK-SAME:      [[P:%.+]]: memref<1x2x4096xi8>, [[W:%.+]]: memref<7x80xf8E5M2>,
// CHECK:         memref.load [[P]]
// CHECK:         scf.if
// CHECK:           memref.store {{%.+}}, [[W]]
#prepacked = #blockscale.data_layout<fragments_64x64>
func.func @from(%p: memref<1x2x4096xi8>, %w: memref<7x80xf8E5M2>) {
  blockscale.kernel ins(%p : memref<1x2x4096xi8>) outs(%w : memref<7x80xf8E5M2>) {
  ^bb0(%lp: tensor<7x80xf8E5M2, #prepacked>, %lw: tensor<7x80xf8E5M2>):
    %0 = blockscale.prepack %lp : tensor<7x80xf8E5M2, #prepacked> -> tensor<7x80xf8E5M2>
    blockscale.yield %0 : tensor<7x80xf8E5M2>
  }
  return
}
