// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Linear scales, 6 fragments of 2 blocks: a group is 64 rows in 3 CTAs.
// Rows are bounded; every fragment is full.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k384(
// CHECK-SAME: %{{.+}}: !llvm.ptr<1> {{.+}}, %{{.+}}: !llvm.ptr<1> {{.+}}, %{{.+}}: !llvm.ptr<1> {{.+}}, %[[ROWS:[a-z0-9]+]]: i64)
// CHECK: %[[TX:.+]] = gpu.thread_id x upper_bound 128
// CHECK: %[[T:.+]] = arith.index_castui %[[TX]] : index to i32
// CHECK: %[[BX:.+]] = gpu.block_id x
// CHECK: %[[B:.+]] = arith.index_castui %[[BX]] : index to i32
// CHECK: %[[GROUP:.+]] = arith.divui %[[B]], %c3_i32
// CHECK: %[[INGROUP:.+]] = arith.remui %[[B]], %c3_i32
// CHECK: %[[BASE:.+]] = arith.muli %[[INGROUP]], %c128_i32
// CHECK: %[[ID:.+]] = arith.addi %[[BASE]], %[[T]]
// CHECK: %[[R:.+]] = arith.divui %[[ID]], %c6_i32
// CHECK: %[[CHUNK:.+]] = arith.remui %[[ID]], %c6_i32
// CHECK: %[[GROUP64:.+]] = arith.extui %[[GROUP]] : i32 to i64
// CHECK: %[[FIRST:.+]] = arith.muli %[[GROUP64]], %c64_i64
// CHECK: %[[R64:.+]] = arith.extui %[[R]] : i32 to i64
// CHECK: %[[ROW:.+]] = arith.addi %[[FIRST]], %[[R64]]
// CHECK: %[[INSIDE:.+]] = arith.cmpi ult, %[[ROW]], %[[ROWS]]
// CHECK: scf.if %[[INSIDE]] {
// CHECK: %[[CHUNK64:.+]] = arith.extui %[[CHUNK]] : i32 to i64
// CHECK: arith.muli %[[CHUNK64]], %c64_i64
// CHECK-COUNT-4: llvm.load {{.+}} -> vector<8xi32>
// CHECK-NOT: scf.if
// CHECK: gpu.return
func.func @linear(%x: memref<?x384xbf16>, %q: memref<?x384xf8E4M3FN>, %s: memref<?x12xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x384xbf16>) outs(%q, %s : memref<?x384xf8E4M3FN>, memref<?x12xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x384xbf16>, %lq: tensor<?x384xf8E4M3FN>, %ls: tensor<?x12xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x384xbf16> -> tensor<?x384xf8E4M3FN>, tensor<?x12xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x384xf8E4M3FN>, tensor<?x12xf8E8M0FNU>
  }
  return
}

