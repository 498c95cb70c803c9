// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// Panels of 192 rows and 128 columns in each batch element. Of a chunk of 256
// elements of K, rows of A are decoded one by one, and 16 columns of B at a time
// with an element of each next to each other, while those of the next 16 are asked
// for. Scales of columns are transposed, four of 16 columns at a time. A register
// tile has 6 x 16 sums in f32 of 4 * 16 products each, for K is 4 * 256; they are
// added to sums in f64.
// CHECK-LABEL: func.func private @nvfp4_scaled_mm_0(
// CHECK-SAME:      [[A:%.+]]: memref<3x70x512xi8>, [[B:%.+]]: memref<3x20x512xi8>, [[SA:%.+]]: memref<3x70x64xf8E4M3FN>, [[SB:%.+]]: memref<3x20x64xf8E4M3FN>, [[Y:%.+]]: memref<3x70x20xf32>,
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C6:%.+]] = arith.constant 6 : index
// CHECK-DAG:     [[C8:%.+]] = arith.constant 8 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C64:%.+]] = arith.constant 64 : index
// CHECK-DAG:     [[C70:%.+]] = arith.constant 70 : index
// CHECK-DAG:     [[C72:%.+]] = arith.constant 72 : index
// CHECK-DAG:     [[ROWS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<192x256xf32>
// CHECK-DAG:     [[COLS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8x256x16xf32>
// CHECK-DAG:     [[CODES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<16x16xi8>
// CHECK-DAG:     [[ROW_SCALES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<192x64xf32>
// CHECK-DAG:     [[COL_SCALES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<64x128xf32>
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<16x64xf32>
// CHECK-DAG:     [[SUMS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<192x128xf64>
// CHECK:         scf.for [[BATCH:%.+]] =
// CHECK:           scf.for [[ROW:%.+]] = [[C0]] to [[C72]]
// CHECK:             vector.load [[SA]][[[BATCH]],
// CHECK:             vector.store {{%.+}}, [[ROW_SCALES]][[[ROW]],
// CHECK:           scf.for [[COL:%.+]] = [[C0]] to [[C32]] step [[C16]]
// CHECK:             scf.for [[I:%.+]] = [[C0]] to [[C16]]
// CHECK:               vector.load [[SB]][[[BATCH]],
// CHECK:               vector.store {{%.+}}, [[SCALES]][[[I]],
// CHECK:             scf.for [[BLOCK:%.+]] = [[C0]] to [[C64]] step [[C4]]
// CHECK-COUNT-16:      vector.load [[SCALES]][{{.*}}, [[BLOCK]]] : memref<16x64xf32>, vector<4xf32>
// CHECK-COUNT-4:       vector.store {{%.+}}, [[COL_SCALES]][{{%.+}}, [[COL]]] : memref<64x128xf32>, vector<16xf32>
// The loop that clears them stays one.
// CHECK:           vector.store {{%.+}}, [[SUMS]]
// CHECK:           } {loop_annotation = #{{.+}}}
// CHECK:           scf.for [[BLOCK:%.+]] = [[C0]] to [[C64]] step [[C16]]
// CHECK:             scf.for {{%.+}} = [[C0]] to [[C72]]
// CHECK:               vector.load [[A]][[[BATCH]],
// CHECK:               vector.load [[ROW_SCALES]]
// CHECK:               vector.store {{%.+}}, [[ROWS]]
// CHECK:             scf.for [[TILE:%.+]] = [[C0]] to [[C2]]
// CHECK:               scf.for {{%.+}} = [[C0]] to {{%.+}} step [[C16]]
// CHECK:                 vector.load [[COL_SCALES]]
// CHECK-COUNT-16:        vector.load [[B]][[[BATCH]], {{.*}} vector<8xi8>
// CHECK-COUNT-20:        vector.interleave
// CHECK-COUNT-8:         vector.store {{%.+}}, [[CODES]]
// CHECK-COUNT-2:         memref.prefetch [[B]][[[BATCH]], {{.*}} read, locality<3>, data
// CHECK:                 scf.for [[PAIR:%.+]] = [[C0]] to [[C8]]
// CHECK:                   vector.load [[CODES]][[[PAIR]], [[C0]]]
// CHECK-COUNT-2:           vector.store {{%.+}}, [[COLS]][[[TILE]], {{.*}} vector<16xf32>
// CHECK:             scf.for [[TILE:%.+]] = [[C0]] to [[C2]]
// CHECK:               scf.for [[ROW:%.+]] = [[C0]] to [[C70]] step [[C6]]
// CHECK:                 scf.for [[FIRST:%.+]] = [[C0]] to {{%.+}} step [[C64]]
// CHECK:                   scf.for [[K:%.+]] = [[FIRST]] to {{%.+}} step [[C2]] iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK:                     [[RIGHT:%.+]] = vector.load [[COLS]][[[TILE]], [[K]], [[C0]]]
// CHECK:                     [[NUMBER:%.+]] = memref.load [[ROWS]][[[ROW]], [[K]]]
// CHECK:                     [[LEFT:%.+]] = vector.broadcast [[NUMBER]]
// CHECK:                     [[PRODUCT:%.+]] = arith.mulf [[LEFT]], [[RIGHT]] fastmath<contract> : vector<16xf32>
// CHECK-NEXT:                arith.addf [[PRODUCT]], {{%.+}} fastmath<contract> : vector<16xf32>
// CHECK:                   vector.load [[SUMS]][[[ROW]],
// CHECK:                   [[WIDE:%.+]] = arith.extf {{%.+}} : vector<16xf32> to vector<16xf64>
// CHECK:                   arith.addf {{%.+}}, [[WIDE]] : vector<16xf64>
// CHECK-COUNT-6:           vector.store {{%.+}}, [[SUMS]]
// CHECK:           scf.for {{%.+}} = [[C0]] to [[C70]]
// CHECK:             vector.load [[SUMS]]
// CHECK:             arith.truncf {{%.+}} : vector<16xf64> to vector<16xf32>
// CHECK:             vector.store {{%.+}}, [[Y]][[[BATCH]],
// CHECK-COUNT-7: memref.dealloc
// CHECK-LABEL: func.func @nvfp4(
// CHECK:         [[ITEMS:%.+]] = arith.constant 3 : index
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

