// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// The random bytes of a row are drawn into a buffer, four groups of 16 elements at
// a time here. The counter is the group's number in the whole of x (all leading
// dimensions count as rows), then the offset; the key is the seed.
// CHECK-LABEL: func.func private @row_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<2x3x64xf32>, [[RNG:%.+]]: memref<2xi64>,
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C1:%.+]] = arith.constant 1 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[STEPS:%.+]] = arith.constant dense<[0, 1, 2, 3]> : vector<4xi64>
// CHECK-DAG:     [[M0:%.+]] = arith.constant dense<3528531795> : vector<4xi64>
// CHECK-DAG:     [[M1:%.+]] = arith.constant dense<3449720151> : vector<4xi64>
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : i64
// CHECK:         [[SEED:%.+]] = memref.load [[RNG]][[[C0]]]
// CHECK:         [[KEY0:%.+]] = arith.trunci [[SEED]] : i64 to i32
// CHECK:         [[SEED_HIGH:%.+]] = arith.shrui [[SEED]], [[C32]]
// CHECK:         [[KEY1:%.+]] = arith.trunci [[SEED_HIGH]] : i64 to i32
// CHECK:         [[OFFSET:%.+]] = memref.load [[RNG]][[[C1]]]
// CHECK:         [[BYTES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x64xi8>
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[FIRST:%.+]] = arith.muli {{%.+}}, [[C4]]
// CHECK:             [[GROUP:%.+]] = arith.index_cast {{%.+}} : index to i64
// CHECK:             [[GROUPS:%.+]] = vector.broadcast [[GROUP]] : i64 to vector<4xi64>
// CHECK:             arith.addi [[GROUPS]], [[STEPS]] : vector<4xi64>
// CHECK:             arith.muli {{%.+}}, [[M0]] : vector<4xi64>
// CHECK:             arith.muli {{%.+}}, [[M1]] : vector<4xi64>
// CHECK:             [[KEYS0:%.+]] = vector.broadcast [[KEY0]] : i32 to vector<4xi32>
// CHECK:             arith.xori {{%.+}}, [[KEYS0]] : vector<4xi32>
// CHECK:             [[KEYS1:%.+]] = vector.broadcast [[KEY1]] : i32 to vector<4xi32>
// CHECK:             arith.xori {{%.+}}, [[KEYS1]] : vector<4xi32>
// Nine more rounds of two products.
// CHECK-COUNT-18:    arith.muli {{%.+}}, {{%.+}} : vector<4xi64>
// CHECK-NOT:         arith.muli {{%.+}}, {{%.+}} : vector<4xi64>
// CHECK:             vector.store {{%.+}}, [[BYTES]][{{.*}}] : memref<1x64xi8>, vector<64xi8>
// CHECK:           vector.load [[X]]
// CHECK:           [[RANDOM:%.+]] = vector.load [[BYTES]]{{.*}} vector<64xi8>
// CHECK:           vector.deinterleave [[RANDOM]] : vector<64xi8> -> vector<32xi8>
// Magnitudes are counted in units of 1/512, towards zero.
// CHECK:           arith.fptosi {{%.+}} : vector<32xf32> to vector<32xi32>
// CHECK:         memref.dealloc [[BYTES]]
func.func @row(%x: memref<2x3x64xf32>, %r: memref<2xi64>, %q: memref<2x3x32xi8>, %s: memref<2x3x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %r : memref<2x3x64xf32>, memref<2xi64>) outs(%q, %s : memref<2x3x32xi8>, memref<2x3x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<2x3x64xf32>, %lr: tensor<2xi64>, %lq: tensor<2x3x64xf4E2M1FN>, %ls: tensor<2x3x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] rng(%lr : tensor<2xi64>)
        : tensor<2x3x64xf32> -> tensor<2x3x64xf4E2M1FN>, tensor<2x3x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<2x3x64xf4E2M1FN>, tensor<2x3x4xf8E4M3FN>
  }
  return
}

// -----

// Blocks of several rows draw the bytes of all rows of a band.
// CHECK-LABEL: func.func private @band_quantize_0(
// CHECK:         [[BYTES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<32x{{.+}}xi8>
// CHECK:         vector.store {{%.+}}, [[BYTES]][{{.*}} vector<64xi8>
// CHECK:         vector.load [[BYTES]][{{.*}} vector<64xi8>
// CHECK:         memref.dealloc [[BYTES]]
func.func @band(%x: memref<32x64xf32>, %r: memref<2xi64>, %q: memref<64x16xi8>, %s: memref<64x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %r : memref<32x64xf32>, memref<2xi64>) outs(%q, %s : memref<64x16xi8>, memref<64x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<32x64xf32>, %lr: tensor<2xi64>, %lq: tensor<64x32xf4E2M1FN>, %ls: tensor<64x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed rng(%lr : tensor<2xi64>)
        : tensor<32x64xf32> -> tensor<64x32xf4E2M1FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x32xf4E2M1FN>, tensor<64x1xf8E8M0FNU>
  }
  return
}

// -----

// Of a part of a larger tensor the group of the first element and the groups of a row are arguments.
// CHECK-LABEL: func.func private @part_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x64xf32>, [[RNG:%.+]]: memref<4xi64>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK:         [[FIRST:%.+]] = memref.load [[RNG]][[[C2]]]
// CHECK:         [[FIRST_GROUP:%.+]] = arith.index_cast [[FIRST]] : i64 to index
// CHECK:         [[COUNT:%.+]] = memref.load [[RNG]][[[C3]]]
// CHECK:         [[PER_ROW:%.+]] = arith.index_cast [[COUNT]] : i64 to index
// CHECK:           [[ROW:%.+]] = arith.muli {{%.+}}, [[PER_ROW]]
// CHECK:           arith.addi {{.*}}[[FIRST_GROUP]]
func.func @part(%x: memref<4x64xf32>, %r: memref<4xi64>, %q: memref<4x32xi8>, %s: memref<4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %r : memref<4x64xf32>, memref<4xi64>) outs(%q, %s : memref<4x32xi8>, memref<4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x64xf32>, %lr: tensor<4xi64>, %lq: tensor<4x64xf4E2M1FN>, %ls: tensor<4x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] rng(%lr : tensor<4xi64>)
        : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  }
  return
}
