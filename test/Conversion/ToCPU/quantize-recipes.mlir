// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// Elements are multiplied by a factor of the block, except in modelopt, which
// divides each of them.
// CHECK-LABEL: func.func private @torchao_quantize_0(
// CHECK:         arith.mulf {{%.+}}, {{%.+}} : vector<8xf32>
// CHECK-NOT:     arith.divf {{%.+}}, {{%.+}} : vector<8xf32>
// CHECK-LABEL: func.func private @modelopt_quantize_0(
// CHECK:         arith.divf {{%.+}}, {{%.+}} : vector<8xf32>
// CHECK:         return
func.func @torchao(%x: memref<4x16xbf16>, %q: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x16xbf16>) outs(%q, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xbf16>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  }
  return
}
func.func @modelopt(%x: memref<4x16xbf16>, %q: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x16xbf16>) outs(%q, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xbf16>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  }
  return
}

// -----

// te drops the sign of a zero, and torchao keeps it: the sign of the code is that
// of x < 0, or of bits up to those of -infinity.
// CHECK-LABEL: func.func private @te_quantize_0(
// CHECK:         arith.cmpf olt, {{%.+}}, {{%.+}} : vector<8xf32>
// CHECK-NOT:     arith.cmpi slt, {{%.+}}, {{%.+}} : vector<8xi32>
// CHECK-LABEL: func.func private @mslk_quantize_0(
// CHECK-DAG:     [[BOUND:%.+]] = arith.constant dense<-8388607> : vector<8xi32>
// CHECK:         arith.cmpi slt, {{%.+}}, [[BOUND]] : vector<8xi32>
// CHECK:         return
func.func @te(%x: memref<4x16xf32>, %q: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x16xf32>) outs(%q, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xf32>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<4x16xf32> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  }
  return
}
func.func @mslk(%x: memref<4x16xf32>, %q: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x16xf32>) outs(%q, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xf32>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe mslk : tensor<4x16xf32> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  }
  return
}