// E8M0 scales leave the range of f32. A register has the sum over 16 elements of a
// block without their scales, whose product multiplies it in f64.
// CHECK-LABEL: func.func private @mx_scaled_mm_0(
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C64:%.+]] = arith.constant 64 : index
// CHECK-DAG:     [[ROW_SCALES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<192x4xf64>
// CHECK-DAG:     [[COL_SCALES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4x128xf64>
// CHECK-DAG:     [[SUMS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<192x128xf64>
// CHECK:         scf.for [[FIRST:%.+]] = {{%.+}} to {{%.+}} step [[C16]] {
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK:           vector.load [[SUMS]]
// CHECK:           [[WIDE:%.+]] = arith.extf {{%.+}} : vector<16xf32> to vector<16xf64>
// CHECK:           [[RIGHT:%.+]] = vector.load [[COL_SCALES]]
// CHECK:           [[SCALE:%.+]] = memref.load [[ROW_SCALES]]
// CHECK:           [[LEFT:%.+]] = vector.broadcast [[SCALE]]
// CHECK:           [[FACTOR:%.+]] = arith.mulf [[LEFT]], [[RIGHT]] : vector<16xf64>
// CHECK:           [[PRODUCT:%.+]] = arith.mulf [[WIDE]], [[FACTOR]] fastmath<contract> : vector<16xf64>
// CHECK:           arith.addf [[PRODUCT]], {{%.+}} fastmath<contract> : vector<16xf64>
// CHECK:         arith.truncf {{%.+}} : vector<{{.*}}xf64> to vector<{{.*}}xf32>
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

