// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// Into tiles, an item is a band of 128 rows.
// CHECK-LABEL: func.func private @to_swizzle_0(
// CHECK-SAME:      [[S:%.+]]: memref<200x5xf8E4M3FN>, [[T:%.+]]: memref<2x2x32x4x4xf8E4M3FN>,
// CHECK:         [[BAND:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<128x8xi8>
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           vector.load [[S]]
// CHECK:           vector.store {{%.+}}, [[BAND]]
// CHECK-COUNT-4:   vector.store {{%.+}}, [[T]][[[ITEM]],
// CHECK-LABEL: func.func @to(
// CHECK:         [[ITEMS:%.+]] = arith.constant 2 : index
// CHECK:         call @to_swizzle_0({{.*}}, [[ITEMS]])
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @to(%s: memref<200x5xf8E4M3FN>, %t: memref<2x2x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%s : memref<200x5xf8E4M3FN>) outs(%t : memref<2x2x32x4x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<200x5xf8E4M3FN>, %lt: tensor<200x5xf8E4M3FN, #swizzled>):
    %0 = blockscale.swizzle %ls : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #swizzled>
    blockscale.yield %0 : tensor<200x5xf8E4M3FN, #swizzled>
  }
  return
}

// -----

// Out of tiles, an item is a row.
// CHECK-LABEL: func.func private @from_swizzle_0(
// CHECK-SAME:      [[S:%.+]]: memref<2x2x32x4x4xf8E8M0FNU>, [[T:%.+]]: memref<200x5xf8E8M0FNU>,
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           scf.for [[COL:%.+]] =
// CHECK-DAG:         [[ROW_TILE:%.+]] = arith.divui [[ROW]], [[C128]]
// CHECK-DAG:         [[COL_TILE:%.+]] = arith.divui [[COL]], [[C4]]
// CHECK-DAG:         [[IN_TILE:%.+]] = arith.remui [[ROW]], [[C128]]
// CHECK-DAG:         [[INNER:%.+]] = arith.remui [[ROW]], [[C32]]
// CHECK-DAG:         [[QUARTER:%.+]] = arith.divui [[IN_TILE]], [[C32]]
// CHECK-DAG:         [[LANE:%.+]] = arith.remui [[COL]], [[C4]]
// CHECK:             memref.load [[S]][[[ROW_TILE]], [[COL_TILE]], [[INNER]], [[QUARTER]], [[LANE]]]
// CHECK:             memref.store {{%.+}}, [[T]][[[ROW]], [[COL]]]
// CHECK-LABEL: func.func @from(
// CHECK:         [[ITEMS:%.+]] = arith.constant 200 : index
// CHECK:         call @from_swizzle_0({{.*}}, [[ITEMS]])
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @from(%s: memref<2x2x32x4x4xf8E8M0FNU>, %t: memref<200x5xf8E8M0FNU>) {
  blockscale.kernel ins(%s : memref<2x2x32x4x4xf8E8M0FNU>) outs(%t : memref<200x5xf8E8M0FNU>) {
  ^bb0(%ls: tensor<200x5xf8E8M0FNU, #swizzled>, %lt: tensor<200x5xf8E8M0FNU>):
    %0 = blockscale.swizzle %ls : tensor<200x5xf8E8M0FNU, #swizzled> -> tensor<200x5xf8E8M0FNU>
    blockscale.yield %0 : tensor<200x5xf8E8M0FNU>
  }
  return
}

// -----

// Into a grouped layout, an item is a tile of the buffer, whichever group has it;
// tiles that no group has are zero.
// CHECK-LABEL: func.func private @grouped_swizzle_0(
// CHECK-SAME:      [[S:%.+]]: memref<200x5xf8E4M3FN>, [[ENDS:%.+]]: memref<2xi32>, [[T:%.+]]: memref<6x32x4x4xf8E4M3FN>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK-COUNT-4:   vector.store {{%.+}}, [[T]][[[ITEM]],
// CHECK:           scf.for [[GROUP:%.+]] = {{%.+}} to [[C2]]
// CHECK:             memref.load [[ENDS]][[[GROUP]]]
// CHECK:             scf.if
// CHECK:               memref.load [[S]]
// CHECK:               memref.store {{%.+}}, [[T]]
// CHECK-LABEL: func.func @grouped(
// CHECK:         [[ITEMS:%.+]] = arith.constant 6 : index
// CHECK:         call @grouped_swizzle_0({{.*}}, [[ITEMS]])
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @grouped(%s: memref<200x5xf8E4M3FN>, %ends: memref<2xi32>, %t: memref<6x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%s, %ends : memref<200x5xf8E4M3FN>, memref<2xi32>) outs(%t : memref<6x32x4x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<200x5xf8E4M3FN>, %lends: tensor<2xi32>, %lt: tensor<200x5xf8E4M3FN, #grouped>):
    %0 = blockscale.swizzle %ls offsets(%lends : tensor<2xi32>) : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #grouped>
    blockscale.yield %0 : tensor<200x5xf8E4M3FN, #grouped>
  }
  return
}

// -----

// Between equal layouts, rows of memory are copied.
// CHECK-LABEL: func.func private @copy_swizzle_0(
// CHECK-SAME:      [[S:%.+]]: memref<2x2x32x4x4xf8E4M3FN>, [[T:%.+]]: memref<2x2x32x4x4xf8E4M3FN>,
// CHECK:         [[BYTES:%.+]] = vector.load [[S]]
// CHECK:         vector.store {{%.+}}, [[T]]
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @copy(%s: memref<2x2x32x4x4xf8E4M3FN>, %t: memref<2x2x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%s : memref<2x2x32x4x4xf8E4M3FN>) outs(%t : memref<2x2x32x4x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<200x5xf8E4M3FN, #swizzled>, %lt: tensor<200x5xf8E4M3FN, #swizzled>):
    %0 = blockscale.swizzle %ls : tensor<200x5xf8E4M3FN, #swizzled> -> tensor<200x5xf8E4M3FN, #swizzled>
    blockscale.yield %0 : tensor<200x5xf8E4M3FN, #swizzled>
  }
  return
}
