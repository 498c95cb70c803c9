// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s --check-prefix=SM90
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_120a | FileCheck %s --check-prefix=WARP
// RUN: blockscale-opt %s --blockscale-to-cpu=to=lower-kernels | FileCheck %s --check-prefix=CPU

// Rows of codes that are no multiple of 16 bytes are moved apart before a product; maps have
// the rows alone, at multiples of 16 bytes. CPUs read rows anywhere.
// CPU-NOT: align_rows
// CPU-NOT: _rows_of_

// A thread moves the 8 bytes of a block: three of them are a row.
// CHECK: gpu.func @align_rows_of_24(%[[FROM:.+]]: !llvm.ptr<1> {llvm.align = 8 : i64}, %[[TO:.+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.+}}: i64)
// CHECK: %[[ROW:.+]] = arith.divui %[[NUMBER:.+]], %c3
// CHECK: %[[FIRST:.+]] = arith.muli %[[NUMBER]], %c8
// CHECK: %[[GAPS:.+]] = arith.muli %[[ROW]], %c8
// CHECK: %[[MOVED:.+]] = arith.addi %[[FIRST]], %[[GAPS]]
// CHECK: llvm.load
// CHECK: llvm.store

// A constant is moved apart at compile time, once for all products of it.
// CHECK-COUNT-1: memref.global "private" constant @[[CONSTANT:__constant_2x24xi8_rows_of_32]] : memref<2x32xi8> = dense<{{\[\[}}51, 51, {{.*}} 51, 0, 0, 0, 0, 0, 0, 0, 0], [51, {{.*}} 51, 0, 0, 0, 0, 0, 0, 0, 0]]>
// CHECK-NOT: _rows_of_32 :
// On Hopper it is prepacked, and blocks have no rows.
// SM90-NOT: memref.global {{.*}}_rows_of_