// From K = 512 on, a register has the sum over a block.
// CHECK-LABEL: func.func private @long_mx_scaled_mm_0(
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK:         scf.for [[FIRST:%.+]] = {{%.+}} to {{%.+}} step [[C32]] {
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
func.func @long_mx(%a: memref<4x2048xf8E4M3FN>, %b: memref<4x2048xf8E4M3FN>, %sa: memref<4x64xf8E8M0FNU>, %sb: memref<4x64xf8E8M0FNU>, %y: memref<4x4xbf16>) {
  blockscale.kernel ins(%a, %b, %sa, %sb : memref<4x2048xf8E4M3FN>, memref<4x2048xf8E4M3FN>, memref<4x64xf8E8M0FNU>, memref<4x64xf8E8M0FNU>)
      outs(%y : memref<4x4xbf16>) {
  ^bb0(%la: tensor<4x2048xf8E4M3FN>, %lb: tensor<4x2048xf8E4M3FN>, %lsa: tensor<4x64xf8E8M0FNU>, %lsb: tensor<4x64xf8E8M0FNU>, %ly: tensor<4x4xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 32]
        : tensor<4x2048xf8E4M3FN>, tensor<4x2048xf8E4M3FN>, tensor<4x64xf8E8M0FNU>, tensor<4x64xf8E8M0FNU> -> tensor<4x4xbf16>
    blockscale.yield %0 : tensor<4x4xbf16>
  }
  return
}

// -----

// Beside a plain bf16, elements with their scales are rounded to bf16, and numbers
// and registers are f64: 6 x 8 sums.
// CHECK-LABEL: func.func private @plain_scaled_mm_0(
// CHECK-DAG:     memref.alloc() {alignment = 64 : i64} : memref<192x256xf64>
// CHECK-DAG:     memref.alloc() {alignment = 64 : i64} : memref<16x256x8xf64>
// CHECK-DAG:     memref.alloc() {alignment = 64 : i64} : memref<4x128xf32>
// CHECK:         arith.mulf {{%.+}} : vector<8xf32>
// CHECK:         arith.trunci {{%.+}} : vector<8xi32> to vector<8xi16>
// CHECK:         arith.extf {{%.+}} : vector<8xf32> to vector<8xf64>
// CHECK:         scf.for {{.*}} -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>) {
func.func @plain(%a: memref<7x64xbf16>, %b: memref<8x64xf8E4M3FN>, %sb: memref<8x2xf8E8M0FNU>, %y: memref<7x8xbf16>) {
  blockscale.kernel ins(%a, %b, %sb : memref<7x64xbf16>, memref<8x64xf8E4M3FN>, memref<8x2xf8E8M0FNU>)
      outs(%y : memref<7x8xbf16>) {
  ^bb0(%la: tensor<7x64xbf16>, %lb: tensor<8x64xf8E4M3FN>, %lsb: tensor<8x2xf8E8M0FNU>, %ly: tensor<7x8xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %lsb) block [1, 32]
        : tensor<7x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<7x8xbf16>
    blockscale.yield %0 : tensor<7x8xbf16>
  }
  return
}

// -----

// Where the CPU multiplies pairs of bf16, a register tile has 6 x 32 sums: two
// vectors of 16 columns for each row, of which there are as many as fill whole
// tiles. A register adds up 32 products, two pairs at a time, for K is 2 * 512; 12
// others have the sums over a chunk, which are added to those in f64.
// CHECK-LABEL: func.func private @pairs_scaled_mm_0(
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C6:%.+]] = arith.constant 6 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C40:%.+]] = arith.constant 40 : index
// CHECK-DAG:     [[COLS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8x128x16xi32>
// CHECK-DAG:     [[SUMS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<192x128xf64>
// CHECK:         func.call @pairs_scaled_mm_0_has_bf16_products() : () -> i1
// CHECK:         scf.for {{%.+}} = [[C0]] to [[C4]]
// CHECK:           vector.store {{%.+}}, [[COLS]]
// CHECK:         scf.for [[TILE:%.+]] = [[C0]] to [[C2]]
// CHECK:           scf.for {{%.+}} = [[C0]] to [[C40]] step [[C6]]
// CHECK:             [[PARTS:%.+]]:12 = scf.for {{.*}} step [[C32]] iter_args
// CHECK:               [[REGISTERS:%.+]]:12 = scf.for {{.*}} step [[C2]] iter_args
// CHECK-COUNT-2:         vector.load [[COLS]]
// CHECK-COUNT-12:        func.call @pairs_scaled_mm_0_add_bf16_products(
// CHECK-COUNT-2:         vector.load [[COLS]]
// CHECK-COUNT-12:        func.call @pairs_scaled_mm_0_add_bf16_products(
// CHECK-NOT:             func.call
// CHECK:               arith.addf {{%.+}}, [[REGISTERS]]#0 : vector<16xf32>
// CHECK:             vector.load [[SUMS]]
// CHECK:             arith.extf [[PARTS]]#0 : vector<16xf32> to vector<16xf64>
// CHECK-COUNT-12:    vector.store {{%.+}}, [[SUMS]]
func.func @pairs(%a: memref<40x1024xbf16>, %b: memref<40x512xi8>, %sb: memref<40x64xf8E4M3FN>, %y: memref<40x40xbf16>) {
  blockscale.kernel ins(%a, %b, %sb : memref<40x1024xbf16>, memref<40x512xi8>, memref<40x64xf8E4M3FN>)
      outs(%y : memref<40x40xbf16>) {
  ^bb0(%la: tensor<40x1024xbf16>, %lb: tensor<40x1024xf4E2M1FN>, %lsb: tensor<40x64xf8E4M3FN>, %ly: tensor<40x40xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %lsb) block [1, 16]
        : tensor<40x1024xbf16>, tensor<40x1024xf4E2M1FN>, tensor<40x64xf8E4M3FN> -> tensor<40x40xbf16>
    blockscale.yield %0 : tensor<40x40xbf16>
  }
  return
}

