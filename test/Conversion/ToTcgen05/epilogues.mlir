// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>
#pairs = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 4, band = 4, ctas = 148>
#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

// Two products of one A share its loads; each has half of the rows of B of a tile, and the
// scales of one band of 128 rows.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_bf16_128x256_stages4_band8_twice_of_{{[a-z_]+}}_0_1_to_e2m1_torchao_swizzled_scaled
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %{{[^:]+}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %[[MAP_G:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_G:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %[[MAP_U:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_U:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %[[DATA:[^:]+]]: !llvm.ptr<1> {llvm.align = 32 : i64}, %[[SCALES:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[HALF:.+]], %[[MAP_G]]
// CHECK: %[[OTHER:.+]] = llvm.getelementptr %[[HALF]][16384]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[OTHER]], %[[MAP_U]]
// CHECK: llvm.getelementptr %[[SCALE_G]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: llvm.getelementptr %[[SCALE_U]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// Sums of both for the same columns; rows that do not exist have scales of zero.
// CHECK: tcgen05.ld
// CHECK: tcgen05.ld
// CHECK: %[[BYTES:.+]] = scf.if %{{.+}} -> (i16) {
// CHECK: llvm.fptrunc {{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: llvm.fptrunc {{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: %[[CODES:.+]] = llvm.getelementptr %[[DATA]]
// CHECK: llvm.store %{{.+}}, %[[CODES]] {alignment = 16 : i64} : vector<4xi32>
// CHECK: scf.if
// CHECK: llvm.store %[[BYTES]], %{{.+}} {alignment = 2 : i64} : i16

// In a pair each CTA loads the data of one product.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_bf16_256x256_stages4_band4_twice_of_
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map},
// CHECK-SAME: %[[MAP_G:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %{{[^:]+}}: !llvm.ptr {blockscale.tensor_map},
// CHECK-SAME: %[[MAP_U:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %{{[^:]+}}: !llvm.ptr {blockscale.tensor_map},
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[SCALE_A]]
// CHECK: scf.if
// CHECK-NEXT: %[[PLACE:.+]] = llvm.ptrtoint %[[HALF:.+]] : !llvm.ptr<3> to i32
// CHECK-NEXT: %[[MINE:.+]] = llvm.inttoptr %[[PLACE]]
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[MINE]], %[[MAP_G]]
// CHECK: scf.if
// CHECK-NEXT: %[[PLACE:.+]] = llvm.ptrtoint %[[HALF]] : !llvm.ptr<3> to i32
// CHECK-NEXT: %[[MINE:.+]] = llvm.inttoptr %[[PLACE]]
// CHECK-NEXT: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[MINE]], %[[MAP_U]]

// The host: no memory for the products, and tiles of half as many columns.
// CHECK-LABEL: func.func @swiglu
// CHECK-NOT: memref.alloc
// CHECK: blockscale.tensor_map %{{.+}} dims[%c128, %c640, %c1] strides[%c128, %{{.+}}] box [128, 128, 1]
// CHECK: blockscale.tensor_map %{{.+}} dims[%c128, %c640, %c1] strides[%c128, %{{.+}}] box [128, 128, 1]
// CHECK: %[[ROWS:.+]] = arith.ceildivui %{{.+}}, %c128
// CHECK: arith.muli %[[ROWS]], %c5
// CHECK: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @swiglu(%a: tensor<?x256xf4E2M1FN>, %g: tensor<640x256xf4E2M1FN>, %u: tensor<640x256xf4E2M1FN>, %sa: tensor<?x16xf8E4M3FN, #swizzled>, %sg: tensor<640x16xf8E4M3FN, #swizzled>, %su: tensor<640x16xf8E4M3FN, #swizzled>, %scale: tensor<f32>) -> (tensor<?x640xf4E2M1FN>, tensor<?x40xf8E4M3FN, #swizzled>) {
  %c0 = arith.constant 0 : index
  %x = blockscale.scaled_mm %a, %g scales(%sa, %sg) block [1, 16] {blockscale.schedule = #schedule}
      : tensor<?x256xf4E2M1FN>, tensor<640x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #swizzled>, tensor<640x16xf8E4M3FN, #swizzled> -> tensor<?x640xbf16>
  %y = blockscale.scaled_mm %a, %u scales(%sa, %su) block [1, 16] {blockscale.schedule = #schedule}
      : tensor<?x256xf4E2M1FN>, tensor<640x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #swizzled>, tensor<640x16xf8E4M3FN, #swizzled> -> tensor<?x640xbf16>
  %m = tensor.dim %y, %c0 : tensor<?x640xbf16>
  %e = tensor.empty(%m) : tensor<?x640xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<?x640xbf16>, tensor<?x640xbf16>) outs(%e : tensor<?x640xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<?x640xbf16>
  %d, %s = blockscale.quantize %h block [1, 16] recipe torchao global_scale(%scale : tensor<f32>) : tensor<?x640xbf16> -> tensor<?x640xf4E2M1FN>, tensor<?x40xf8E4M3FN, #swizzled>
  return %d, %s : tensor<?x640xf4E2M1FN>, tensor<?x40xf8E4M3FN, #swizzled>
}

func.func @pairs(%a: tensor<?x256xf4E2M1FN>, %g: tensor<640x256xf4E2M1FN>, %u: tensor<640x256xf4E2M1FN>, %sa: tensor<?x16xf8E4M3FN, #swizzled>, %s: tensor<640x16xf8E4M3FN, #swizzled>) -> tensor<?x640xbf16> {
  %c0 = arith.constant 0 : index
  %x = blockscale.scaled_mm %a, %g scales(%sa, %s) block [1, 16] {blockscale.schedule = #pairs}
      : tensor<?x256xf4E2M1FN>, tensor<640x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #swizzled>, tensor<640x16xf8E4M3FN, #swizzled> -> tensor<?x640xbf16>
  %y = blockscale.scaled_mm %a, %u scales(%sa, %s) block [1, 16] {blockscale.schedule = #pairs}
      : tensor<?x256xf4E2M1FN>, tensor<640x256xf4E2M1FN>, tensor<?x16xf8E4M3FN, #swizzled>, tensor<640x16xf8E4M3FN, #swizzled> -> tensor<?x640xbf16>
  %m = tensor.dim %y, %c0 : tensor<?x640xbf16>
  %e = tensor.empty(%m) : tensor<?x640xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<?x640xbf16>, tensor<?x640xbf16>) outs(%e : tensor<?x640xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<?x640xbf16>
  return %h : tensor<?x640xbf16>
}
