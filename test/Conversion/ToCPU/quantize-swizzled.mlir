// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse | FileCheck %s

// A thread owns whole tiles: an item is a band of 128 rows of one batch element,
// whose scales are collected in a buffer, padded with zeros, and then stored
// tile by tile. 300 rows are three bands, the last one of 44 rows.
// CHECK-LABEL: func.func private @f_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<2x300x80xbf16>, {{%.+}}: memref<2x300x40xi8>, [[S:%.+]]: memref<2x3x2x32x4x4xf8E4M3FN>, [[BEGIN:%.+]]: index, [[END:%.+]]: index)
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK-DAG:     [[C300:%.+]] = arith.constant 300 : index
// CHECK-DAG:     [[ZEROS:%.+]] = arith.constant dense<0> : vector<4xi8>
// CHECK:         [[BAND:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<128x8xi8>
// CHECK:         scf.for {{%.+}} = [[C0]] to [[C128]]
// CHECK:           vector.store [[ZEROS]], [[BAND]]
// CHECK:         scf.for [[ITEM:%.+]] = [[BEGIN]] to [[END]]
// CHECK:           [[TILE:%.+]] = arith.remui [[ITEM]], [[C3]]
// CHECK:           [[BATCH:%.+]] = arith.divui [[ITEM]], [[C3]]
// CHECK:           [[FIRST:%.+]] = arith.muli [[TILE]], [[C128]]
// CHECK:           [[REST:%.+]] = arith.subi [[C300]], [[FIRST]]
// CHECK:           [[ROWS:%.+]] = arith.minsi [[REST]], [[C128]]
// CHECK:           scf.for [[I:%.+]] = [[C0]] to [[ROWS]]
// CHECK:             [[ROW:%.+]] = arith.addi [[FIRST]], [[I]]
// CHECK:             vector.load [[X]][[[BATCH]], [[ROW]],
// CHECK:             vector.store {{%.+}}, [[BAND]][[[I]],
// CHECK:           scf.for {{%.+}} = [[ROWS]] to [[C128]]
// CHECK:             vector.store [[ZEROS]], [[BAND]]
// CHECK:           scf.for [[COL_TILE:%.+]] = [[C0]] to [[C2]]
// CHECK:             scf.for [[INNER:%.+]] = [[C0]] to [[C32]]
// CHECK-COUNT-4:       vector.store {{%.+}}, [[S]][[[BATCH]], [[TILE]], [[COL_TILE]], [[INNER]], {{.*}} vector<4xf8E4M3FN>
// CHECK:         memref.dealloc [[BAND]]
// CHECK-LABEL: func.func @f(
// CHECK-DAG:     [[ZERO:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[ITEMS:%.+]] = arith.constant 6 : index
// CHECK:         call @f_quantize_0({{.*}}, [[ZERO]], [[ITEMS]])
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @f(%x: memref<2x300x80xbf16>, %q: memref<2x300x40xi8>, %s: memref<2x3x2x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<2x300x80xbf16>) outs(%q, %s : memref<2x300x40xi8>, memref<2x3x2x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<2x300x80xbf16>, %lq: tensor<2x300x80xf4E2M1FN>, %ls: tensor<2x300x5xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16]
        : tensor<2x300x80xbf16> -> tensor<2x300x80xf4E2M1FN>, tensor<2x300x5xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<2x300x80xf4E2M1FN>, tensor<2x300x5xf8E4M3FN, #swizzled>
  }
  return
}