// -----

// A row is multiplied by codes as they come: of 16 blocks, a lane has the words of
// one, whose sum its scale multiplies in f64. The scales of the columns come from
// tiles, four of each of four rows at a time. The row is brought into the order of
// lanes in squares. A function decodes the codes, for which the CPU may have an
// instruction.
// CHECK-LABEL: func.func private @row_scaled_mm_0_decode_e2m1(
// CHECK-SAME:      [[WORDS:%.+]]: vector<16xi32>) -> vector<16xf32> attributes {{[{](llvm\.)?}}passthrough = ["alwaysinline", "blockscale-decodes-e2m1"]}
// CHECK:         arith.shli [[WORDS]]
// CHECK:         arith.minui
// CHECK:         return {{%.+}} : vector<16xf32>
// CHECK-LABEL: func.func private @row_scaled_mm_0(
// CHECK-SAME:      [[A:%.+]]: memref<1x544xbf16>, [[B:%.+]]: memref<8x272xi8>, [[SB:%.+]]: memref<1x9x32x4x4xf8E4M3FN>,
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[C512:%.+]] = arith.constant 512 : index
// CHECK-DAG:     [[C544:%.+]] = arith.constant 544 : index
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<128x36xf32>
// CHECK:         memref.prefetch [[SB]]
// CHECK-COUNT-4: vector.load [[SB]]{{.*}} vector<4xf8E4M3FN>
// CHECK-COUNT-4: vector.store {{%.+}}, [[SCALES]]{{.*}} vector<4xf32>
// CHECK:         vector.load [[A]]
// CHECK-COUNT-4: vector.load {{%.+}} : memref<544xf32>, vector<4xf32>
// CHECK-COUNT-4: vector.interleave {{%.+}} : vector<4xf32> -> vector<8xf32>
// CHECK-COUNT-4: vector.store {{%.+}} : memref<544xf32>, vector<4xf32>
// CHECK:         scf.for {{%.+}} = [[C0]] to [[C32]] step [[C16]] iter_args({{.*}}) -> (vector<16xf64>)
// CHECK:           memref.prefetch [[B]]
// CHECK:           vector.load [[B]]{{.*}} vector<128xi8>
// CHECK:           vector.deinterleave {{%.+}} : vector<32xi32> -> vector<16xi32>
// CHECK-COUNT-16:  func.call @row_scaled_mm_0_decode_e2m1(
// CHECK-NOT:       arith.minui
// CHECK-COUNT-15:  arith.addf {{%.+}}, {{%.+}} fastmath<contract> : vector<16xf32>
// CHECK:           [[FACTORS:%.+]] = vector.load [[SCALES]]{{.*}} vector<16xf32>
// CHECK:           arith.extf [[FACTORS]]
// CHECK:           arith.addf {{%.+}}, {{%.+}} fastmath<contract> : vector<16xf64>
// CHECK:         scf.for {{%.+}} = [[C512]] to [[C544]] step [[C16]] iter_args({{.*}}) -> (vector<16xf64>)
// CHECK:         return
func.func @row(%a: memref<1x544xbf16>, %b: memref<8x272xi8>, %sb: memref<1x9x32x4x4xf8E4M3FN>, %y: memref<1x8xbf16>) {
  blockscale.kernel ins(%a, %b, %sb : memref<1x544xbf16>, memref<8x272xi8>, memref<1x9x32x4x4xf8E4M3FN>)
      outs(%y : memref<1x8xbf16>) {
  ^bb0(%la: tensor<1x544xbf16>, %lb: tensor<8x544xf4E2M1FN>, %lsb: tensor<8x34xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %ly: tensor<1x8xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %lsb) block [1, 16]
        : tensor<1x544xbf16>, tensor<8x544xf4E2M1FN>, tensor<8x34xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<1x8xbf16>
    blockscale.yield %0 : tensor<1x8xbf16>
  }
  return
}

