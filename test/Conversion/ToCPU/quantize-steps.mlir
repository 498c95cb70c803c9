// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// 256 elements a step: 16 blocks of 16, whose scales are one vector. They are
// encoded 128 at a time: 64 words of two bf16 elements come apart into four
// vectors, so that the eight codes of equal lanes meet in one word of the data.
// CHECK-LABEL: func.func private @nvfp4_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x512xbf16>, [[Q:%.+]]: memref<4x256xi8>, [[S:%.+]]: memref<4x32xf8E4M3FN>,
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK-NEXT:      scf.for [[BLOCK:%.+]] = {{%.+}} to [[C32]] step [[C16]] {
// CHECK-NOT:         arith.minsi
// CHECK:             [[COL:%.+]] = arith.muli [[BLOCK]], [[C16]]
// CHECK:             vector.load [[X]][[[ROW]], [[COL]]] : memref<4x512xbf16>, vector<256xbf16>
// CHECK:             vector.bitcast {{%.+}} : vector<256xi16> to vector<128xi32>
// CHECK:             vector.deinterleave {{%.+}} : vector<64xi32> -> vector<32xi32>
// CHECK-COUNT-2:     vector.deinterleave {{%.+}} : vector<32xi32> -> vector<16xi32>
// CHECK:             vector.deinterleave {{%.+}} : vector<64xi32> -> vector<32xi32>
// CHECK-COUNT-2:     vector.deinterleave {{%.+}} : vector<32xi32> -> vector<16xi32>
// CHECK:             vector.deinterleave {{%.+}} : vector<32xi32> -> vector<16xi32>
// CHECK-NOT:         vector.deinterleave
// CHECK-COUNT-16:    arith.mulf {{%.+}}, {{%.+}} : vector<16xf32>
// CHECK:             [[WORDS:%.+]] = vector.shuffle {{.*}} : vector<16xi32>, vector<16xi32>
// CHECK:             [[CODES:%.+]] = vector.bitcast [[WORDS]] : vector<32xi32> to vector<128xi8>
// CHECK:             [[SCALES:%.+]] = arith.trunci {{%.+}} : vector<16xi32> to vector<16xi8>
// CHECK:             vector.store [[CODES]], [[Q]][[[ROW]], {{%.+}}] : memref<4x256xi8>, vector<128xi8>
// CHECK:             [[BYTES:%.+]] = arith.bitcast [[SCALES]] : vector<16xi8> to vector<16xf8E4M3FN>
// CHECK:             vector.store [[BYTES]], [[S]][[[ROW]], [[BLOCK]]] : memref<4x32xf8E4M3FN>, vector<16xf8E4M3FN>
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

// Four f32 elements, 64 at a time, have their FP8 codes in one word. 8 blocks of
// 32 are a step.
// CHECK-LABEL: func.func private @mxfp8_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x512xf32>, [[Q:%.+]]: memref<4x512xf8E5M2>, [[S:%.+]]: memref<4x16xf8E8M0FNU>,
// CHECK:         vector.load [[X]]{{.*}} : memref<4x512xf32>, vector<256xf32>
// CHECK:         vector.deinterleave {{%.+}} : vector<64xi32> -> vector<32xi32>
// CHECK-COUNT-2: vector.deinterleave {{%.+}} : vector<32xi32> -> vector<16xi32>
// CHECK:         vector.bitcast {{%.+}} : vector<64xi32> to vector<256xi8>
// CHECK:         vector.store {{%.+}}, [[Q]]{{.*}} : memref<4x512xf8E5M2>, vector<256xf8E5M2>
// CHECK:         vector.store {{%.+}}, [[S]]{{.*}} : memref<4x16xf8E8M0FNU>, vector<8xf8E8M0FNU>
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

// A dynamic number of blocks is covered by steps of 16 where there are as many,
// else of one.
// CHECK-LABEL: func.func private @dynamic_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<?x?xbf16>,
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK:         [[K:%.+]] = memref.dim [[X]],
// CHECK:         [[BLOCKS:%.+]] = arith.divui [[K]], [[C16]]
// CHECK:         [[FITS:%.+]] = arith.cmpi uge, [[BLOCKS]], [[C16]]
// CHECK:         scf.if [[FITS]] {
// CHECK:           [[LAST:%.+]] = arith.subi [[BLOCKS]], [[C16]]
// CHECK:           scf.for [[STEP:%.+]] = {{%.+}} to [[BLOCKS]] step [[C16]] {
// CHECK:             arith.minsi [[STEP]], [[LAST]]
// CHECK:             vector.load {{.*}} vector<256xbf16>
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
