// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// 16 blocks are a group: their 256 elements come apart, 32 words of two at a
// time, into vectors whose equal lanes have the eight codes of a word of the
// data. Lanes move within pieces of four, so that lanes 0 and 4 belong to the
// first block; words of the data get their order back. A first loop stores these
// vectors, the scales and the factors of the groups of a chunk, and where the
// codes of each block begin, four words of it. A second loop compares elements
// with that, as half words, in groups all of whose blocks have it, and computes
// codes in others. What comes 2048 elements later is asked for.
// CHECK-LABEL: func.func private @nvfp4_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x512xbf16>, [[Q:%.+]]: memref<4x256xi8>, [[S:%.+]]: memref<4x32xf8E4M3FN>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C256:%.+]] = arith.constant 256 : index
// CHECK-DAG:     [[C2048:%.+]] = arith.constant 2048 : index
// CHECK:         [[WORDS:%.+]] = memref.alloc() {{.*}} : memref<8x128xi32>
// CHECK:         [[FACTORS:%.+]] = memref.alloc() {{.*}} : memref<8x16xf32>
// CHECK:         [[STARTS:%.+]] = memref.alloc() {{.*}} : memref<8x64xi32>
// CHECK:         [[HAVE:%.+]] = memref.alloc() {{.*}} : memref<8xi8>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK-NEXT:      scf.for [[GROUP:%.+]] = {{%.+}} to [[C2]] step {{%.+}} {
// CHECK-NOT:         arith.minsi
// CHECK:             [[BLOCK:%.+]] = arith.muli [[GROUP]], [[C16]]
// CHECK:             [[COL:%.+]] = arith.muli [[GROUP]], [[C256]]
// CHECK:             [[LATER:%.+]] = arith.addi [[COL]], [[C2048]]
// CHECK:             memref.prefetch [[X]][[[ROW]], [[LATER]]], read, locality<3>, data : memref<4x512xbf16>
// CHECK-COUNT-7:     memref.prefetch [[X]]
// CHECK-NOT:         memref.prefetch
// CHECK:             vector.load [[X]][[[ROW]], [[COL]]] : memref<4x512xbf16>, vector<256xbf16>
// CHECK:             vector.bitcast {{%.+}} : vector<256xi16> to vector<128xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 3, 10, 11, 6, 7, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-COUNT-4:     vector.store {{%.+}}, [[WORDS]][[[GROUP]], {{%.+}}] : memref<8x128xi32>, vector<8xi32>
// CHECK-DAG:         [[LEFT:%.+]] = vector.shuffle [[AMAX:%.+]], {{%.+}} [0, 1, 2, 3] : vector<8xi32>, vector<8xi32>
// CHECK-DAG:         [[RIGHT:%.+]] = vector.shuffle [[AMAX]], {{%.+}} [4, 5, 6, 7] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 3, 10, 11, 6, 7, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-COUNT-4:     vector.store {{%.+}}, [[WORDS]][[[GROUP]], {{%.+}}] : memref<8x128xi32>, vector<8xi32>
// CHECK-DAG:         [[LEFT:%.+]] = vector.shuffle [[AMAX:%.+]], {{%.+}} [0, 1, 2, 3] : vector<8xi32>, vector<8xi32>
// CHECK-DAG:         [[RIGHT:%.+]] = vector.shuffle [[AMAX]], {{%.+}} [4, 5, 6, 7] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 3, 10, 11, 6, 7, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-COUNT-4:     vector.store {{%.+}}, [[WORDS]][[[GROUP]], {{%.+}}] : memref<8x128xi32>, vector<8xi32>
// CHECK-DAG:         [[LEFT:%.+]] = vector.shuffle [[AMAX:%.+]], {{%.+}} [0, 1, 2, 3] : vector<8xi32>, vector<8xi32>
// CHECK-DAG:         [[RIGHT:%.+]] = vector.shuffle [[AMAX]], {{%.+}} [4, 5, 6, 7] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [0, 1, 8, 9, 4, 5, 12, 13] : vector<8xi32>, vector<8xi32>
// CHECK:             vector.shuffle {{%.+}}, {{%.+}} [2, 3, 10, 11, 6, 7, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-COUNT-4:     vector.store {{%.+}}, [[WORDS]][[[GROUP]], {{%.+}}] : memref<8x128xi32>, vector<8xi32>
// CHECK-DAG:         [[LEFT:%.+]] = vector.shuffle [[AMAX:%.+]], {{%.+}} [0, 1, 2, 3] : vector<8xi32>, vector<8xi32>
// CHECK-DAG:         [[RIGHT:%.+]] = vector.shuffle [[AMAX]], {{%.+}} [4, 5, 6, 7] : vector<8xi32>, vector<8xi32>
// CHECK-COUNT-2:     arith.divf {{%.+}}, {{%.+}} : vector<16xf32>
// CHECK:             [[BYTES:%.+]] = arith.bitcast {{%.+}} : vector<16xi8> to vector<16xf8E4M3FN>
// CHECK:             vector.store [[BYTES]], [[S]][[[ROW]], [[BLOCK]]] : memref<4x32xf8E4M3FN>, vector<16xf8E4M3FN>
// CHECK:             vector.store {{%.+}}, [[FACTORS]][[[GROUP]], {{%.+}}] : memref<8x16xf32>, vector<16xf32>
// CHECK:             [[ALL:%.+]] = vector.reduction <and>, {{%.+}} : vector<16xi1> into i1
// CHECK:             [[BYTE:%.+]] = arith.extui [[ALL]] : i1 to i8
// CHECK:             memref.store [[BYTE]], [[HAVE]][[[GROUP]]] : memref<8xi8>
// CHECK-COUNT-4:     vector.store {{%.+}}, [[STARTS]][[[GROUP]], {{%.+}}] : memref<8x64xi32>, vector<16xi32>
// CHECK:           scf.for [[GROUP:%.+]] = {{%.+}} to [[C2]] step {{%.+}} {
// CHECK:             memref.load [[HAVE]][[[GROUP]]] : memref<8xi8>
// CHECK:             scf.if
// CHECK:               scf.for [[VECTOR:%.+]] = {{%.+}} to [[C4]] step {{%.+}} {
// CHECK-COUNT-4:         vector.load [[WORDS]][[[GROUP]], {{%.+}}] : memref<8x128xi32>, vector<8xi32>
// CHECK:                 [[PER_BLOCK:%.+]] = vector.load [[STARTS]][[[GROUP]], {{%.+}}] : memref<8x64xi32>, vector<4xi32>
// CHECK:                 vector.shuffle [[PER_BLOCK]], {{%.+}} [0, 1, 2, 3, 0, 1, 2, 3] : vector<4xi32>, vector<4xi32>
// CHECK-COUNT-3:         vector.load [[STARTS]][[[GROUP]], {{%.+}}] : memref<8x64xi32>, vector<4xi32>
// CHECK-NOT:             vector<8xf32>
// CHECK-COUNT-4:         arith.minui {{%.+}}, {{%.+}} : vector<16xi16>
// CHECK:                 [[DATA:%.+]] = vector.shuffle [[LANES:%.+]], {{%.+}} [0, 4, 1, 5, 2, 6, 3, 7] : vector<8xi32>, vector<8xi32>
// CHECK:                 [[CODES:%.+]] = vector.bitcast [[DATA]] : vector<8xi32> to vector<32xi8>
// CHECK:                 vector.store [[CODES]], [[Q]][[[ROW]], {{%.+}}] : memref<4x256xi8>, vector<32xi8>
// CHECK:             } else {
// CHECK:               scf.for [[VECTOR:%.+]] = {{%.+}} to [[C4]] step {{%.+}} {
// CHECK-COUNT-4:         vector.load [[WORDS]][[[GROUP]], {{%.+}}] : memref<8x128xi32>, vector<8xi32>
// CHECK:                 [[PER_BLOCK:%.+]] = vector.load [[FACTORS]][[[GROUP]], {{%.+}}] : memref<8x16xf32>, vector<4xf32>
// CHECK:                 vector.shuffle [[PER_BLOCK]], {{%.+}} [0, 1, 2, 3, 0, 1, 2, 3] : vector<4xf32>, vector<4xf32>
// CHECK-COUNT-8:         arith.mulf {{%.+}}, {{%.+}} : vector<8xf32>{{$}}
// CHECK:                 [[DATA:%.+]] = vector.shuffle [[LANES:%.+]], {{%.+}} [0, 4, 1, 5, 2, 6, 3, 7] : vector<8xi32>, vector<8xi32>
// CHECK:                 [[CODES:%.+]] = vector.bitcast [[DATA]] : vector<8xi32> to vector<32xi8>
// CHECK:                 vector.store [[CODES]], [[Q]][[[ROW]], {{%.+}}] : memref<4x256xi8>, vector<32xi8>
// CHECK-NOT:     vector.load
// CHECK:         return
func.func @nvfp4(%x: memref<4x512xbf16>, %q: memref<4x256xi8>, %s: memref<4x32xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x512xbf16>) outs(%q, %s : memref<4x256xi8>, memref<4x32xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x512xbf16>, %lq: tensor<4x512xf4E2M1FN>, %ls: tensor<4x32xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x512xbf16> -> tensor<4x512xf4E2M1FN>, tensor<4x32xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x512xf4E2M1FN>, tensor<4x32xf8E4M3FN>
  }
  return
}