#swizzled = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @arguments
// CHECK: %[[A:.+]] = memref.alloc() : memref<3200xi8>
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_24 blocks in (%c3,
// CHECK: tensor_map {{.*}} dims[%c24, %c100, %c1] strides[%c32, %c3200]
// CHECK: %[[B:.+]] = memref.alloc() : memref<1600xi8>
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_24 blocks in (%c2,
// CHECK: tensor_map {{.*}} dims[%c24, %c50, %c1] strides[%c32, %c1600]
// CHECK: gpu.launch_func @blockscale_kernels::@scaled_mm_e2m1_e2m1_e4m3_f32
// CHECK: memref.dealloc %[[A]]
// CHECK: memref.dealloc %[[B]]
// A is decoded to bf16, 96 bytes a row.
// SM90-LABEL: func.func @arguments
// SM90: gpu.launch_func @blockscale_kernels::@dequantize_e2m1
// SM90: tensor_map {{.*}} dims[%c96, %c100, %c1] strides[%c96, %c9600]
// SM90: memref.alloc() : memref<1600xi8>
// SM90: gpu.launch_func @blockscale_kernels::@align_rows_of_24 blocks in (%c2,
// SM90: tensor_map {{.*}} dims[%c24, %c50, %c1] strides[%c32, %c1600]
// SM90: gpu.launch_func @blockscale_kernels::@scaled_mm_bf16_e2m1_e4m3_f32
func.func @arguments(%a: tensor<100x48xf4E2M1FN>, %b: tensor<50x48xf4E2M1FN>,
                     %sa: tensor<100x3xf8E4M3FN, #swizzled>, %sb: tensor<50x3xf8E4M3FN, #swizzled>) -> tensor<100x50xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<100x48xf4E2M1FN>, tensor<50x48xf4E2M1FN>, tensor<100x3xf8E4M3FN, #swizzled>,
        tensor<50x3xf8E4M3FN, #swizzled> -> tensor<100x50xf32>
  return %y : tensor<100x50xf32>
}

// CHECK-LABEL: func.func @constants
// CHECK-COUNT-1: gpu.launch_func @blockscale_kernels::@align_rows_of_24
// CHECK: memref.get_global @[[CONSTANT]]
// CHECK-NOT: align_rows
// CHECK: tensor_map {{.*}} dims[%c24, %c2, %c1] strides[%c32, %c64]
// CHECK: gpu.launch_func @blockscale_kernels::@scaled_mm_e2m1_e2m1_e4m3_f32
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_24
// CHECK-NOT: align_rows
// CHECK: tensor_map {{.*}} dims[%c24, %c9, %c1] strides[%c32, %c288]
// CHECK-NOT: align_rows
// CHECK: gpu.launch_func @blockscale_kernels::@scaled_mm_e2m1_e2m1_e4m3_f32
// SM90-LABEL: func.func @constants
// SM90-NOT: align_rows
// SM90: gpu.launch_func @blockscale_kernels::@scaled_mm_bf16_e2m1_e4m3_packed_f32
// SM90-NOT: align_rows
// SM90: return
func.func @constants(%a: tensor<100x48xf4E2M1FN>, %c: tensor<9x48xf4E2M1FN>, %sa: tensor<100x3xf8E4M3FN, #swizzled>,
                     %sc: tensor<9x3xf8E4M3FN, #swizzled>, %sb: tensor<2x3xf8E4M3FN, #swizzled>)
    -> (tensor<100x2xf32>, tensor<9x2xf32>) {
  %b = arith.constant dense<1.5> : tensor<2x48xf4E2M1FN>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<100x48xf4E2M1FN>, tensor<2x48xf4E2M1FN>, tensor<100x3xf8E4M3FN, #swizzled>,
        tensor<2x3xf8E4M3FN, #swizzled> -> tensor<100x2xf32>
  %z = blockscale.scaled_mm %c, %b scales(%sc, %sb) block [1, 16]
      : tensor<9x48xf4E2M1FN>, tensor<2x48xf4E2M1FN>, tensor<9x3xf8E4M3FN, #swizzled>,
        tensor<2x3xf8E4M3FN, #swizzled> -> tensor<9x2xf32>
  return %y, %z : tensor<100x2xf32>, tensor<9x2xf32>
}

// The rows of all matrices, as many as there are.
// CHECK-LABEL: func.func @batch
// CHECK-DAG: %[[COUNT:.+]] = memref.dim %arg0, %c0
// CHECK: %[[BYTES:.+]] = arith.muli %[[COUNT]], %c3200
// CHECK: memref.alloc(%[[BYTES]]) : memref<?xi8>
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_24
// CHECK: tensor_map {{.*}} dims[%c24, %c100, %[[COUNT]]] strides[%c32, %c3200]
func.func @batch(%a: tensor<?x100x48xf4E2M1FN>, %b: tensor<?x50x48xf4E2M1FN>, %sa: tensor<?x100x3xf8E4M3FN, #swizzled>,
                 %sb: tensor<?x50x3xf8E4M3FN, #swizzled>) -> tensor<?x100x50xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<?x100x48xf4E2M1FN>, tensor<?x50x48xf4E2M1FN>, tensor<?x100x3xf8E4M3FN, #swizzled>,
        tensor<?x50x3xf8E4M3FN, #swizzled> -> tensor<?x100x50xf32>
  return %y : tensor<?x100x50xf32>
}

// Where a group of K may be empty, maps have the row, too, and not the gap after it.
// CHECK-LABEL: func.func @columns
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_8 blocks in (%c1,
// CHECK: tensor_map {{.*}} dims[%c8, %c40, %c1] strides[%c16, %c640]
// SM90-LABEL: func.func @columns
// SM90: tensor_map {{.*}} dims[%c32, %c40, %c1] strides[%c32, %c1280]
// SM90: gpu.launch_func @blockscale_kernels::@align_rows_of_8 blocks in (%c1,
// SM90: tensor_map {{.*}} dims[%c8, %c24, %c1] strides[%c16, %c384]
func.func @columns(%a: tensor<40x16xf4E2M1FN>, %b: tensor<24x16xf4E2M1FN>, %ends: tensor<2xi32>,
                   %sa: tensor<40x1xf8E4M3FN>, %sb: tensor<24x1xf8E4M3FN>) -> tensor<2x40x24xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 16]
      : tensor<40x16xf4E2M1FN>, tensor<24x16xf4E2M1FN>, tensor<2xi32>, tensor<40x1xf8E4M3FN>, tensor<24x1xf8E4M3FN>
      -> tensor<2x40x24xf32>
  return %y : tensor<2x40x24xf32>
}

// An even number of blocks, blocks of 32, and a K that only a launch knows: its rows stay
// where they are, and launches with others are refused.
// CHECK-LABEL: func.func @even
// CHECK-NOT: align_rows
// CHECK-LABEL: func.func @mxfp4
// CHECK-NOT: align_rows
// CHECK-LABEL: func.func @dynamic
// CHECK: cf.assert {{.*}}expected K, on sm_100a (sm100_mm_c2), to be a multiple of 32
// CHECK-NOT: align_rows
// SM90-LABEL: func.func @even
// SM90-NOT: align_rows
// SM90-LABEL: func.func @mxfp4
// SM90-NOT: align_rows
// SM90-LABEL: func.func @dynamic
// SM90: cf.assert {{.*}}expected K, on sm_90a (sm90_mm_c2), to be a multiple of 32
// SM90-NOT: align_rows
// WARP-LABEL: func.func @even
// WARP-NOT: align_rows
// WARP-LABEL: func.func @mxfp4
// WARP-NOT: align_rows
// WARP-LABEL: func.func @dynamic
// WARP: cf.assert {{.*}}expected K, on sm_120a (warp_mm_c2), to be a multiple of 32
// WARP-NOT: align_rows
func.func @even(%a: tensor<100x64xf4E2M1FN>, %sa: tensor<100x4xf8E4M3FN, #swizzled>) -> tensor<100x100xf32> {
  %y = blockscale.scaled_mm %a, %a scales(%sa, %sa) block [1, 16]
      : tensor<100x64xf4E2M1FN>, tensor<100x64xf4E2M1FN>, tensor<100x4xf8E4M3FN, #swizzled>,
        tensor<100x4xf8E4M3FN, #swizzled> -> tensor<100x100xf32>
  return %y : tensor<100x100xf32>
}
func.func @mxfp4(%a: tensor<100x96xf4E2M1FN>, %sa: tensor<100x3xf8E8M0FNU, #swizzled>) -> tensor<100x100xf32> {
  %y = blockscale.scaled_mm %a, %a scales(%sa, %sa) block [1, 32]
      : tensor<100x96xf4E2M1FN>, tensor<100x96xf4E2M1FN>, tensor<100x3xf8E8M0FNU, #swizzled>,
        tensor<100x3xf8E8M0FNU, #swizzled> -> tensor<100x100xf32>
  return %y : tensor<100x100xf32>
}
func.func @dynamic(%a: tensor<100x?xf4E2M1FN>, %sa: tensor<100x?xf8E4M3FN, #swizzled>) -> tensor<100x100xf32> {
  %y = blockscale.scaled_mm %a, %a scales(%sa, %sa) block [1, 16]
      : tensor<100x?xf4E2M1FN>, tensor<100x?xf4E2M1FN>, tensor<100x?xf8E4M3FN, #swizzled>,
        tensor<100x?xf8E4M3FN, #swizzled> -> tensor<100x100xf32>
  return %y : tensor<100x100xf32>
}
