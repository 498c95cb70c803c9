// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize | FileCheck %s

#pairs = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 4, band = 8, ctas = 128, multicast = 2>

// A CTA copies half of the 256 rows of A for both of its pair, and its own rows of B. Its stage is
// empty when the warps of both have read it: each arrives in both CTAs.
// CHECK-LABEL: gpu.func @plain_mm_bf16_bf16_bf16_256x128_stages4_band8_multicast2(
// CHECK-SAME: %[[A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[B:[^:]+]]: !llvm.ptr {blockscale.tensor_map}
// CHECK-DAG: %[[BOTH:.+]] = arith.constant 3 : i16
// CHECK-DAG: %[[RANK:.+]] = nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: nvvm.mbarrier.init %{{.+}}, %c16_i32
// CHECK: nvvm.cluster.wait
// CHECK: nvvm.mapa %{{.+}} : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK: nvvm.mbarrier.arrive %{{.+}} : !llvm.ptr<7>
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[B]], %{{[^m]+}}l2_cache_hint
// CHECK: %[[HALF:.+]] = arith.{{shli|muli}} %[[RANK]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[A]], {{.+}} multicast_mask = %[[BOTH]]
// CHECK: nvvm.cluster.wait
// CHECK: gpu.return

// CHECK-LABEL: func.func @pairs
// CHECK: blockscale.tensor_map %{{.+}} box [128, 128, 1]
// CHECK: blockscale.tensor_map %{{.+}} box [128, 128, 1]
// CHECK: gpu.launch_func {{.*}} clusters in (%c2, %c1, %c1) blocks in (%c128, %c1, %c1)
func.func @pairs(%a: memref<4096x512xbf16>, %b: memref<4096x512xbf16>, %y: memref<4096x4096xbf16>) {
  blockscale.kernel ins(%a, %b : memref<4096x512xbf16>, memref<4096x512xbf16>) outs(%y : memref<4096x4096xbf16>) {
  ^bb0(%la: tensor<4096x512xbf16>, %lb: tensor<4096x512xbf16>, %ly: tensor<4096x4096xbf16>):
    %0 = blockscale.scaled_mm %la, %lb scales(none, none) block [1, 16] {blockscale.schedule = #pairs} : tensor<4096x512xbf16>, tensor<4096x512xbf16> -> tensor<4096x4096xbf16>
    blockscale.yield %0 : tensor<4096x4096xbf16>
  }
  return
}
