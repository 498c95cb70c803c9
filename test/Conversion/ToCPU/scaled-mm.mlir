// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// Panels of 32 rows of A, in each batch element, against 8 rows of B at a time,
// in chunks of 768 along K. Sums of NVFP4 products are in f32, 32 partial ones
// along K for each of 2x2 results.
// CHECK-LABEL: func.func private @nvfp4_scaled_mm_0(
// CHECK-SAME:      [[A:%.+]]: memref<3x70x512xi8>, [[B:%.+]]: memref<3x20x512xi8>, [[SA:%.+]]: memref<3x70x64xf8E4M3FN>, [[SB:%.+]]: memref<3x20x64xf8E4M3FN>, [[Y:%.+]]: memref<3x70x20xf32>,
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C8:%.+]] = arith.constant 8 : index
// CHECK-DAG:     [[C20:%.+]] = arith.constant 20 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C48:%.+]] = arith.constant 48 : index
// CHECK-DAG:     [[C64:%.+]] = arith.constant 64 : index
// CHECK-DAG:     [[ROWS_A:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<32x1056xf32>
// CHECK-DAG:     [[ROWS_B:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8x800xf32>
// CHECK-DAG:     [[SUMS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<32x8xf32>
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[PANEL:%.+]] = arith.remui [[ITEM]], [[C3]]
// CHECK:           [[BATCH:%.+]] = arith.divui [[ITEM]], [[C3]]
// CHECK:           vector.load [[SA]][[[BATCH]],
// CHECK:           vector.load [[A]][[[BATCH]],
// CHECK:           vector.store {{%.+}}, [[ROWS_A]]
// CHECK:           scf.for [[FIRST_COL:%.+]] = {{%.+}} to [[C20]] step [[C8]]
// CHECK:             scf.for [[CHUNK:%.+]] = {{%.+}} to [[C64]] step [[C48]]
// CHECK:               vector.load [[SB]][[[BATCH]],
// CHECK:               vector.load [[B]][[[BATCH]],
// CHECK:               vector.store {{%.+}}, [[ROWS_B]]
// CHECK:               scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>) {
// CHECK-DAG:             vector.load [[ROWS_A]]
// CHECK-DAG:             vector.load [[ROWS_B]]
// CHECK:                 [[PRODUCT:%.+]] = arith.mulf {{%.+}}, {{%.+}} fastmath<contract> : vector<32xf32>
// CHECK-NEXT:            arith.addf [[PRODUCT]], {{%.+}} fastmath<contract> : vector<32xf32>
// CHECK:             vector.load [[SUMS]]
// CHECK:             vector.store {{%.+}}, [[Y]][[[BATCH]],
// CHECK-COUNT-4: memref.dealloc
// CHECK-LABEL: func.func @nvfp4(
// CHECK:         [[ITEMS:%.+]] = arith.constant 9 : index
// CHECK:         call @nvfp4_scaled_mm_0({{.*}}, [[ITEMS]])
func.func @nvfp4(%a: memref<3x70x512xi8>, %b: memref<3x20x512xi8>, %sa: memref<3x70x64xf8E4M3FN>, %sb: memref<3x20x64xf8E4M3FN>, %y: memref<3x70x20xf32>) {
  blockscale.kernel ins(%a, %b, %sa, %sb : memref<3x70x512xi8>, memref<3x20x512xi8>, memref<3x70x64xf8E4M3FN>, memref<3x20x64xf8E4M3FN>)
      outs(%y : memref<3x70x20xf32>) {
  ^bb0(%la: tensor<3x70x1024xf4E2M1FN>, %lb: tensor<3x20x1024xf4E2M1FN>, %lsa: tensor<3x70x64xf8E4M3FN>, %lsb: tensor<3x20x64xf8E4M3FN>, %ly: tensor<3x70x20xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 16]
        : tensor<3x70x1024xf4E2M1FN>, tensor<3x20x1024xf4E2M1FN>, tensor<3x70x64xf8E4M3FN>, tensor<3x20x64xf8E4M3FN> -> tensor<3x70x20xf32>
    blockscale.yield %0 : tensor<3x70x20xf32>
  }
  return
}

// -----