// -----

// Beside a plain bf16, a row of MX with scales or numbers near the ends of bf16's
// range is scaled and rounded element by element. Where the number of rows is not
// known, both ways to multiply them are there.
// CHECK-LABEL: func.func private @rounded_scaled_mm_0(
// CHECK:         [[ROWS:%.+]] = arith.minsi
// CHECK:         [[IS_FEW:%.+]] = arith.cmpi ule, [[ROWS]], %c3
// CHECK:         scf.if [[IS_FEW]] {
// CHECK:           scf.if {{%.+}} {
// CHECK:             scf.for {{.*}} step %c4 iter_args({{.*}}) -> (vector<16xf64>)
// CHECK:           } else {
// CHECK:             arith.trunci {{%.+}} : vector<16xi32> to vector<16xi16>
// CHECK:             arith.addf {{%.+}}, {{%.+}} fastmath<contract> : vector<16xf64>
// CHECK:         } else {
// CHECK:           -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
func.func @rounded(%a: memref<?x256xbf16>, %b: memref<8x256xf8E4M3FN>, %sb: memref<8x8xf8E8M0FNU>, %y: memref<?x8xbf16>) {
  blockscale.kernel ins(%a, %b, %sb : memref<?x256xbf16>, memref<8x256xf8E4M3FN>, memref<8x8xf8E8M0FNU>)
      outs(%y : memref<?x8xbf16>) {
  ^bb0(%la: tensor<?x256xbf16>, %lb: tensor<8x256xf8E4M3FN>, %lsb: tensor<8x8xf8E8M0FNU>, %ly: tensor<?x8xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, %lsb) block [1, 32]
        : tensor<?x256xbf16>, tensor<8x256xf8E4M3FN>, tensor<8x8xf8E8M0FNU> -> tensor<?x8xbf16>
    blockscale.yield %0 : tensor<?x8xbf16>
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

// An item is 128 columns of a panel of rows, or 64 of few rows: one panel of rows is
// work for several threads.
// CHECK-LABEL: func.func private @wide_scaled_mm_0(
// CHECK-SAME:      [[B:%[^:]+]]: memref<300x8xi8>, {{.*}}, [[Y:%[^:]+]]: memref<1x300xf32>,
// CHECK-DAG:     [[C64:%.+]] = arith.constant 64 : index
// CHECK-DAG:     [[C300:%.+]] = arith.constant 300 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[COL:%.+]] = arith.remui [[ITEM]],
// CHECK:           [[FIRST:%.+]] = arith.muli [[COL]], [[C64]]
// CHECK:           [[REST:%.+]] = arith.subi [[C300]], [[FIRST]]
// CHECK:           [[COUNT:%.+]] = arith.minsi [[REST]], [[C64]]
// CHECK:           scf.for {{%.+}} = {{%.+}} to [[COUNT]] step
// CHECK:             vector.load [[B]]
// CHECK:             vector.store {{%.+}}, [[Y]]
// CHECK-LABEL: func.func @wide(
// CHECK:         [[ITEMS:%.+]] = arith.constant 5 : index
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
