// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s --check-prefix=ARITH

#swizzled = #blockscale.layout<swizzle_128x4>

// Rows and columns from one read: a thread loads 16 rows of 8 columns before anything
// else. Two threads share the blocks of these rows: each gets the amaxes of 8 rows, two
// a word, and gives the factors back. Scales go through two tables of 256 bytes a warp.
// CHECK: llvm.mlir.global internal @[[NAME:quantize_1x16_e2m1_torchao_bf16_k512_swizzled_scaled_and_quantize_16x1_e2m1_torchao_bf16_k512_transposed_swizzled_scaled]]_tables() {{.+}} : !llvm.array<2048 x i8>
// CHECK-LABEL: gpu.func @quantize_1x16_e2m1_torchao_bf16_k512_swizzled_scaled_and_
// CHECK-SAME: (%{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 8 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 8 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 8 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64) kernel attributes {nvvm.minctasm = 3 : i32, nvvm.reqntid
// CHECK: scf.if
// CHECK-NOT: arith.maximumf
// CHECK-COUNT-16: llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: !llvm.ptr<1> -> vector
// CHECK-COUNT-4: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK-COUNT-8: llvm.store {{.+}} : i8, !llvm.ptr<3>
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-16: llvm.store {{.+}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// Scales of rows 32 apart lie side by side.
// CHECK-COUNT-1: llvm.store {{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK-NOT: llvm.store {{.+}} !llvm.ptr<1>
// The columns: 8 blocks of a thread, which exchanges nothing.
// CHECK: arith.mulf {{.+}} : vector<2xf32>
// CHECK-NOT: -> vector<4xi32>
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-8: llvm.store {{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.store {{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK: gpu.return
func.func @rows_and_columns(%x: memref<?x512xbf16>, %g: memref<f32>, %q: memref<?x256xi8>, %s: memref<?x8x32x4x4xf8E4M3FN>, %p: memref<512x?xi8>, %t: memref<4x?x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x512xbf16>, memref<f32>) outs(%q, %s, %p, %t : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN>, memref<512x?xi8>, memref<4x?x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x512xbf16>, %lg: tensor<f32>, %lq: tensor<?x512xf4E2M1FN>, %ls: tensor<?x32xf8E4M3FN, #swizzled>, %lp: tensor<512x?xf4E2M1FN>, %lt: tensor<512x?xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<f32>) : tensor<?x512xbf16> -> tensor<?x512xf4E2M1FN>, tensor<?x32xf8E4M3FN, #swizzled>
    %2, %3 = blockscale.quantize %lx block [16, 1] transposed global_scale(%lg : tensor<f32>) : tensor<?x512xbf16> -> tensor<512x?xf4E2M1FN>, tensor<512x?xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1, %2, %3 : tensor<?x512xf4E2M1FN>, tensor<?x32xf8E4M3FN, #swizzled>, tensor<512x?xf4E2M1FN>, tensor<512x?xf8E4M3FN, #swizzled>
  }
  return
}

// A transform of columns is computed in registers, two columns of each of four words at
// a time, and rounded; rows are those of x as it was. The kernel's name has the signs.
// CHECK-LABEL: gpu.func @quantize_1x16_e2m1_torchao_bf16_k128_and_rht7_quantize_16x1_e2m1_torchao_bf16_k128_transposed(
// With cvt the words become f32 once, by a sum with -0, for the codes of rows and for
// the transform, which is complete when the rows are. Its first terms are added to 0.
// CHECK-NOT: nvvm.minctasm
// CHECK-DAG: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<2xf32>
// CHECK-DAG: %[[PLUS:.+]] = arith.constant dense<2.500000e-01> : vector<2xf32>
// CHECK-DAG: %[[MINUS:.+]] = arith.constant dense<-2.500000e-01> : vector<2xf32>
// CHECK-COUNT-16: llvm.load {{.+}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: arith.truncf
// CHECK: llvm.inline_asm {{.*}}add.rn.f32.bf16 $0, low, 0f80000000{{.+}} (i32) -> f32
// CHECK: llvm.inline_asm {{.*}}add.rn.f32.bf16 $0, high, 0f80000000{{.+}} (i32) -> f32
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: %[[LEFT:.+]] = llvm.intr.fma(%{{.+}}, %[[MINUS]], %[[ZERO]])
// CHECK: llvm.intr.fma(%[[RIGHT:.+]], %[[MINUS]], %[[LEFT]])
// CHECK: llvm.intr.fma(%[[RIGHT]], %[[PLUS]], %[[LEFT]])
// CHECK: llvm.intr.fma(%{{.+}}, %[[MINUS]], %[[ZERO]])
// CHECK-COUNT-6: llvm.intr.fma(%{{.+}}, %[[PLUS]], %[[ZERO]])
// CHECK-COUNT-64: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK: llvm.inline_asm {{.*}}cvt.rn.satfinite.e2m1x2.f32
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: arith.truncf
// CHECK: gpu.return
// Codes made by arithmetic need the registers: rows come first.
// ARITH-LABEL: gpu.func @quantize_1x16_e2m1_torchao_bf16_k128_and_rht7_quantize_16x1_e2m1_torchao_bf16_k128_transposed_sm90(
// ARITH-COUNT-16: llvm.load {{.+}} : !llvm.ptr<1> -> vector<4xi32>
// ARITH-NOT: arith.truncf
// ARITH: nvvm.bar.warp.sync
// ARITH-COUNT-64: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// ARITH-NOT: arith.truncf
// ARITH: gpu.return
func.func @transformed(%x: memref<64x128xbf16>, %q: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %p: memref<128x32xi8>, %t: memref<128x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s, %p, %t : memref<64x64xi8>, memref<64x8xf8E4M3FN>, memref<128x32xi8>, memref<128x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf4E2M1FN>, %ls: tensor<64x8xf8E4M3FN>, %lp: tensor<128x64xf4E2M1FN>, %lt: tensor<128x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    %h = blockscale.hadamard %lx dim 0 sign_mask 7 : tensor<64x128xbf16>
    %2, %3 = blockscale.quantize %h block [16, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    blockscale.yield %0, %1, %2, %3 : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  }
  return
}

// Blocks of 32: four threads share 16 rows, of which each has four in the end. Of
// squares two by four threads share one.
// CHECK-LABEL: gpu.func @quantize_1x32_e4m3_rceil_bf16_k160_and_quantize_32x32_e4m3_rceil_bf16_k160_transposed(
// CHECK-COUNT-4: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c2_i32
// CHECK-COUNT-4: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c2_i32
// CHECK-COUNT-8: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK-COUNT-16: llvm.store {{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c1_i32
// CHECK: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c2_i32
// CHECK: nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %c8_i32
// CHECK-NOT: nvvm.shfl
// CHECK: gpu.return

// One launch each.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: gpu.launch_func @blockscale_kernels::@quantize_1x16_e2m1
// CHECK-NOT: gpu.launch_func
// CHECK-LABEL: func.func @transformed
// CHECK: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// CHECK-LABEL: func.func @rows_and_squares
// CHECK: gpu.launch_func @blockscale_kernels::@quantize_1x32_e4m3
// CHECK-NOT: gpu.launch_func
func.func @rows_and_squares(%x: memref<64x160xbf16>, %q: memref<64x160xf8E4M3FN>, %s: memref<64x5xf8E8M0FNU>, %p: memref<160x64xf8E4M3FN>, %t: memref<5x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x160xbf16>) outs(%q, %s, %p, %t : memref<64x160xf8E4M3FN>, memref<64x5xf8E8M0FNU>, memref<160x64xf8E4M3FN>, memref<5x2xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x160xbf16>, %lq: tensor<64x160xf8E4M3FN>, %ls: tensor<64x5xf8E8M0FNU>, %lp: tensor<160x64xf8E4M3FN>, %lt: tensor<5x2xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x160xbf16> -> tensor<64x160xf8E4M3FN>, tensor<64x5xf8E8M0FNU>
    %2, %3 = blockscale.quantize %lx block [32, 32] transposed : tensor<64x160xbf16> -> tensor<160x64xf8E4M3FN>, tensor<5x2xf8E8M0FNU>
    blockscale.yield %0, %1, %2, %3 : tensor<64x160xf8E4M3FN>, tensor<64x5xf8E8M0FNU>, tensor<160x64xf8E4M3FN>, tensor<5x2xf8E8M0FNU>
  }
  return
}