// -----

// Four f32 elements have their FP8 codes in one word. Signs join them from x, and
// where the factor is NaN all codes are.
// CHECK-LABEL: func.func private @mxfp8_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x512xf32>, [[Q:%.+]]: memref<4x512xf8E5M2>, [[S:%.+]]: memref<4x16xf8E8M0FNU>,
// CHECK-DAG:     [[NAN:%.+]] = arith.constant dense<2139062143> : vector<16xi32>
// CHECK:         vector.load [[X]]{{.*}} : memref<4x512xf32>, vector<512xf32>
// CHECK-COUNT-32: vector.shuffle {{%.+}}, {{%.+}} : vector<16xi32>, vector<16xi32>
// CHECK:         vector.store {{%.+}}, [[S]]{{.*}} : memref<4x16xf8E8M0FNU>, vector<16xf8E8M0FNU>
// CHECK:         vector.load [[X]]{{.*}} : memref<4x512xf32>, vector<64xf32>
// CHECK:         [[IS_NEGATIVE:%.+]] = arith.cmpi slt, {{%.+}}, {{%.+}} : vector<64xi32>
// CHECK:         arith.select [[IS_NEGATIVE]], {{%.+}}, {{%.+}} : vector<64xi1>, vector<64xi8>
// CHECK:         [[IS_NAN:%.+]] = arith.cmpf uno, [[FACTOR:%.+]], [[FACTOR]] : vector<16xf32>
// CHECK:         [[WORDS:%.+]] = arith.select [[IS_NAN]], [[NAN]], {{%.+}} : vector<16xi1>, vector<16xi32>
// CHECK:         vector.bitcast [[WORDS]] : vector<16xi32> to vector<64xi8>
// CHECK:         vector.store {{%.+}}, [[Q]]{{.*}} : memref<4x512xf8E5M2>, vector<64xf8E5M2>
func.func @mxfp8(%x: memref<4x512xf32>, %q: memref<4x512xf8E5M2>, %s: memref<4x16xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<4x512xf32>) outs(%q, %s : memref<4x512xf8E5M2>, memref<4x16xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x512xf32>, %lq: tensor<4x512xf8E5M2>, %ls: tensor<4x16xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<4x512xf32> -> tensor<4x512xf8E5M2>, tensor<4x16xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<4x512xf8E5M2>, tensor<4x16xf8E8M0FNU>
  }
  return
}

