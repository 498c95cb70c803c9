// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// 32x1: a thread has 8 rows of 16 columns, four threads a block, eight lanes apart.
// The whole fragment is loaded before the first use. Scales of 16 columns go to the
// table from the first of the four; a row of codes is stored at once.
// CHECK: llvm.mlir.global internal @quantize_32x1_e4m3_rceil_bf16_k384_tables() {addr_space = 3 : i32, {{.+}}} : !llvm.array<512 x i8>
// CHECK-LABEL: gpu.func @quantize_32x1_e4m3_rceil_bf16_k384(
// CHECK-SAME: %{{.+}}: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64) kernel
// CHECK: scf.if
// CHECK-NOT: arith.maximumf
// CHECK-COUNT-8: llvm.load {{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK-NOT: !llvm.ptr<1> ->
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c8_i32
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c16_i32
// CHECK-NOT: nvvm.shfl
// CHECK: scf.if
// CHECK-COUNT-4: llvm.store {{.+}} {alignment = 4 : i64} : vector<2xi16>, !llvm.ptr<3>
// CHECK-NOT: !llvm.ptr<3>
// CHECK-COUNT-8: llvm.store {{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT: !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[WORD:.+]] = llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: llvm.store %[[WORD]], {{.+}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK: gpu.return
func.func @columns(%x: memref<?x384xbf16>, %q: memref<?x384xf8E4M3FN>, %s: memref<?x384xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x384xbf16>) outs(%q, %s : memref<?x384xf8E4M3FN>, memref<?x384xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x384xbf16>, %lq: tensor<?x384xf8E4M3FN>, %ls: tensor<?x384xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 1] : tensor<?x384xbf16> -> tensor<?x384xf8E4M3FN>, tensor<?x384xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x384xf8E4M3FN>, tensor<?x384xf8E8M0FNU>
  }
  return
}

// 32x32 with a scale for each row of x, in tiles: two threads side by side and four
// below each other share a block, of whose amaxes one number is exchanged. Four blocks
// are a word, which each thread stores for one row; rows and columns of padding get
// zeros, even where a warp has nothing else.
// CHECK: llvm.mlir.global internal @{{.+}}_tables() {{.+}} : !llvm.array<16 x i8>
// CHECK-LABEL: gpu.func @quantize_32x32_e4m3_rceil_bf16_k160_scales_k_swizzled(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i64) kernel
// CHECK: %[[M:.+]] = arith.index_cast %[[ROWS]] : i64 to index
// CHECK: scf.if
// CHECK-COUNT-8: llvm.load {{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c8_i32
// CHECK: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c16_i32
// CHECK-NOT: nvvm.shfl
// CHECK: %[[BYTE:.+]] = arith.select %{{.+}}, %{{.+}}, %c0_i16
// CHECK: %[[LOW:.+]] = arith.trunci %[[BYTE]] : i16 to i8
// CHECK: llvm.store %[[LOW]], {{.+}} : i8, !llvm.ptr<3>
// CHECK-NOT: !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[WORD:.+]] = llvm.load {{.+}} : !llvm.ptr<3> -> i32
// CHECK: %[[EXISTS:.+]] = arith.cmpi ult, %{{.+}}, %[[M]]
// CHECK: %[[KEPT:.+]] = arith.select %[[EXISTS]], %[[WORD]], %c0_i32
// CHECK: llvm.store %[[KEPT]], {{.+}} : i32, !llvm.ptr<1>
// CHECK: } else {
// CHECK: llvm.store %c0_i32, {{.+}} : i32, !llvm.ptr<1>
// CHECK: gpu.return
func.func @squares(%x: memref<?x160xbf16>, %q: memref<?x160xf8E4M3FN>, %s: memref<?x2x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x160xbf16>) outs(%q, %s : memref<?x160xf8E4M3FN>, memref<?x2x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x160xbf16>, %lq: tensor<?x160xf8E4M3FN>, %ls: tensor<?x5xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [32, 32] scale_dim k : tensor<?x160xbf16> -> tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU, #swizzled>
  }
  return
}

// 16x1, transposed: a thread has 16 rows of 8 columns, a block of each, and exchanges
// half of its codes with the thread below it, four lanes away. Then it has 32 codes of
// four columns, which it stores at once where rows of the result start at multiples of
// 16 bytes, else block by block. Scales are stored in words, pairs or one by one, as
// the number of blocks allows.
// CHECK-LABEL: gpu.func @quantize_16x1_e2m1_torchao_bf16_k64_transposed(
// CHECK-NOT: arith.maximumf
// CHECK-COUNT-16: llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-8: llvm.store {{.+}} : i8, !llvm.ptr<3>
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c4_i32
// CHECK: arith.remui %{{.+}}, %c16
// CHECK-COUNT-4: llvm.store {{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: } else {
// CHECK-COUNT-8: llvm.store {{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// CHECK: arith.remui %{{.+}}, %c4
// CHECK-COUNT-2: llvm.store {{.+}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK: } else {
// CHECK: arith.remui %{{.+}}, %c2
// CHECK: llvm.store {{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK: } else {
// CHECK: llvm.store {{.+}} {alignment = 1 : i64} : i8, !llvm.ptr<1>
// CHECK: gpu.return
func.func @transposed(%x: memref<?x64xbf16>, %q: memref<64x?xi8>, %s: memref<64x?xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%q, %s : memref<64x?xi8>, memref<64x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lq: tensor<64x?xf4E2M1FN>, %ls: tensor<64x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [16, 1] transposed : tensor<?x64xbf16> -> tensor<64x?xf4E2M1FN>, tensor<64x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<64x?xf4E2M1FN>, tensor<64x?xf8E4M3FN>
  }
  return
}
