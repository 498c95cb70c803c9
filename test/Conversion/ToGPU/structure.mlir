// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Linear scales, 6 chunks of 2 blocks: a group is 64 rows in 3 thread blocks.
// Rows are bounded; every chunk is full.
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
// CHECK: %[[CHUNK:.+]] = arith.remui %[[ID]], %c6_i32
// CHECK: %[[GROUP64:.+]] = arith.extui %[[GROUP]] : i32 to i64
// CHECK: %[[FIRST:.+]] = arith.muli %[[GROUP64]], %c64_i64
// CHECK: %[[R:.+]] = arith.divui %[[ID]], %c6_i32
// CHECK: %[[R64:.+]] = arith.extui %[[R]] : i32 to i64
// CHECK: %[[ROW:.+]] = arith.addi %[[FIRST]], %[[R64]]
// CHECK: %[[INSIDE:.+]] = arith.cmpi ult, %[[ROW]], %[[ROWS]]
// CHECK: scf.if %[[INSIDE]] {
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

// Swizzled scales of 5 blocks in 8 columns, 4 chunks: two full ones, one of one
// block, and one of padding. Rows up to the end of the tile store zeros.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k160_swizzled(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i64)
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i16
// CHECK: %[[CHUNK:.+]] = arith.remui %{{.+}}, %c4_i32
// CHECK: %[[UP:.+]] = arith.addi %[[ROWS]], %c127_i64
// CHECK: %[[TILES:.+]] = arith.shrui %[[UP]], %c7_i64
// CHECK: %[[HASDATA:.+]] = arith.cmpi ult, %[[ROW:.+]], %[[ROWS]]
// CHECK: scf.if %[[HASDATA]] {
// CHECK:   %[[FULL:.+]] = arith.cmpi ult, %[[CHUNK]], %c2_i32
// CHECK:   scf.if %[[FULL]] {
// CHECK-COUNT-4: llvm.load
// CHECK-NOT: llvm.load
// CHECK:   } else {
// CHECK:     %[[TAIL:.+]] = arith.cmpi ult, %[[CHUNK]], %c3_i32
// CHECK:     scf.if %[[TAIL]] {
// CHECK-COUNT-2: llvm.load
// CHECK-NOT: llvm.load
// CHECK:       llvm.store {{.+}} : i16, !llvm.ptr<1>
// CHECK:     } else {
// CHECK:       llvm.store %[[ZERO]], {{.+}} : i16, !llvm.ptr<1>
// CHECK: } else {
// CHECK:   %[[END:.+]] = arith.muli %[[TILES]], %c128_i64
// CHECK:   %[[PADDED:.+]] = arith.cmpi ult, %[[ROW]], %[[END]]
// CHECK:   scf.if %[[PADDED]] {
// CHECK:     llvm.store %[[ZERO]], {{.+}} : i16, !llvm.ptr<1>
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
