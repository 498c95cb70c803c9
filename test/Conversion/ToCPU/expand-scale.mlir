// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// An item is a block of rows: the first is copied from the source, the others from
// the first. The last block ends with the result.
// CHECK-LABEL: func.func private @k_expand_scale_0(
// CHECK-SAME:      [[S:%.+]]: memref<3x5xf8E4M3FN>, [[E:%.+]]: memref<40x5xf8E4M3FN>,
// CHECK-DAG:     [[C1:%.+]] = arith.constant 1 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C40:%.+]] = arith.constant 40 : index
// CHECK:         scf.for [[BLOCK:%.+]] =
// CHECK:           [[FIRST:%.+]] = arith.muli [[BLOCK]], [[C16]]
// CHECK:           [[REST:%.+]] = arith.subi [[C40]], [[FIRST]]
// CHECK:           [[ROWS:%.+]] = arith.minsi [[REST]], [[C16]]
// CHECK:             vector.load [[S]][[[BLOCK]], {{%.+}}]
// CHECK:             vector.store {{%.+}}, [[E]][[[FIRST]], {{%.+}}]
// CHECK:           scf.for [[I:%.+]] = [[C1]] to [[ROWS]]
// CHECK:             [[ROW:%.+]] = arith.addi [[FIRST]], [[I]]
// CHECK:               vector.load [[E]][[[FIRST]], {{%.+}}]
// CHECK:               vector.store {{%.+}}, [[E]][[[ROW]], {{%.+}}]
// CHECK-LABEL: func.func @k(
// CHECK:         [[ITEMS:%.+]] = arith.constant 3 : index
// CHECK:         call @k_expand_scale_0({{.*}}, [[ITEMS]])
func.func @k(%s: memref<3x5xf8E4M3FN>, %e: memref<40x5xf8E4M3FN>) {
  blockscale.kernel ins(%s : memref<3x5xf8E4M3FN>) outs(%e : memref<40x5xf8E4M3FN>) {
  ^bb0(%ls: tensor<3x5xf8E4M3FN>, %le: tensor<40x5xf8E4M3FN>):
    %0 = blockscale.expand_scale %ls block [16, 16] scale_dim k : tensor<3x5xf8E4M3FN> -> tensor<40x5xf8E4M3FN>
    blockscale.yield %0 : tensor<40x5xf8E4M3FN>
  }
  return
}

// -----

// Into tiles an item is a band of 128 rows. Along the other dimension a row of the
// result is a column of the source.
// CHECK-LABEL: func.func private @n_expand_scale_0(
// CHECK-SAME:      [[S:%.+]]: memref<5x7xf8E8M0FNU>, [[E:%.+]]: memref<2x2x32x4x4xf8E8M0FNU>,
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK:         [[BUFFER:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<128x8xi8>
// CHECK:         vector.store {{%.+}}, [[BUFFER]]
// CHECK:         scf.for [[BAND:%.+]] =
// CHECK:           [[ROW0:%.+]] = arith.muli [[BAND]], [[C128]]
// CHECK:           [[ROWS:%.+]] = arith.minsi {{%.+}}, [[C128]]
// CHECK:           [[FIRST:%.+]] = arith.divui [[ROW0]], [[C32]]
// CHECK:           scf.for [[I:%.+]] =
// CHECK:             [[ROW:%.+]] = arith.muli [[I]], [[C32]]
// CHECK:             [[BLOCK:%.+]] = arith.addi [[FIRST]], [[I]]
// CHECK:             scf.for [[COL:%.+]] =
// CHECK:               memref.load [[S]][[[COL]], [[BLOCK]]]
// CHECK:               memref.store {{%.+}}, [[BUFFER]][[[ROW]], [[COL]]]
// CHECK:           scf.for {{%.+}} = [[ROWS]] to [[C128]]
// CHECK-COUNT-4:   vector.store {{%.+}}, [[E]][[[BAND]],
// CHECK-LABEL: func.func @n(
// CHECK:         [[ITEMS:%.+]] = arith.constant 2 : index
// CHECK:         call @n_expand_scale_0({{.*}}, [[ITEMS]])
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @n(%s: memref<5x7xf8E8M0FNU>, %e: memref<2x2x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%s : memref<5x7xf8E8M0FNU>) outs(%e : memref<2x2x32x4x4xf8E8M0FNU>) {
  ^bb0(%ls: tensor<5x7xf8E8M0FNU>, %le: tensor<200x5xf8E8M0FNU, #swizzled>):
    %0 = blockscale.expand_scale %ls block [32, 32] scale_dim n : tensor<5x7xf8E8M0FNU> -> tensor<200x5xf8E8M0FNU, #swizzled>
    blockscale.yield %0 : tensor<200x5xf8E8M0FNU, #swizzled>
  }
  return
}

// -----

// The expanded size is an operand; source and result must fit it.
// CHECK-DAG:   "expand_scale: expected dimension 0 of source to fit the shape of the result\00"
// CHECK-DAG:   "expand_scale: expected dimension 0 of the result in memory to fit the shape of source\00"
// CHECK-LABEL: func.func private @dynamic_expand_scale_0(
// CHECK-SAME:      {{%.+}}: memref<?x5xf8E8M0FNU>, [[N:%[a-z0-9]+]]: index,
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK:         vector.store
// CHECK:         scf.for [[BAND:%.+]] =
// CHECK:           [[FIRST:%.+]] = arith.muli [[BAND]], [[C128]]
// CHECK:           [[REST:%.+]] = arith.subi [[N]], [[FIRST]]
// CHECK:           arith.minsi [[REST]], [[C128]]
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:      [[S:%.+]]: memref<?x5xf8E8M0FNU>, [[N:%.+]]: index, [[E:%.+]]: memref<?x2x32x4x4xf8E8M0FNU>)
// CHECK:         [[FOUND:%.+]] = memref.dim [[S]],
// CHECK:         [[FITS:%.+]] = arith.cmpi eq, [[FOUND]],
// CHECK:         [[TILES:%.+]] = memref.dim [[E]],
// CHECK:         [[TILES_FIT:%.+]] = arith.cmpi eq, [[TILES]],
// CHECK:         scf.if [[FITS]] {
// CHECK:           scf.if [[TILES_FIT]] {
// CHECK:             call @dynamic_expand_scale_0
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @dynamic(%s: memref<?x5xf8E8M0FNU>, %n: index, %e: memref<?x2x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%s, %n : memref<?x5xf8E8M0FNU>, index) outs(%e : memref<?x2x32x4x4xf8E8M0FNU>) {
  ^bb0(%ls: tensor<?x5xf8E8M0FNU>, %ln: index, %le: tensor<?x5xf8E8M0FNU, #swizzled>):
    %0 = blockscale.expand_scale %ls block [32, 32] scale_dim k sizes(%ln) : tensor<?x5xf8E8M0FNU> -> tensor<?x5xf8E8M0FNU, #swizzled>
    blockscale.yield %0 : tensor<?x5xf8E8M0FNU, #swizzled>
  }
  return
}
