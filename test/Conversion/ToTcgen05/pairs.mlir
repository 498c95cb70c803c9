// RUN: blockscale-opt %s --blockscale-to-sm100 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Two pairs beside each other. Each CTA loads half of its rows of A for itself
// and the one with the same rows, with a barrier of its leader; scales come by maps, too.
// The leader multiplies for both, and tells all CTAs of the cluster.
// CHECK-LABEL: gpu.func @scaled_mm_e2m1_e2m1_e4m3_bf16_256x256_stages5_band4_multicast2
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map},
// CHECK-SAME: %[[MAP_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map},
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
// CHECK: nvvm.read.ptx.sreg.cluster.ctarank
// An accumulator is empty when the warps of both CTAs say so.
// CHECK-DAG: nvvm.mbarrier.init %{{.+}}, %c2_i32
// CHECK-DAG: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK: nvvm.tcgen05.alloc %{{.+}} {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.cluster.arrive {aligned}
// CHECK-NEXT: nvvm.cluster.wait {aligned}
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]], %[[BARRIER:.+]], box[{{.+}}] multicast_mask = %{{.+}} {group = #nvvm.cta_group<cta_2>
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[SCALE_A]], %[[BARRIER]], box[%c0_i32, {{.+}}] {group = #nvvm.cta_group<cta_2>
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_B]], %[[BARRIER]], box[{{.+}}] {group = #nvvm.cta_group<cta_2>
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[SCALE_B]], %[[BARRIER]], box[%c0_i32, {{.+}}] {group = #nvvm.cta_group<cta_2>
// CHECK-COUNT-12: nvvm.tcgen05.cp {{.*}}group = #nvvm.cta_group<cta_2>
// CHECK-COUNT-4: nvvm.tcgen05.mma.block_scale {{.*}}ctaGroup = #nvvm.cta_group<cta_2>
// CHECK: nvvm.tcgen05.commit %{{.+}}, multicast_mask = %c15_i16 {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.tcgen05.commit %{{.+}}, multicast_mask = %{{.+}} {group = #nvvm.cta_group<cta_2>}
// CHECK: nvvm.mbarrier.arrive %{{.+}} {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
// CHECK: nvvm.cluster.wait
// CHECK: nvvm.tcgen05.dealloc %{{.+}} {group = #nvvm.cta_group<cta_2>}

// CHECK-LABEL: func.func @pairs
// Scales: quarters of atoms, of which a copy brings those of 128 rows and a step.
// CHECK: blockscale.tensor_map %{{.+}} dims[%c2048, %{{.+}}, %c1] strides[%c2048, %{{.+}}] box [128, 64, 1] element uint8 swizzle 128
// CHECK: blockscale.tensor_map %{{.+}} dims[%c128, %{{.+}}] strides[%c128] box [128, 16] element uint8 swizzle 0
// CHECK: blockscale.tensor_map %{{.+}} dims[%c2048, %{{.+}}, %c1] strides[%c2048, %{{.+}}] box [128, 128, 1] element uint8 swizzle 128
// CHECK: blockscale.tensor_map %{{.+}} dims[%c128, %{{.+}}] strides[%c128] box [128, 16] element uint8 swizzle 0
// CHECK: arith.minsi %{{.+}}, %c37
// CHECK: gpu.launch_func {{.*}} clusters in (%c4, %c1, %c1)
func.func @pairs(%a: tensor<?x4096xf4E2M1FN>, %b: tensor<?x4096xf4E2M1FN>,
                 %sa: tensor<?x256xf8E4M3FN, #swizzled>, %sb: tensor<?x256xf8E4M3FN, #swizzled>) -> tensor<?x?xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 256, stages = 5, band = 4, ctas = 148, multicast = 2>}
      : tensor<?x4096xf4E2M1FN>, tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>,
        tensor<?x256xf8E4M3FN, #swizzled> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
