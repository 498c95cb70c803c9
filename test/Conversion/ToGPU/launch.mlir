// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// One function for each spec: @static and @dynamic differ in rows only. Pointers
// have the alignment of the widest access.
// CHECK: module attributes {gpu.container_module}
// CHECK: gpu.module @blockscale_kernels [#blockscale.target<chip = "sm_100a", O = 2>] {
// CHECK: gpu.func @quantize_e2m1_torchao_bf16_k4096_swizzled(%{{.+}}: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64) kernel attributes {nvvm.reqntid = array<i32: 128, 1, 1>}
// CHECK: gpu.func @quantize_e4m3_rceil_f32_k96(%{{.+}}: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 1 : i64}, %{{.+}}: i64)
// CHECK: gpu.func @quantize_e4m3_rceil_f32_k96_swizzled_batched(
// CHECK: gpu.func @quantize_e2m1_te_bf16_k64_batched_scaled_each(
// CHECK-NOT: gpu.func

// 200 rows are in two tiles, which have 32 lines of four rows each. A warp takes
// eight of the 64 fragments of a row, so that a line is two CTAs of four warps.
// CHECK-LABEL: func.func @static
// CHECK-SAME: %[[X:.+]]: memref<200x4096xbf16>, %[[Q:.+]]: memref<200x2048xi8>, %[[S:.+]]: memref<2x64x32x4x4xf8E4M3FN>
func.func @static(%x: memref<200x4096xbf16>, %q: memref<200x2048xi8>, %s: memref<2x64x32x4x4xf8E4M3FN>) {
  // CHECK-DAG: %[[ROWS:.+]] = arith.constant 200 : i64
  // CHECK-DAG: %[[C128:.+]] = arith.constant 128 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK: %[[XI:.+]] = memref.extract_aligned_pointer_as_index %[[X]]
  // CHECK: %[[XA:.+]] = arith.index_cast %[[XI]] : index to i64
  // CHECK: %[[XP:.+]] = llvm.inttoptr %[[XA]] : i64 to !llvm.ptr<1>
  // CHECK: %[[QI:.+]] = memref.extract_aligned_pointer_as_index %[[Q]]
  // CHECK: %[[QA:.+]] = arith.index_cast %[[QI]] : index to i64
  // CHECK: %[[QP:.+]] = llvm.inttoptr %[[QA]] : i64 to !llvm.ptr<1>
  // CHECK: %[[SI:.+]] = memref.extract_aligned_pointer_as_index %[[S]]
  // CHECK: %[[SA:.+]] = arith.index_cast %[[SI]] : index to i64
  // CHECK: %[[SP:.+]] = llvm.inttoptr %[[SA]] : i64 to !llvm.ptr<1>
  // CHECK: gpu.launch_func @blockscale_kernels::@quantize_e2m1_torchao_bf16_k4096_swizzled
  // CHECK-SAME: blocks in (%[[C128]], %[[C1]], %[[C1]]) threads in (%[[C128]], %[[C1]], %[[C1]])
  // CHECK-SAME: args(%[[XP]] : !llvm.ptr<1>, %[[QP]] : !llvm.ptr<1>, %[[SP]] : !llvm.ptr<1>, %[[ROWS]] : i64)
  blockscale.kernel ins(%x : memref<200x4096xbf16>) outs(%q, %s : memref<200x2048xi8>, memref<2x64x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<200x4096xbf16>, %lq: tensor<200x4096xf4E2M1FN>, %ls: tensor<200x256xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<200x4096xbf16> -> tensor<200x4096xf4E2M1FN>, tensor<200x256xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<200x4096xf4E2M1FN>, tensor<200x256xf8E4M3FN, #swizzled>
  }
  return
}

// No CTA where there are no rows. Results must have the rows of x.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:.+]]: memref<?x4096xbf16>,
func.func @dynamic(%x: memref<?x4096xbf16>, %q: memref<?x2048xi8>, %s: memref<?x64x32x4x4xf8E4M3FN>) {
  // CHECK: cf.assert %{{.+}}, "quantize: expected dimension 0 of scale in memory to fit the shape of x"
  // CHECK: %[[M:.+]] = memref.dim %[[X]], %c0
  // CHECK: %[[TILES:.+]] = arith.ceildivui %[[M]], %c128
  // CHECK: %[[BLOCKS:.+]] = arith.muli %[[TILES]], %c64
  // CHECK: %[[ROWS:.+]] = arith.index_cast %[[M]] : index to i64
  // CHECK: gpu.launch_func @blockscale_kernels::@quantize_e2m1_torchao_bf16_k4096_swizzled
  // CHECK-SAME: blocks in (%[[BLOCKS]], %c1, %c1)
  // CHECK-SAME: %[[ROWS]] : i64)
  blockscale.kernel ins(%x : memref<?x4096xbf16>) outs(%q, %s : memref<?x2048xi8>, memref<?x64x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x4096xbf16>, %lq: tensor<?x4096xf4E2M1FN>, %ls: tensor<?x256xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
  }
  return
}

