// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// A row has its own element of the result, which nothing else writes.
// CHECK-LABEL: func.func private @rows_amax_0(
// CHECK-SAME:      [[X:%.+]]: memref<2x4x128xf32>, [[A:%.+]]: memref<2x4xf32>,
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[ROW:%.+]] = arith.remui [[ITEM]], [[C4]]
// CHECK:           [[MATRIX:%.+]] = arith.divui [[ITEM]], [[C4]]
// CHECK:           vector.load [[X]][[[MATRIX]], [[ROW]], {{%.+}}]
// CHECK:           [[BITS:%.+]] = vector.reduction <maxui>
// CHECK:           [[AMAX:%.+]] = arith.bitcast [[BITS]] : i32 to f32
// CHECK:           memref.store [[AMAX]], [[A]][[[MATRIX]], [[ROW]]]
// CHECK-LABEL: func.func @rows(
// CHECK-NOT:     memref.store
// CHECK:         call @rows_amax_0
func.func @rows(%x: memref<2x4x128xf32>, %a: memref<2x4xf32>) {
  blockscale.kernel ins(%x : memref<2x4x128xf32>) outs(%a : memref<2x4xf32>) {
  ^bb0(%lx: tensor<2x4x128xf32>, %la: tensor<2x4xf32>):
    %0 = blockscale.amax %lx : tensor<2x4x128xf32> -> tensor<2x4xf32>
    blockscale.yield %0 : tensor<2x4xf32>
  }
  return
}

// -----

// Of each group of rows a range takes those that it has, and raises the group's
// element once.
// CHECK-LABEL: func.func private @row_groups_amax_0(
// CHECK-SAME:      [[X:%.+]]: memref<40x64xbf16>, [[ENDS:%.+]]: memref<3xi32>, [[A:%.+]]: memref<3xf32>,
// CHECK-SAME:      [[FIRST:%.+]]: index, [[LAST:%.+]]: index)
// CHECK-DAG:     [[C40:%.+]] = arith.constant 40 : index
// CHECK:         scf.for [[GROUP:%.+]] = {{.+}} iter_args([[BEGIN:%[a-z0-9]+]] = {{.+}})
// CHECK:           memref.load [[ENDS]][[[GROUP]]]
// CHECK:           arith.cmpi sgt, {{%.+}}, [[C40]]
// CHECK:           [[INSIDE:%.+]] = arith.select
// CHECK:           [[END:%.+]] = arith.maxsi [[INSIDE]], [[BEGIN]]
// CHECK:           [[FROM:%.+]] = arith.maxsi [[BEGIN]], [[FIRST]]
// CHECK:           [[TO:%.+]] = arith.minsi [[END]], [[LAST]]
// CHECK:           scf.for [[ROW:%.+]] = [[FROM]] to [[TO]]
// CHECK:             vector.load [[X]][[[ROW]], {{%.+}}]
// CHECK:             vector.reduction <maxui>
// CHECK:           memref.atomic_rmw maximumf {{%.+}}, [[A]][[[GROUP]]]
// CHECK-LABEL: func.func @row_groups(
// CHECK:         memref.store
// CHECK:         call @row_groups_amax_0
func.func @row_groups(%x: memref<40x64xbf16>, %ends: memref<3xi32>, %a: memref<3xf32>) {
  blockscale.kernel ins(%x, %ends : memref<40x64xbf16>, memref<3xi32>) outs(%a : memref<3xf32>) {
  ^bb0(%lx: tensor<40x64xbf16>, %lends: tensor<3xi32>, %la: tensor<3xf32>):
    %0 = blockscale.amax %lx offsets(%lends : tensor<3xi32>) : tensor<40x64xbf16> -> tensor<3xf32>
    blockscale.yield %0 : tensor<3xf32>
  }
  return
}

// -----

// Of each group of columns a range takes all, in its rows. The result has as many
// elements as there are offsets.
// CHECK:       "amax: expected dimension 0 of the result to fit the shape of offsets\00"
// CHECK-LABEL: func.func private @col_groups_amax_0(
// CHECK-SAME:      [[X:%.+]]: memref<40x64xf32>, {{%.+}}: memref<?xi32>, [[A:%.+]]: memref<?xf32>,
// CHECK-SAME:      [[FIRST:%.+]]: index, [[LAST:%.+]]: index)
// CHECK-DAG:     [[C64:%.+]] = arith.constant 64 : index
// CHECK:         scf.for [[GROUP:%.+]] = {{.+}} iter_args([[BEGIN:%[a-z0-9]+]] = {{.+}})
// CHECK:           arith.cmpi sgt, {{%.+}}, [[C64]]
// CHECK:           [[INSIDE:%.+]] = arith.select
// CHECK:           [[END:%.+]] = arith.maxsi [[INSIDE]], [[BEGIN]]
// CHECK:           scf.for [[ROW:%.+]] = [[FIRST]] to [[LAST]]
// CHECK:             scf.for [[COL:%.+]] = [[BEGIN]] to [[WHOLE:%.+]] step [[C64]]
// CHECK:               vector.load [[X]][[[ROW]], [[COL]]]
// CHECK:             scf.for [[COL:%.+]] = [[WHOLE]] to [[END]]
// CHECK:               memref.load [[X]][[[ROW]], [[COL]]]
// CHECK:           memref.atomic_rmw maximumf {{%.+}}, [[A]][[[GROUP]]]
func.func @col_groups(%x: memref<40x64xf32>, %ends: memref<?xi32>, %a: memref<?xf32>) {
  blockscale.kernel ins(%x, %ends : memref<40x64xf32>, memref<?xi32>) outs(%a : memref<?xf32>) {
  ^bb0(%lx: tensor<40x64xf32>, %lends: tensor<?xi32>, %la: tensor<?xf32>):
    %0 = blockscale.amax %lx offsets(%lends : tensor<?xi32>) group_dim 1 : tensor<40x64xf32> -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  return
}
