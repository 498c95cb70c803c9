// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// With a value a row, each row loads its own.
// CHECK-LABEL: func.func private @rows_dequantize_0(
// CHECK-SAME:      {{%.+}}: memref<2x4x64xi8>, {{%.+}}: memref<2x4x8xf8E4M3FN>, [[G:%.+]]: memref<2x4xf32>,
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[ROW:%.+]] = arith.remui [[ITEM]], [[C4]]
// CHECK:           [[MATRIX:%.+]] = arith.divui [[ITEM]], [[C4]]
// CHECK:           [[VALUE:%.+]] = memref.load [[G]][[[MATRIX]], [[ROW]]]
// CHECK:           vector.broadcast [[VALUE]] : f32 to vector<8xf32>
func.func @rows(%q: memref<2x4x64xi8>, %s: memref<2x4x8xf8E4M3FN>, %g: memref<2x4xf32>, %y: memref<2x4x128xf32>) {
  blockscale.kernel ins(%q, %s, %g : memref<2x4x64xi8>, memref<2x4x8xf8E4M3FN>, memref<2x4xf32>) outs(%y : memref<2x4x128xf32>) {
  ^bb0(%lq: tensor<2x4x128xf4E2M1FN>, %ls: tensor<2x4x8xf8E4M3FN>, %lg: tensor<2x4xf32>, %ly: tensor<2x4x128xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] global_scale(%lg : tensor<2x4xf32>)
        : tensor<2x4x128xf4E2M1FN>, tensor<2x4x8xf8E4M3FN> -> tensor<2x4x128xf32>
    blockscale.yield %0 : tensor<2x4x128xf32>
  }
  return
}

// -----

// What all rows share is computed once.
// CHECK-LABEL: func.func private @shared_dequantize_0(
// CHECK-SAME:      {{%.+}}: memref<2x4x64xi8>, {{%.+}}: memref<2x4x8xf8E4M3FN>, [[G:%.+]]: memref<f32>,
// CHECK:         [[AMAX:%.+]] = memref.load [[G]][]
// CHECK:         [[DECODE:%.+]] = arith.divf [[AMAX]],
// CHECK:         scf.for
// CHECK-NOT:       memref.load [[G]]
// CHECK-NOT:       arith.divf
// CHECK:           vector.broadcast [[DECODE]] : f32 to vector<8xf32>
func.func @shared(%q: memref<2x4x64xi8>, %s: memref<2x4x8xf8E4M3FN>, %g: memref<f32>, %y: memref<2x4x128xf32>) {
  blockscale.kernel ins(%q, %s, %g : memref<2x4x64xi8>, memref<2x4x8xf8E4M3FN>, memref<f32>) outs(%y : memref<2x4x128xf32>) {
  ^bb0(%lq: tensor<2x4x128xf4E2M1FN>, %ls: tensor<2x4x8xf8E4M3FN>, %lg: tensor<f32>, %ly: tensor<2x4x128xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] global_amax(%lg : tensor<f32>)
        : tensor<2x4x128xf4E2M1FN>, tensor<2x4x8xf8E4M3FN> -> tensor<2x4x128xf32>
    blockscale.yield %0 : tensor<2x4x128xf32>
  }
  return
}
