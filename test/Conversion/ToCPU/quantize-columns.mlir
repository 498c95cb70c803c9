// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// An item is a panel of 128 x 512 elements, here the only one. Bands of 32 rows
// are copied, row by row, with the largest magnitudes of their columns; then the
// scales and factors of all columns are computed, 64 at a time, and the codes of
// those that are NaN; then the codes of one row after the other.
// CHECK-LABEL: func.func private @linear_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<64x96xbf16>, [[Q:%.+]]: memref<64x96xf8E4M3FN>, [[S:%.+]]: memref<2x96xf8E8M0FNU>,
// CHECK-DAG:     [[BAND:%.+]] = memref.alloc() {{.*}} : memref<32x512xbf16>
// CHECK-DAG:     [[AMAX:%.+]] = memref.alloc() {{.*}} : memref<512xi16>
// CHECK-DAG:     [[FACTORS:%.+]] = memref.alloc() {{.*}} : memref<2x256xf32>
// CHECK-DAG:     [[NANS:%.+]] = memref.alloc() {{.*}} : memref<512xi8>
// CHECK-DAG:     [[CODES:%.+]] = memref.alloc() {{.*}} : memref<1x512xi8>
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {{.*}} : memref<4x512xi8>
// CHECK:         vector.load [[X]]{{.*}} vector<32xbf16>
// CHECK:         vector.store {{%.+}}, [[BAND]]
// CHECK:         arith.maxsi {{.*}} vector<32xi16>
// CHECK:         vector.store {{%.+}}, [[AMAX]]
// CHECK:         vector.load [[AMAX]]{{.*}} vector<64xi16>
// CHECK:         vector.store {{%.+}}, [[SCALES]]{{.*}} vector<64xi8>
// CHECK:         vector.store {{%.+}}, [[NANS]]{{.*}} vector<64xi8>
// CHECK-COUNT-2: vector.store {{%.+}}, [[FACTORS]]{{.*}} vector<32xf32>
// CHECK:         vector.load [[BAND]]{{.*}} vector<64xbf16>
// CHECK:         vector.load [[NANS]]{{.*}} vector<64xi8>
// CHECK:         vector.store {{%.+}}, [[CODES]]{{.*}} vector<64xi8>
// CHECK:         vector.load [[CODES]]
// CHECK:         vector.store {{%.+}}, [[Q]]
// CHECK:         vector.load [[SCALES]]
// CHECK:         vector.store {{%.+}}, [[S]]
// CHECK-LABEL: func.func @linear(
// CHECK-DAG:     [[BEGIN:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[ITEMS:%.+]] = arith.constant 1 : index
// CHECK:         call @linear_quantize_0({{.*}}, [[BEGIN]], [[ITEMS]])
func.func @linear(%x: memref<64x96xbf16>, %q: memref<64x96xf8E4M3FN>, %s: memref<2x96xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x96xbf16>) outs(%q, %s : memref<64x96xf8E4M3FN>, memref<2x96xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xbf16>, %lq: tensor<64x96xf8E4M3FN>, %ls: tensor<2x96xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 1] : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
  }
  return
}

// -----