// -----

// Five blocks are two steps of four, the second of which starts a block early
// and overlaps the first.
// CHECK-LABEL: func.func private @overlap_quantize_0(
// CHECK-DAG:     [[C1:%.+]] = arith.constant 1 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C5:%.+]] = arith.constant 5 : index
// CHECK:         scf.for [[STEP:%.+]] = {{%.+}} to [[C5]] step [[C4]] {
// CHECK-NEXT:      arith.minsi [[STEP]], [[C1]]
// CHECK:           vector.load {{.*}} : memref<4x80xbf16>, vector<64xbf16>
// CHECK-NOT:     vector.load
// CHECK:         return
func.func @overlap(%x: memref<4x80xbf16>, %q: memref<4x40xi8>, %s: memref<4x5xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x80xbf16>) outs(%q, %s : memref<4x40xi8>, memref<4x5xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x80xbf16>, %lq: tensor<4x80xf4E2M1FN>, %ls: tensor<4x5xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x80xbf16> -> tensor<4x80xf4E2M1FN>, tensor<4x5xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x80xf4E2M1FN>, tensor<4x5xf8E4M3FN>
  }
  return
}

// -----

// A dynamic number of blocks is covered by groups of 16 where there are as many,
// the last one early enough to be whole, else by single blocks. 8 groups are a
// chunk.
// CHECK-LABEL: func.func private @dynamic_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<?x?xbf16>,
// CHECK-DAG:     [[C8:%.+]] = arith.constant 8 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK:         [[K:%.+]] = memref.dim [[X]],
// CHECK:         [[BLOCKS:%.+]] = arith.divui [[K]], [[C16]]
// CHECK:         [[FITS:%.+]] = arith.cmpi uge, [[BLOCKS]], [[C16]]
// CHECK:         scf.if [[FITS]] {
// CHECK:           [[LAST:%.+]] = arith.subi [[BLOCKS]], [[C16]]
// CHECK:           scf.for [[CHUNK:%.+]] = {{%.+}} to {{%.+}} step [[C8]] {
// CHECK:             [[END:%.+]] = arith.minsi {{%.+}}, [[C8]]
// CHECK:             scf.for [[GROUP:%.+]] = {{%.+}} to [[END]] step
// CHECK:               [[SUM:%.+]] = arith.addi [[CHUNK]], [[GROUP]]
// CHECK:               [[BLOCK:%.+]] = arith.muli [[SUM]], [[C16]]
// CHECK:               arith.minsi [[BLOCK]], [[LAST]]
// CHECK:               vector.load {{.*}} vector<256xbf16>
// CHECK:             scf.for [[GROUP:%.+]] = {{%.+}} to [[END]] step
// CHECK:               arith.minsi {{%.+}}, [[LAST]]
// CHECK:         } else {
// CHECK:           scf.for {{%.+}} = {{%.+}} to [[BLOCKS]] step
// CHECK:             vector.load {{.*}} vector<16xbf16>
func.func @dynamic(%x: memref<?x?xbf16>, %q: memref<?x?xi8>, %s: memref<?x?xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x?xbf16>) outs(%q, %s : memref<?x?xi8>, memref<?x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x?xbf16>, %lq: tensor<?x?xf4E2M1FN>, %ls: tensor<?x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  }
  return
}