// E8M0 scales leave the range of f32, so MX sums are in f64 and rounded once.
// CHECK-LABEL: func.func private @mx_scaled_mm_0(
// CHECK-DAG:     memref.alloc() {alignment = 64 : i64} : memref<32x80xf64>
// CHECK-DAG:     arith.extf {{%.+}} : vector<{{.*}}xf32> to vector<{{.*}}xf64>
// CHECK:         scf.for {{.*}} -> (vector<16xf64>, vector<16xf64>, vector<16xf64>, vector<16xf64>) {
// CHECK:         arith.truncf {{%.+}} : vector<{{.*}}xf64> to vector<{{.*}}xf32>
// CHECK-NOT:     arith.truncf {{.*}}16>
// CHECK:         return
func.func @mx(%a: memref<4x64xf8E4M3FN>, %b: memref<4x32xi8>, %sa: memref<4x2xf8E8M0FNU>, %sb: memref<4x2xf8E8M0FNU>, %y: memref<4x4xbf16>) {
  blockscale.kernel ins(%a, %b, %sa, %sb : memref<4x64xf8E4M3FN>, memref<4x32xi8>, memref<4x2xf8E8M0FNU>, memref<4x2xf8E8M0FNU>)
      outs(%y : memref<4x4xbf16>) {
  ^bb0(%la: tensor<4x64xf8E4M3FN>, %lb: tensor<4x64xf4E2M1FN>, %lsa: tensor<4x2xf8E8M0FNU>, %lsb: tensor<4x2xf8E8M0FNU>, %ly: tensor<4x4xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 32]
        : tensor<4x64xf8E4M3FN>, tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU>, tensor<4x2xf8E8M0FNU> -> tensor<4x4xbf16>
    blockscale.yield %0 : tensor<4x4xbf16>
  }
  return
}

// -----

// The product of the global scales multiplies the sum, then the bias is added.
// CHECK-LABEL: func.func private @epilogue_scaled_mm_0(
// CHECK-SAME:      [[GA:%[^:]+]]: f32, [[GB:%[^:]+]]: memref<f32>, [[Z:%[^:]+]]: memref<8xf32>, [[Y:%[^:]+]]: memref<4x8xf32>,
// CHECK:         [[RIGHT:%.+]] = memref.load [[GB]][]
// CHECK:         [[FACTOR:%.+]] = arith.mulf [[GA]], [[RIGHT]] : f32
// CHECK:         [[LANES:%.+]] = vector.broadcast [[FACTOR]] : f32 to vector<8xf32>
// CHECK:         [[SCALED:%.+]] = arith.mulf {{%.+}}, [[LANES]] : vector<8xf32>
// CHECK:         vector.load [[Z]]
// CHECK:         arith.addf [[SCALED]], {{%.+}} : vector<8xf32>
// CHECK:         vector.store {{%.+}}, [[Y]]
func.func @epilogue(%a: memref<4x8xi8>, %b: memref<8x8xi8>, %sa: memref<4x1xf8E4M3FN>, %sb: memref<8x1xf8E4M3FN>, %ga: f32, %gb: memref<f32>, %z: memref<8xf32>, %y: memref<4x8xf32>) {
  blockscale.kernel ins(%a, %b, %sa, %sb, %ga, %gb, %z : memref<4x8xi8>, memref<8x8xi8>, memref<4x1xf8E4M3FN>, memref<8x1xf8E4M3FN>, f32, memref<f32>, memref<8xf32>)
      outs(%y : memref<4x8xf32>) {
  ^bb0(%la: tensor<4x16xf4E2M1FN>, %lb: tensor<8x16xf4E2M1FN>, %lsa: tensor<4x1xf8E4M3FN>, %lsb: tensor<8x1xf8E4M3FN>, %lga: f32, %lgb: tensor<f32>, %lz: tensor<8xf32>, %ly: tensor<4x8xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 16]
        global_scale_a(%lga : f32) global_scale_b(%lgb : tensor<f32>) bias(%lz : tensor<8xf32>)
        : tensor<4x16xf4E2M1FN>, tensor<8x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>, tensor<8x1xf8E4M3FN> -> tensor<4x8xf32>
    blockscale.yield %0 : tensor<4x8xf32>
  }
  return
}

// -----

