// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// An item is a band of 32 rows, which share a row of scales. Each column has its
// own; packed codes come by pairs, and the last column is half a pair.
// CHECK-LABEL: func.func private @columns_dequantize_0(
// CHECK-SAME:      [[Q:%.+]]: memref<64x3xi8>, [[S:%.+]]: memref<2x5xf8E8M0FNU>, [[Y:%.+]]: memref<64x5xf32>,
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK:         [[FACTORS:%.+]] = memref.alloc()
// CHECK:         scf.for [[BAND:%.+]] =
// CHECK:           vector.load [[S]][[[BAND]], {{%.+}}]
// CHECK:           vector.store {{%.+}}, [[FACTORS]]
// CHECK:           [[FIRST:%.+]] = arith.muli [[BAND]], [[C32]]
// CHECK:           scf.for [[ROW:%.+]] = [[FIRST]] to
// CHECK:             [[LANES:%.+]] = vector.load [[FACTORS]]{{.*}} vector<4xf32>
// CHECK:             vector.load [[Q]][[[ROW]], {{%.+}}] : memref<64x3xi8>, vector<2xi8>
// CHECK:             arith.mulf {{%.+}}, [[LANES]] : vector<4xf32>
// CHECK:             memref.load [[FACTORS]][[[C4]]]
// CHECK:             memref.store {{%.+}}, [[Y]][[[ROW]], [[C4]]]
// CHECK-LABEL: func.func @columns(
// CHECK:         [[ITEMS:%.+]] = arith.constant 2 : index
// CHECK:         call @columns_dequantize_0({{.*}}, [[ITEMS]])
func.func @columns(%q: memref<64x3xi8>, %s: memref<2x5xf8E8M0FNU>, %y: memref<64x5xf32>) {
  blockscale.kernel ins(%q, %s : memref<64x3xi8>, memref<2x5xf8E8M0FNU>) outs(%y : memref<64x5xf32>) {
  ^bb0(%lq: tensor<64x5xf4E2M1FN>, %ls: tensor<2x5xf8E8M0FNU>, %ly: tensor<64x5xf32>):
    %0 = blockscale.dequantize %lq, %ls block [32, 1] : tensor<64x5xf4E2M1FN>, tensor<2x5xf8E8M0FNU> -> tensor<64x5xf32>
    blockscale.yield %0 : tensor<64x5xf32>
  }
  return
}

// -----

// Square blocks share a scale in rows and columns. The last band ends with the
// matrix where the recipe lets it.
// CHECK-LABEL: func.func private @squares_dequantize_0(
// CHECK-SAME:      [[Q:%.+]]: memref<40x64xi8>, [[S:%.+]]: memref<3x8xf8E4M3FN>, [[Y:%.+]]: memref<40x128xf32>,
// CHECK-DAG:     [[C40:%.+]] = arith.constant 40 : index
// CHECK:         scf.for [[BAND:%.+]] =
// CHECK:           vector.load [[S]][[[BAND]], {{%.+}}]
// CHECK:           [[LAST:%.+]] = arith.minsi {{%.+}}, [[C40]]
// CHECK:           scf.for [[ROW:%.+]] = {{%.+}} to [[LAST]]
// CHECK:             scf.for [[BLOCK:%.+]] =
// CHECK:               [[PER_BLOCK:%.+]] = vector.load {{%.+}}[[[BLOCK]]] : memref<8xf32>, vector<4xf32>
// CHECK:               [[LANES:%.+]] = vector.shuffle [[PER_BLOCK]], {{.+}} : vector<4xf32>, vector<4xf32>
// CHECK:               arith.mulf {{%.+}}, [[LANES]] : vector<64xf32>
// CHECK:               vector.store {{%.+}}, [[Y]][[[ROW]], {{%.+}}]
func.func @squares(%q: memref<40x64xi8>, %s: memref<3x8xf8E4M3FN>, %y: memref<40x128xf32>) {
  blockscale.kernel ins(%q, %s : memref<40x64xi8>, memref<3x8xf8E4M3FN>) outs(%y : memref<40x128xf32>) {
  ^bb0(%lq: tensor<40x128xf4E2M1FN>, %ls: tensor<3x8xf8E4M3FN>, %ly: tensor<40x128xf32>):
    %0 = blockscale.dequantize %lq, %ls block [16, 16] recipe te : tensor<40x128xf4E2M1FN>, tensor<3x8xf8E4M3FN> -> tensor<40x128xf32>
    blockscale.yield %0 : tensor<40x128xf32>
  }
  return
}

// -----

// A 6-bit code has a byte, of which the upper two bits are not read.
// CHECK-LABEL: func.func private @six_bits_dequantize_0(
// CHECK-SAME:      [[Q:%.+]]: memref<4x64xi8>,
// CHECK-DAG:     [[SIGN:%.+]] = arith.constant dense<32> : vector<64xi32>
// CHECK-DAG:     [[MAGNITUDE:%.+]] = arith.constant dense<31> : vector<64xi32>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           [[BYTES:%.+]] = vector.load [[Q]][[[ROW]], {{%.+}}] : memref<4x64xi8>, vector<64xi8>
// CHECK:           [[CODES:%.+]] = arith.extui [[BYTES]]
// CHECK:           arith.andi [[CODES]], [[SIGN]]
// CHECK:           arith.andi [[CODES]], [[MAGNITUDE]]
func.func @six_bits(%q: memref<4x64xi8>, %s: memref<4x2xf8E8M0FNU>, %y: memref<4x64xf32>) {
  blockscale.kernel ins(%q, %s : memref<4x64xi8>, memref<4x2xf8E8M0FNU>) outs(%y : memref<4x64xf32>) {
  ^bb0(%lq: tensor<4x64xf6E3M2FN>, %ls: tensor<4x2xf8E8M0FNU>, %ly: tensor<4x64xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 32] : tensor<4x64xf6E3M2FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
    blockscale.yield %0 : tensor<4x64xf32>
  }
  return
}
