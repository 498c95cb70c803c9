// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// What all rows share is computed once: torchao's 1 / g, before the loop.
// CHECK-LABEL: func.func private @scalar_quantize_0(
// CHECK-SAME:      {{%.+}}: memref<2x4x16xbf16>, [[G:%.+]]: f32,
// CHECK-DAG:     [[ONE:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK:         [[ENCODE:%.+]] = arith.divf [[ONE]], [[G]] : f32
// CHECK:         scf.for
// CHECK:           vector.broadcast [[G]] : f32 to vector<1xf32>
// CHECK:           vector.broadcast [[ENCODE]] : f32 to vector<1xf32>
func.func @scalar(%x: memref<2x4x16xbf16>, %g: f32, %q: memref<2x4x8xi8>, %s: memref<2x4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<2x4x16xbf16>, f32) outs(%q, %s : memref<2x4x8xi8>, memref<2x4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<2x4x16xbf16>, %lg: f32, %lq: tensor<2x4x16xf4E2M1FN>, %ls: tensor<2x4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : f32)
        : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  }
  return
}

// -----

// One value a batch element is loaded for the batch element of the row. From an
// amax, modelopt derives amax / 2688.
// CHECK-LABEL: func.func private @each_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<2x4x16xbf16>, [[A:%.+]]: memref<2xf32>,
// CHECK-DAG:     [[RANGE:%.+]] = arith.constant 2.688000e+03 : f32
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[ROW:%.+]] = arith.remui [[ITEM]], [[C4]]
// CHECK:           [[BATCH:%.+]] = arith.divui [[ITEM]], [[C4]]
// CHECK:           [[AMAX:%.+]] = memref.load [[A]][[[BATCH]]]
// CHECK:           arith.divf [[AMAX]], [[RANGE]] : f32
// CHECK:           vector.load [[X]][[[BATCH]], [[ROW]],
func.func @each(%x: memref<2x4x16xbf16>, %a: memref<2xf32>, %q: memref<2x4x8xi8>, %s: memref<2x4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %a : memref<2x4x16xbf16>, memref<2xf32>) outs(%q, %s : memref<2x4x8xi8>, memref<2x4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<2x4x16xbf16>, %la: tensor<2xf32>, %lq: tensor<2x4x16xf4E2M1FN>, %ls: tensor<2x4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt global_amax(%la : tensor<2xf32>)
        : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  }
  return
}

// -----

// A value of rank 0 is loaded once.
// CHECK-LABEL: func.func private @rank_0_quantize_0(
// CHECK-SAME:      {{%.+}}: memref<2x4x16xbf16>, [[G:%.+]]: memref<f32>,
// CHECK:         memref.load [[G]][] : memref<f32>
// CHECK:         scf.for
// CHECK-NOT:       memref.load [[G]]
// CHECK:         return
func.func @rank_0(%x: memref<2x4x16xbf16>, %g: memref<f32>, %q: memref<2x4x8xi8>, %s: memref<2x4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<2x4x16xbf16>, memref<f32>) outs(%q, %s : memref<2x4x8xi8>, memref<2x4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<2x4x16xbf16>, %lg: tensor<f32>, %lq: tensor<2x4x16xf4E2M1FN>, %ls: tensor<2x4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te global_scale(%lg : tensor<f32>)
        : tensor<2x4x16xbf16> -> tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<2x4x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>
  }
  return
}