// Transposed codes of a panel wait in a buffer, a byte with the codes of two rows,
// and leave it 16 x 16 bytes at a time. Bands are the columns of the scales, whose
// tiles get the padding: 5 bands of 8 in the buffer, 80 rows of 128.
// CHECK-LABEL: func.func private @transposed_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<80x80xf32>, [[Q:%.+]]: memref<80x40xi8>, [[S:%.+]]: memref<1x2x32x4x4xf8E4M3FN>,
// CHECK-DAG:     [[C5:%.+]] = arith.constant 5 : index
// CHECK-DAG:     [[C80:%.+]] = arith.constant 80 : index
// CHECK-DAG:     [[CODES:%.+]] = memref.alloc() {{.*}} : memref<64x576xi8>
// CHECK-DAG:     [[COLUMNS:%.+]] = memref.alloc() {{.*}} : memref<16x64xi8>
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {{.*}} : memref<8x512xi8>
// CHECK-DAG:     [[SCALE_COLUMNS:%.+]] = memref.alloc() {{.*}} : memref<4096xi8>
// CHECK:         vector.store {{%.+}}, [[CODES]]{{.*}} vector<64xi8>
// CHECK-COUNT-16: vector.load [[CODES]]{{.*}} vector<16xi8>
// CHECK:         vector.interleave
// CHECK-COUNT-16: vector.store {{%.+}}, [[COLUMNS]]{{.*}} vector<16xi8>
// CHECK:         vector.load [[COLUMNS]]
// CHECK:         vector.store {{%.+}}, [[Q]]
// CHECK:         scf.for {{%.+}} = [[C5]] to {{%.+}} step
// CHECK:           memref.store {{%.+}}, [[SCALES]]
// CHECK:         vector.interleave {{.*}} vector<128xi8>
// CHECK:         vector.store {{%.+}}, [[SCALE_COLUMNS]]{{.*}} vector<256xi8>
// CHECK:         [[IS_PRESENT:%.+]] = arith.cmpi ult, {{%.+}}, [[C80]]
// CHECK:         [[BYTES:%.+]] = arith.select [[IS_PRESENT]], {{%.+}}, {{%.+}} : vector<4xi8>
// CHECK:         [[TYPED:%.+]] = arith.bitcast [[BYTES]]
// CHECK:         vector.store [[TYPED]], [[S]]
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @transposed(%x: memref<80x80xf32>, %q: memref<80x40xi8>, %s: memref<1x2x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<80x80xf32>) outs(%q, %s : memref<80x40xi8>, memref<1x2x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<80x80xf32>, %lq: tensor<80x80xf4E2M1FN>, %ls: tensor<80x5xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [16, 1] transposed : tensor<80x80xf32> -> tensor<80x80xf4E2M1FN>, tensor<80x5xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<80x80xf4E2M1FN>, tensor<80x5xf8E4M3FN, #swizzled>
  }
  return
}

// -----

// 320 x 5000 elements of 2 matrices are 2 x 3 x 10 panels.
// CHECK-LABEL: func.func @panels(
// CHECK-DAG:     [[BEGIN:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[ITEMS:%.+]] = arith.constant 60 : index
// CHECK:         call @panels_quantize_0({{.*}}, [[BEGIN]], [[ITEMS]])
func.func @panels(%x: memref<2x320x5000xf32>, %q: memref<2x320x5000xf8E5M2>, %s: memref<2x10x5000xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<2x320x5000xf32>) outs(%q, %s : memref<2x320x5000xf8E5M2>, memref<2x10x5000xf8E8M0FNU>) {
  ^bb0(%lx: tensor<2x320x5000xf32>, %lq: tensor<2x320x5000xf8E5M2>, %ls: tensor<2x10x5000xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 1] : tensor<2x320x5000xf32> -> tensor<2x320x5000xf8E5M2>, tensor<2x10x5000xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<2x320x5000xf8E5M2>, tensor<2x10x5000xf8E8M0FNU>
  }
  return
}

// -----

// Where rows are known to be whole steps, nothing is copied.
// CHECK-LABEL: func.func private @in_place_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<64x128xbf16>,
// CHECK:         vector.load [[X]]{{.*}} vector<32xbf16>
// CHECK-NOT:     vector.store {{.*}}xbf16>
// CHECK:         vector.load [[X]]{{.*}} vector<64xbf16>
// CHECK:         return
func.func @in_place(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<2x128xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<2x128xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<2x128xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 1] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
  }
  return
}

// -----

// Sizes that only the call knows are checked in both dimensions of a square.
// CHECK-DAG: "quantize: expected the second-to-last dimension of x to be a multiple of 16\00"
// CHECK-DAG: "quantize: expected the last dimension of x to be a multiple of 16\00"
func.func @dynamic(%x: memref<?x?xf32>, %q: memref<?x?xi8>, %s: memref<?x?xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x?xf32>) outs(%q, %s : memref<?x?xi8>, memref<?x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x?xf32>, %lq: tensor<?x?xf4E2M1FN>, %ls: tensor<?x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [16, 16] : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  }
  return
}