// Packed data with a dynamic last dimension tells it by half, other data whole.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:      [[A:%.+]]: memref<4x?xi8>, [[B:%.+]]: memref<4x?xf8E4M3FN>,
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK:         [[K:%.+]] = memref.dim [[B]],
// CHECK:         arith.remui [[K]], [[C32]]
// CHECK:         [[BYTES:%.+]] = memref.dim [[A]],
// CHECK:         arith.cmpi eq, [[BYTES]],
func.func @dynamic(%a: memref<4x?xi8>, %b: memref<4x?xf8E4M3FN>, %sa: memref<4x?xf8E8M0FNU>, %sb: memref<4x?xf8E8M0FNU>, %y: memref<4x4xf32>) {
  blockscale.kernel ins(%a, %b, %sa, %sb : memref<4x?xi8>, memref<4x?xf8E4M3FN>, memref<4x?xf8E8M0FNU>, memref<4x?xf8E8M0FNU>)
      outs(%y : memref<4x4xf32>) {
  ^bb0(%la: tensor<4x?xf4E2M1FN>, %lb: tensor<4x?xf8E4M3FN>, %lsa: tensor<4x?xf8E8M0FNU>, %lsb: tensor<4x?xf8E8M0FNU>, %ly: tensor<4x4xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 32]
        : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>, tensor<4x?xf8E8M0FNU>, tensor<4x?xf8E8M0FNU> -> tensor<4x4xf32>
    blockscale.yield %0 : tensor<4x4xf32>
  }
  return
}

// -----

// An item is 128 columns of a panel of rows: one panel of rows is work for several
// threads.
// CHECK-LABEL: func.func private @wide_scaled_mm_0(
// CHECK-SAME:      [[B:%[^:]+]]: memref<300x8xi8>, {{.*}}, [[Y:%[^:]+]]: memref<1x300xf32>,
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK-DAG:     [[C300:%.+]] = arith.constant 300 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[COL:%.+]] = arith.remui [[ITEM]],
// CHECK:           [[FIRST:%.+]] = arith.muli [[COL]], [[C128]]
// CHECK:           [[REST:%.+]] = arith.subi [[C300]], [[FIRST]]
// CHECK:           [[COUNT:%.+]] = arith.minsi [[REST]], [[C128]]
// CHECK:           scf.for {{%.+}} = {{%.+}} to [[COUNT]] step
// CHECK:             vector.load [[B]]
// CHECK:             vector.store {{%.+}}, [[Y]]
// CHECK-LABEL: func.func @wide(
// CHECK:         [[ITEMS:%.+]] = arith.constant 3 : index
// CHECK:         call @wide_scaled_mm_0({{.*}}, [[ITEMS]])
func.func @wide(%a: memref<1x8xi8>, %b: memref<300x8xi8>, %sa: memref<1x1xf8E4M3FN>, %sb: memref<300x1xf8E4M3FN>, %y: memref<1x300xf32>) {
  blockscale.kernel ins(%a, %b, %sa, %sb : memref<1x8xi8>, memref<300x8xi8>, memref<1x1xf8E4M3FN>, memref<300x1xf8E4M3FN>)
      outs(%y : memref<1x300xf32>) {
  ^bb0(%la: tensor<1x16xf4E2M1FN>, %lb: tensor<300x16xf4E2M1FN>, %lsa: tensor<1x1xf8E4M3FN>, %lsb: tensor<300x1xf8E4M3FN>, %ly: tensor<1x300xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 16]
        : tensor<1x16xf4E2M1FN>, tensor<300x16xf4E2M1FN>, tensor<1x1xf8E4M3FN>, tensor<300x1xf8E4M3FN> -> tensor<1x300xf32>
    blockscale.yield %0 : tensor<1x300xf32>
  }
  return
}

// -----

