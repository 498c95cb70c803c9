// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 148>
#pairs = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 4, band = 4, ctas = 148>
#rows = #blockscale.layout<swizzle_128x4, groups = 4, dim = 0>
#columns = #blockscale.layout<swizzle_128x4, groups = 4, dim = 1>
#swizzled = #blockscale.layout<swizzle_128x4>

// Groups of rows: each role goes through the offsets, and through the tiles of each group.
// Only the warps with results go through the rows that no group has, after all groups.
// CHECK-LABEL: gpu.func @scaled_grouped_mm_rows_e2m1_e2m1_e4m3_bf16_128x128_stages4_band8_aone_beach_biases_bf16
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %{{[^:]+}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %[[MAP_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map},
// CHECK-SAME: %[[OFFSETS:[^:]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64, %{{.+}}: i64, %{{.+}}: i64, %[[GROUPS:[^:]+]]: i64)
// CHECK: %[[COUNT:.+]] = arith.trunci %[[GROUPS]]
// CHECK: nvvm.prefetch tensormap
// CHECK: scf.for %[[GROUP:.+]] = %c0_i32 to %[[COUNT]]
// CHECK: %[[PLACE:.+]] = llvm.getelementptr %[[OFFSETS]][%[[GROUP]]]
// CHECK: %[[OFFSET:.+]] = llvm.load %[[PLACE]]
// CHECK: %[[BEYOND:.+]] = arith.cmpi slt, %{{.+}}, %[[OFFSET]] : i32
// CHECK: %[[INSIDE:.+]] = arith.select %[[BEYOND]], %c0_i32, %[[OFFSET]] : i32
// CHECK: %[[END:.+]] = arith.maxsi %[[INSIDE]], %[[BEGIN:.+]] : i32
// CHECK: arith.subi %[[END]], %[[BEGIN]] : i32
// CHECK: scf.while
// A row of A is one of all, the matrix of B that of the group.
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]], %{{.+}}, box[%{{.+}}, %{{.+}}, %c0_i32]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_B]], %{{.+}}, box[%{{.+}}, %{{.+}}, %[[GROUP]]]
// CHECK: scf.for {{.*}} to %[[COUNT]]
// CHECK: nvvm.tcgen05.mma.block_scale
// CHECK: scf.for {{.*}} to %[[COUNT]]
// CHECK: tcgen05.ld
// CHECK: scf.while
// CHECK: %[[ZEROS:.+]] = llvm.bitcast %{{cst.*}} : vector<32xbf16> to vector<16xi32>
// CHECK: %[[PIECE:.+]] = llvm.shufflevector %[[ZEROS]], %[[ZEROS]] [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: llvm.store %[[PIECE]], %{{.+}} {alignment = 32 : i64}
// CHECK: nvvm.tcgen05.dealloc

// Groups of K, in pairs: groups that end within a block, or begin where copies cannot, are
// empty; both operands are one matrix,
// which a group begins within; scales of all groups are one map of quarters of atoms. An
// empty group has no sums to read.
// CHECK-LABEL: gpu.func @scaled_grouped_mm_depth_e2m1_e2m1_e4m3_f32_256x256_stages4_band4_any_k
// CHECK: nvvm.prefetch tensormap
// CHECK: %[[REST:.+]] = arith.remui %{{.+}}, %c16_i32
// CHECK: %[[CUT:.+]] = arith.cmpi sgt, %[[REST]], %c0_i32
// CHECK: %[[WHOLE:.+]] = arith.select %[[CUT]], %c0_i32, %{{.+}} : i32
// CHECK: arith.maxsi %[[WHOLE]], %[[BEGIN:.+]] : i32
// CHECK: %[[INCOPY:.+]] = arith.andi %[[BEGIN]], %c31_i32
// CHECK: %[[STARTS:.+]] = arith.cmpi eq, %[[INCOPY]], %c0_i32
// CHECK: %[[END:.+]] = arith.select %[[STARTS]], %{{.+}}, %[[BEGIN]]
// CHECK: arith.subi %[[END]], %[[BEGIN]] : i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{.+}}, %{{.+}}, %c0_i32]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%c0_i32, %{{[^,]+}}]

// One map of all tokens, and one of the weights; as many tiles as there can be.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[A:[^:]+]]: memref<?x512xi8>
// CHECK: %[[ROWS:.+]] = memref.dim %[[A]]
// CHECK: blockscale.tensor_map %{{.+}} dims[%c512, %[[ROWS]], %c1]
// CHECK: blockscale.tensor_map %{{.+}} dims[%c512, %c640, %c4]
// CHECK: %[[TILES:.+]] = arith.ceildivui %[[ROWS]], %c128
// CHECK: %[[MOST:.+]] = arith.addi %[[TILES]], %c4
// CHECK: arith.minsi %[[MOST]], %[[ROWS]]
// CHECK: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @rows(%a: tensor<?x1024xf4E2M1FN>, %b: tensor<4x640x1024xf4E2M1FN>, %ends: tensor<4xi32>, %sa: tensor<?x64xf8E4M3FN, #rows>, %sb: tensor<4x640x64xf8E4M3FN, #swizzled>, %ga: tensor<f32>, %gb: tensor<4xf32>, %bias: tensor<4x640xbf16>) -> tensor<?x640xbf16> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16] global_scale_a(%ga : tensor<f32>) global_scale_b(%gb : tensor<4xf32>) bias(%bias : tensor<4x640xbf16>) {blockscale.schedule = #schedule}
      : tensor<?x1024xf4E2M1FN>, tensor<4x640x1024xf4E2M1FN>, tensor<4xi32>, tensor<?x64xf8E4M3FN, #rows>, tensor<4x640x64xf8E4M3FN, #swizzled> -> tensor<?x640xbf16>
  return %y : tensor<?x640xbf16>
}

// CHECK-LABEL: func.func @depth
// CHECK: blockscale.tensor_map %{{.+}} dims[%c1024, %c300, %c1]
// CHECK: blockscale.tensor_map %{{.+}} dims[%c128, %c420] strides[%c128] box [128, 16] element uint8 swizzle 0
// CHECK: blockscale.tensor_map %{{.+}} dims[%c1024, %c400, %c1]
// CHECK: blockscale.tensor_map %{{.+}} dims[%c128, %c560] strides[%c128] box [128, 16] element uint8 swizzle 0
func.func @depth(%a: tensor<300x2048xf4E2M1FN>, %b: tensor<400x2048xf4E2M1FN>, %ends: tensor<4xi32>, %sa: tensor<300x128xf8E4M3FN, #columns>, %sb: tensor<400x128xf8E4M3FN, #columns>) -> tensor<4x300x400xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16] {blockscale.schedule = #pairs}
      : tensor<300x2048xf4E2M1FN>, tensor<400x2048xf4E2M1FN>, tensor<4xi32>, tensor<300x128xf8E4M3FN, #columns>, tensor<400x128xf8E4M3FN, #columns> -> tensor<4x300x400xf32>
  return %y : tensor<4x300x400xf32>
}