// With linear scales a batch is one matrix of 3 * 70 rows: 2 fragments a row, 64
// rows a CTA.
// CHECK-LABEL: func.func @linear_batch
func.func @linear_batch(%x: memref<3x70x96xf32>, %q: memref<3x70x96xf8E4M3FN>, %s: memref<3x70x3xf8E8M0FNU>) {
  // CHECK-DAG: %[[ROWS:.+]] = arith.constant 210 : i64
  // CHECK: gpu.launch_func @blockscale_kernels::@quantize_e4m3_rceil_f32_k96 blocks in (%c4, %c1, %c1)
  // CHECK-SAME: %[[ROWS]] : i64)
  blockscale.kernel ins(%x : memref<3x70x96xf32>) outs(%q, %s : memref<3x70x96xf8E4M3FN>, memref<3x70x3xf8E8M0FNU>) {
  ^bb0(%lx: tensor<3x70x96xf32>, %lq: tensor<3x70x96xf8E4M3FN>, %ls: tensor<3x70x3xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<3x70x96xf32> -> tensor<3x70x96xf8E4M3FN>, tensor<3x70x3xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<3x70x96xf8E4M3FN>, tensor<3x70x3xf8E8M0FNU>
  }
  return
}

// With swizzled scales each matrix is padded alone: 32 lines of one warp are eight
// CTAs. Matrices run along y, and along z where y does not suffice.
// CHECK-LABEL: func.func @swizzled_batch
func.func @swizzled_batch(%x: memref<5x70000x70x96xf32>, %q: memref<5x70000x70x96xf8E4M3FN>, %s: memref<5x70000x1x1x32x4x4xf8E8M0FNU>) {
  // CHECK-DAG: %[[ROWS:.+]] = arith.constant 70 : i64
  // CHECK-DAG: %[[MATRICES:.+]] = arith.constant 350000 : i64
  // CHECK: gpu.launch_func @blockscale_kernels::@quantize_e4m3_rceil_f32_k96_swizzled_batched
  // CHECK-SAME: blocks in (%c8, %c65535, %c6)
  // CHECK-SAME: %[[ROWS]] : i64, %[[MATRICES]] : i64)
  blockscale.kernel ins(%x : memref<5x70000x70x96xf32>) outs(%q, %s : memref<5x70000x70x96xf8E4M3FN>, memref<5x70000x1x1x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<5x70000x70x96xf32>, %lq: tensor<5x70000x70x96xf8E4M3FN>, %ls: tensor<5x70000x70x3xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<5x70000x70x96xf32> -> tensor<5x70000x70x96xf8E4M3FN>, tensor<5x70000x70x3xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<5x70000x70x96xf8E4M3FN>, tensor<5x70000x70x3xf8E8M0FNU, #swizzled>
  }
  return
}

// A global value for each matrix keeps matrices apart, though scales are linear.
// There must be as many.
// CHECK-LABEL: func.func @global_each
// CHECK-SAME: %[[G:[a-z0-9]+]]: memref<?xf32>
func.func @global_each(%x: memref<?x70x64xbf16>, %g: memref<?xf32>, %q: memref<?x70x32xi8>, %s: memref<?x70x4xf8E4M3FN>) {
  // CHECK: %[[BATCH:.+]] = memref.dim %{{.+}}, %c0 : memref<?x70x64xbf16>
  // CHECK: %[[COUNT:.+]] = memref.dim %[[G]], %c0
  // CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[COUNT]], %[[BATCH]] : index
  // CHECK: cf.assert %{{.+}}, "quantize: expected dimension 0 of data in memory to fit the shape of x"
  // CHECK: cf.assert %{{.+}}, "quantize: expected dimension 0 of scale to fit the shape of x"
  // CHECK: cf.assert %[[FITS]], "quantize: expected dimension 0 of global_scale to fit the shape of x"
  // CHECK: %[[B:.+]] = memref.dim %{{.+}}, %c0
  // CHECK: %[[Y:.+]] = arith.minui %[[B]], %c65535
  // CHECK: %[[Z:.+]] = arith.ceildivui %[[B]], %c65535
  // CHECK: %[[GI:.+]] = memref.extract_aligned_pointer_as_index %[[G]]
  // CHECK: %[[GA:.+]] = arith.index_cast %[[GI]] : index to i64
  // CHECK: %[[GP:.+]] = llvm.inttoptr %[[GA]] : i64 to !llvm.ptr<1>
  // CHECK: gpu.launch_func @blockscale_kernels::@quantize_e2m1_te_bf16_k64_batched_scaled_each
  // CHECK-SAME: blocks in (%{{.+}}, %[[Y]], %[[Z]])
  // CHECK-SAME: %[[GP]] : !llvm.ptr<1>,
  blockscale.kernel ins(%x, %g : memref<?x70x64xbf16>, memref<?xf32>) outs(%q, %s : memref<?x70x32xi8>, memref<?x70x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x70x64xbf16>, %lg: tensor<?xf32>, %lq: tensor<?x70x64xf4E2M1FN>, %ls: tensor<?x70x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te global_scale(%lg : tensor<?xf32>) : tensor<?x70x64xbf16> -> tensor<?x70x64xf4E2M1FN>, tensor<?x70x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x70x64xf4E2M1FN>, tensor<?x70x4xf8E4M3FN>
  }
  return
}

// Rows without elements have nothing to store.
// CHECK-LABEL: func.func @no_elements
// CHECK-NEXT: return
func.func @no_elements(%x: memref<5x0xbf16>, %q: memref<5x0xi8>, %s: memref<5x0xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<5x0xbf16>) outs(%q, %s : memref<5x0xi8>, memref<5x0xf8E4M3FN>) {
  ^bb0(%lx: tensor<5x0xbf16>, %lq: tensor<5x0xf4E2M1FN>, %ls: tensor<5x0xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<5x0xbf16> -> tensor<5x0xf4E2M1FN>, tensor<5x0xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<5x0xf4E2M1FN>, tensor<5x0xf8E4M3FN>
  }
  return
}