// Swizzled scales, 24 fragments of 2 blocks: three warps have the rows 0, 32, 64 and 96
// behind the first of a line, eight neighbouring fragments of each. A group is four lines
// in three CTAs. Tiles have 32 lines and 128 rows, so a row is its line, three
// times the lines of the tiles before, and 32 for each run of eight lanes. Scales are
// stored in one place, those of padding as zeros.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k1536_swizzled(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {{.+}}, %{{.+}}: !llvm.ptr<1> {{.+}}, %[[ROWS:[a-z0-9]+]]: i64)
// CHECK: %[[TX:.+]] = gpu.thread_id x upper_bound 128
// CHECK: %[[T:.+]] = arith.index_castui %[[TX]] : index to i32
// CHECK: %[[BX:.+]] = gpu.block_id x
// CHECK: %[[B:.+]] = arith.index_castui %[[BX]] : index to i32
// CHECK: %[[WARP:.+]] = arith.divui %[[T]], %c32_i32
// CHECK: %[[LANE:.+]] = arith.remui %[[T]], %c32_i32
// CHECK: %[[GROUP:.+]] = arith.divui %[[B]], %c3_i32
// CHECK: %[[INGROUP:.+]] = arith.remui %[[B]], %c3_i32
// CHECK: %[[BASE:.+]] = arith.muli %[[INGROUP]], %c4_i32
// CHECK: %[[ID:.+]] = arith.addi %[[BASE]], %[[WARP]]
// CHECK: %[[L:.+]] = arith.divui %[[ID]], %c3_i32
// CHECK: %[[PART:.+]] = arith.remui %[[ID]], %c3_i32
// CHECK: %[[GROUP64:.+]] = arith.extui %[[GROUP]] : i32 to i64
// CHECK: %[[FIRST:.+]] = arith.muli %[[GROUP64]], %c4_i64
// CHECK: %[[L64:.+]] = arith.extui %[[L]] : i32 to i64
// CHECK: %[[LINE:.+]] = arith.addi %[[FIRST]], %[[L64]]
// CHECK: %[[QUARTER:.+]] = arith.divui %[[LANE]], %c8_i32
// CHECK: %[[INROW:.+]] = arith.remui %[[LANE]], %c8_i32
// CHECK: %[[BEFORE:.+]] = arith.andi %[[LINE]], %c-32_i64
// CHECK: %[[OTHERS:.+]] = arith.muli %[[BEFORE]], %c3_i64
// CHECK: %[[TOP:.+]] = arith.addi %[[LINE]], %[[OTHERS]]
// CHECK: %[[APART:.+]] = arith.muli %[[QUARTER]], %c32_i32
// CHECK: %[[APART64:.+]] = arith.extui %[[APART]] : i32 to i64
// CHECK: %[[ROW:.+]] = arith.addi %[[TOP]], %[[APART64]]
// CHECK: %[[PARTCHUNK:.+]] = arith.muli %[[PART]], %c8_i32
// CHECK: %[[CHUNK:.+]] = arith.addi %[[PARTCHUNK]], %[[INROW]]
// CHECK: %[[UP:.+]] = arith.addi %[[ROWS]], %c127_i64
// CHECK: %[[TILES:.+]] = arith.shrui %[[UP]], %c7_i64
// CHECK: %[[HASDATA:.+]] = arith.cmpi ult, %[[ROW]], %[[ROWS]]
// CHECK: %[[SCALES:.+]] = scf.if %[[HASDATA]] -> (i16) {
// CHECK: %[[ROWSTART:.+]] = arith.muli %[[ROW]], %c1536_i64
// CHECK: %[[CHUNK64:.+]] = arith.extui %[[CHUNK]] : i32 to i64
// CHECK: %[[COLUMN:.+]] = arith.muli %[[CHUNK64]], %c64_i64
// CHECK: %[[ELEMENT:.+]] = arith.addi %[[ROWSTART]], %[[COLUMN]]
// CHECK: llvm.getelementptr %[[X]][%[[ELEMENT]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// Every lane has a full fragment, in rows of data and of padding.
// CHECK-NOT: scf.if
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E8M0FNU)
// CHECK-NOT: scf.if
// CHECK-NOT: llvm.store {{.+}} : i16
// CHECK: scf.yield %[[PAIR]] : i16
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %c0_i16 : i16
// CHECK-NEXT: }
// CHECK-NEXT: %[[END:.+]] = arith.muli %[[TILES]], %c128_i64
// CHECK-NEXT: %[[INTILE:.+]] = arith.cmpi ult, %[[ROW]], %[[END]] : i64
// CHECK-NEXT: scf.if %[[INTILE]] {
// CHECK-NOT: scf.if
// CHECK: llvm.store %[[SCALES]], %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK-NOT: scf.if
// CHECK: gpu.return
func.func @lines(%x: memref<?x1536xbf16>, %q: memref<?x1536xf8E4M3FN>, %s: memref<?x12x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x1536xbf16>) outs(%q, %s : memref<?x1536xf8E4M3FN>, memref<?x12x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x1536xbf16>, %lq: tensor<?x1536xf8E4M3FN>, %ls: tensor<?x48xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x1536xbf16> -> tensor<?x1536xf8E4M3FN>, tensor<?x48xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x1536xf8E4M3FN>, tensor<?x48xf8E8M0FNU, #swizzled>
  }
  return
}