// One global scale for each row of A and one for each row of B, in each batch
// element: a row of results has one of the first and a vector of the second.
// CHECK-LABEL: func.func private @rows_scaled_mm_0(
// CHECK-SAME:      [[GA:%[^:]+]]: memref<2x4xf32>, [[GB:%[^:]+]]: memref<2x8xf32>, [[Y:%[^:]+]]: memref<2x4x8xf32>,
// CHECK:         scf.for [[BATCH:%.+]] =
// CHECK:         [[LEFT:%.+]] = memref.load [[GA]][[[BATCH]], [[ROW:%.+]]]
// CHECK:         [[RIGHT:%.+]] = vector.load [[GB]][[[BATCH]], [[COL:%.+]]] : memref<2x8xf32>, vector<8xf32>
// CHECK:         [[LANES:%.+]] = vector.broadcast [[LEFT]] : f32 to vector<8xf32>
// CHECK:         [[FACTOR:%.+]] = arith.mulf [[LANES]], [[RIGHT]] : vector<8xf32>
// CHECK:         [[SCALED:%.+]] = arith.mulf {{%.+}}, [[FACTOR]] : vector<8xf32>
// CHECK:         vector.store [[SCALED]], [[Y]][[[BATCH]], [[ROW]], [[COL]]]
func.func @rows(%a: memref<2x4x8xi8>, %b: memref<2x8x8xi8>, %sa: memref<2x4x1xf8E4M3FN>, %sb: memref<2x8x1xf8E4M3FN>, %ga: memref<2x4xf32>, %gb: memref<2x8xf32>, %y: memref<2x4x8xf32>) {
  blockscale.kernel ins(%a, %b, %sa, %sb, %ga, %gb : memref<2x4x8xi8>, memref<2x8x8xi8>, memref<2x4x1xf8E4M3FN>, memref<2x8x1xf8E4M3FN>, memref<2x4xf32>, memref<2x8xf32>)
      outs(%y : memref<2x4x8xf32>) {
  ^bb0(%la: tensor<2x4x16xf4E2M1FN>, %lb: tensor<2x8x16xf4E2M1FN>, %lsa: tensor<2x4x1xf8E4M3FN>, %lsb: tensor<2x8x1xf8E4M3FN>, %lga: tensor<2x4xf32>, %lgb: tensor<2x8xf32>, %ly: tensor<2x4x8xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 16]
        global_scale_a(%lga : tensor<2x4xf32>) global_scale_b(%lgb : tensor<2x8xf32>)
        : tensor<2x4x16xf4E2M1FN>, tensor<2x8x16xf4E2M1FN>, tensor<2x4x1xf8E4M3FN>, tensor<2x8x1xf8E4M3FN> -> tensor<2x4x8xf32>
    blockscale.yield %0 : tensor<2x4x8xf32>
  }
  return
}

// -----

// `after_rounding` rounds the sum, the factor, their product and the sum with the
// bias: four times to bf16.
// CHECK-LABEL: func.func private @after_scaled_mm_0(
// CHECK-SAME:      [[G:%[^:]+]]: f32, [[Z:%[^:]+]]: memref<8xf32>, [[Y:%[^:]+]]: memref<4x8xbf16>,
// CHECK:         arith.trunci {{%.+}} : vector<8xi32> to vector<8xi16>
// CHECK:         vector.broadcast [[G]] : f32 to vector<8xf32>
// CHECK:         arith.trunci {{%.+}} : vector<8xi32> to vector<8xi16>
// CHECK:         arith.mulf {{%.+}} : vector<8xf32>
// CHECK:         arith.trunci {{%.+}} : vector<8xi32> to vector<8xi16>
// CHECK:         [[BIAS:%.+]] = vector.load [[Z]]
// CHECK:         arith.addf {{%.+}}, [[BIAS]] : vector<8xf32>
// CHECK:         arith.trunci {{%.+}} : vector<8xi32> to vector<8xi16>
// CHECK:         vector.store {{%.+}}, [[Y]]
func.func @after(%a: memref<4x8xi8>, %b: memref<8x8xi8>, %sa: memref<4x1xf8E4M3FN>, %sb: memref<8x1xf8E4M3FN>, %g: f32, %z: memref<8xf32>, %y: memref<4x8xbf16>) {
  blockscale.kernel ins(%a, %b, %sa, %sb, %g, %z : memref<4x8xi8>, memref<8x8xi8>, memref<4x1xf8E4M3FN>, memref<8x1xf8E4M3FN>, f32, memref<8xf32>)
      outs(%y : memref<4x8xbf16>) {
  ^bb0(%la: tensor<4x16xf4E2M1FN>, %lb: tensor<8x16xf4E2M1FN>, %lsa: tensor<4x1xf8E4M3FN>, %lsb: tensor<8x1xf8E4M3FN>, %lg: f32, %lz: tensor<8xf32>, %ly: tensor<4x8xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 16]
        global_scale_a(%lg : f32) global_scaling after_rounding bias(%lz : tensor<8xf32>)
        : tensor<4x16xf4E2M1FN>, tensor<8x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>, tensor<8x1xf8E4M3FN> -> tensor<4x8xbf16>
    blockscale.yield %0 : tensor<4x8xbf16>
  }
  return
}
