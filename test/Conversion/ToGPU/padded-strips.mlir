// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#tiles = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

// Warps side by side have the same strip: the first one finds it, and leaves it in shared memory.
// Each row of a fragment that has all of them is loaded at once. Together the warps have tiles of
// scales, of which a thread stores 16 bytes.
// CHECK-LABEL: gpu.func @quantize_16x1_e2m1_torchao_bf16_k256_transposed_row_groups_padded_tiles_by64(
// CHECK-SAME: %{{[^,]+}}, %{{[^,]+}}, %[[SCALES:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}
// CHECK: nvvm.shfl.sync up
// CHECK: llvm.store %{{.+}}, %{{.+}} : i32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.load %{{.+}} : !llvm.ptr<3> -> i32
// CHECK-COUNT-16: llvm.load %{{.+}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: gpu.barrier
// CHECK-COUNT-4: llvm.load %{{.+}} : !llvm.ptr<3> -> i32
// CHECK: %[[PLACE:.+]] = llvm.getelementptr %[[SCALES]]
// CHECK: llvm.store %{{.+}}, %[[PLACE]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: gpu.return

// Where the warps of a CTA have several strips, each finds its own, and stores words.
// CHECK-LABEL: gpu.func @quantize_16x1_e2m1_torchao_bf16_k64_transposed_row_groups_padded_tiles_by64(
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK: gpu.return

// Three groups of 448 rows, and what is behind them, have at most 5 strips of 128 rows, as each may
// have a last one of 64: two CTAs side by side for each. A CTA fills up tiles.
// CHECK-LABEL: func.func @whole
// CHECK: gpu.launch_func {{.*}} blocks in (%c11, %c1, %c1)
func.func @whole(%x: tensor<300x256xbf16>, %o: tensor<3xi32>) -> (tensor<256x448xf4E2M1FN>, tensor<256x28xf8E4M3FN, #tiles>) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 64 : tensor<300x256xbf16> -> tensor<448x256xbf16>
  %q, %s = blockscale.quantize %p block [16, 1] transposed offsets(%e : tensor<3xi32>) : tensor<448x256xbf16> -> tensor<256x448xf4E2M1FN>, tensor<256x28xf8E4M3FN, #tiles>
  return %q, %s : tensor<256x448xf4E2M1FN>, tensor<256x28xf8E4M3FN, #tiles>
}

// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<300x64xbf16>, %o: tensor<3xi32>) -> (tensor<64x448xf4E2M1FN>, tensor<64x28xf8E4M3FN, #tiles>) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 64 : tensor<300x64xbf16> -> tensor<448x64xbf16>
  %q, %s = blockscale.quantize %p block [16, 1] transposed offsets(%e : tensor<3xi32>) : tensor<448x64xbf16> -> tensor<64x448xf4E2M1FN>, tensor<64x28xf8E4M3FN, #tiles>
  return %q, %s : tensor<64x448xf4E2M1FN>, tensor<64x28xf8E4M3FN, #tiles>
}