// Swizzled scales of 5 blocks in 8 columns, 4 fragments: two full ones, one of one
// block, and one of padding. Scales are stored in one place, by the lanes of these
// fragments in rows up to the end of the tile: zeros where there is no data. The other
// four of the eight lanes of a row do nothing.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k160_swizzled(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i64)
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i16
// CHECK: %[[CHUNK:.+]] = arith.remui %{{.+}}, %c8_i32
// CHECK: %[[UP:.+]] = arith.addi %[[ROWS]], %c127_i64
// CHECK: %[[TILES:.+]] = arith.shrui %[[UP]], %c7_i64
// CHECK: %[[HASDATA:.+]] = arith.cmpi ult, %[[ROW:.+]], %[[ROWS]]
// CHECK: %[[SCALES:.+]] = scf.if %[[HASDATA]] -> (i16) {
// CHECK:   %[[FULL:.+]] = arith.cmpi ult, %[[CHUNK]], %c2_i32
// CHECK:   %[[OFROW:.+]] = scf.if %[[FULL]] -> (i16) {
// CHECK-COUNT-4: llvm.load
// CHECK-NOT: llvm.load
// CHECK:     %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E8M0FNU)
// CHECK-NOT: llvm.store {{.+}} : i16
// CHECK:     scf.yield %[[PAIR]] : i16
// CHECK:   } else {
// CHECK:     %[[TAIL:.+]] = arith.cmpi ult, %[[CHUNK]], %c3_i32
// CHECK:     %[[OFTAIL:.+]] = scf.if %[[TAIL]] -> (i16) {
// CHECK-COUNT-2: llvm.load
// CHECK-NOT: llvm.load
// CHECK:       %[[LAST:.+]] = nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E8M0FNU)
// CHECK-NOT: llvm.store {{.+}} : i16
// CHECK:       scf.yield %[[LAST]] : i16
// CHECK-NEXT: } else {
// CHECK-NEXT:  scf.yield %[[ZERO]] : i16
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[OFTAIL]] : i16
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[OFROW]] : i16
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[ZERO]] : i16
// CHECK-NEXT: }
// CHECK-NEXT: %[[END:.+]] = arith.muli %[[TILES]], %c128_i64
// CHECK-NEXT: %[[PADDED:.+]] = arith.cmpi ult, %[[ROW]], %[[END]]
// CHECK-NEXT: %[[INTILE:.+]] = arith.cmpi ult, %[[CHUNK]], %c4_i32
// CHECK-NEXT: %[[HASSCALES:.+]] = arith.andi %[[PADDED]], %[[INTILE]] : i1
// CHECK-NEXT: scf.if %[[HASSCALES]] {
// CHECK-NOT: llvm.load
// CHECK:   llvm.store %[[SCALES]], %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: gpu.return
func.func @swizzled(%x: memref<?x160xbf16>, %q: memref<?x160xf8E4M3FN>, %s: memref<?x2x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x160xbf16>) outs(%q, %s : memref<?x160xf8E4M3FN>, memref<?x2x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x160xbf16>, %lq: tensor<?x160xf8E4M3FN>, %ls: tensor<?x5xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x160xbf16> -> tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #swizzled>
  }
  return
}

// A batch: matrices are bounded, each has its own global value.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k64_batched_scaled_each(
// CHECK-SAME: %[[G:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{[a-z0-9]+}}: i64, %[[MATRICES:[a-z0-9]+]]: i64)
// CHECK: %[[BY:.+]] = gpu.block_id y
// CHECK: %[[Y32:.+]] = arith.index_castui %[[BY]]
// CHECK: %[[Y:.+]] = arith.extui %[[Y32]]
// CHECK: %[[BZ:.+]] = gpu.block_id z
// CHECK: %[[Z32:.+]] = arith.index_castui %[[BZ]]
// CHECK: %[[Z:.+]] = arith.extui %[[Z32]]
// CHECK: %[[ZY:.+]] = arith.muli %[[Z]], %c65535_i64
// CHECK: %[[MATRIX:.+]] = arith.addi %[[ZY]], %[[Y]]
// CHECK: %[[EXISTS:.+]] = arith.cmpi ult, %[[MATRIX]], %[[MATRICES]]
// CHECK: scf.if %[[EXISTS]] {
// CHECK: %[[GP:.+]] = llvm.getelementptr %[[G]][%[[MATRIX]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: llvm.load %[[GP]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
func.func @batch(%x: memref<3x5x64xbf16>, %g: memref<3xf32>, %q: memref<3x5x32xi8>, %s: memref<3x5x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<3x5x64xbf16>, memref<3xf32>) outs(%q, %s : memref<3x5x32xi8>, memref<3x5x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<3x5x64xbf16>, %lg: tensor<3xf32>, %lq: tensor<3x5x64xf4E2M1FN>, %ls: tensor<3x5x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<3xf32>) : tensor<3x5x64xbf16> -> tensor<3x5x64xf4E2M1FN>, tensor<3x5x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<3x5x64xf4E2M1FN>, tensor<3x5x4xf8E4M3FN>
  }
  return
}
