// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// Rows raise the result from zero, whichever thread has them. Magnitude bits
// order as the magnitudes do, NaN on top.
// CHECK-LABEL: func.func private @whole_amax_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x100xbf16>, [[A:%.+]]: memref<f32>,
// CHECK-DAG:     [[C64:%.+]] = arith.constant 64 : index
// CHECK-DAG:     [[C100:%.+]] = arith.constant 100 : index
// CHECK-DAG:     [[MASK:%.+]] = arith.constant dense<32767> : vector<64xi16>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           [[BITS:%.+]] = arith.andi {{%.+}}, [[MASK]]
// CHECK:           vector.reduction <maxui>
// CHECK:           scf.for [[COL:%.+]] = [[C64]] to [[C100]]
// CHECK:             memref.load [[X]][[[ROW]], [[COL]]]
// CHECK:             arith.maxui
// CHECK:           memref.atomic_rmw maximumf {{%.+}}, [[A]][] : (f32, memref<f32>) -> f32
// CHECK-LABEL: func.func @whole(
// CHECK-SAME:      [[X:%.+]]: memref<4x100xbf16>, [[A:%.+]]: memref<f32>)
// CHECK:         [[ZERO:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK:         memref.store [[ZERO]], [[A]][]
// CHECK:         call @whole_amax_0([[X]], [[A]],
func.func @whole(%x: memref<4x100xbf16>, %a: memref<f32>) {
  blockscale.kernel ins(%x : memref<4x100xbf16>) outs(%a : memref<f32>) {
  ^bb0(%lx: tensor<4x100xbf16>, %la: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<4x100xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

// A row belongs to the result of its batch element.
// CHECK-LABEL: func.func private @each_amax_0(
// CHECK-SAME:      [[X:%.+]]: memref<2x3x4x8xf32>, [[A:%.+]]: memref<2x3xf32>,
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[MATRIX:%.+]] = arith.divui [[ITEM]], [[C4]]
// CHECK:           [[INNER:%.+]] = arith.remui [[MATRIX]], [[C3]]
// CHECK:           [[OUTER:%.+]] = arith.divui [[MATRIX]], [[C3]]
// CHECK:           memref.atomic_rmw maximumf {{%.+}}, [[A]][[[OUTER]], [[INNER]]]
func.func @each(%x: memref<2x3x4x8xf32>, %a: memref<2x3xf32>) {
  blockscale.kernel ins(%x : memref<2x3x4x8xf32>) outs(%a : memref<2x3xf32>) {
  ^bb0(%lx: tensor<2x3x4x8xf32>, %la: tensor<2x3xf32>):
    %0 = blockscale.amax %lx : tensor<2x3x4x8xf32> -> tensor<2x3xf32>
    blockscale.yield %0 : tensor<2x3xf32>
  }
  return
}
