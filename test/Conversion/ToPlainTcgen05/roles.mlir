// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_103a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_110a | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// One warp makes the barriers and takes the tensor memory. Copies of a stage arrive once, and each
// of the eight warps that decode says that it has read it. The three stages of plain rows have
// barriers of their own, by which the products say so. Two decoded stages are between them.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_bf16_128x128_stages3_band2
// CHECK-SAME: %[[MAP_A:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[MAP_B:[^:]+]]: !llvm.ptr {blockscale.tensor_map}, %[[SCALE_B:[^:]+]]: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: nvvm.reqntid = array<i32: 480, 1, 1>
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK-COUNT-6: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c4_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.tcgen05.alloc %{{.+}}, %c512_i32
// CHECK: nvvm.tcgen05.relinquish_alloc_permit
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.barrier
// CHECK: nvvm.tcgen05.fence <after>

// Sums of 32 plain rows at a time go from tensor memory to shared memory. The last ones give the
// accumulator back. The factor that scales do not have comes with the results.
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: nvvm.inline_ptx "tcgen05.ld.sync.aligned.32x32b.x32.b32 {{.*}}; tcgen05.wait::ld.sync.aligned;"
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.barrier id = %c1_i32 number_of_threads = %c128_i32
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: nvvm.barrier id = %c1_i32 number_of_threads = %c128_i32

// Where a stage is there, and room for it in tensor memory, a thread decodes two of its four steps,
// unless they begin behind K: 64 codes, 32 bytes, and four scales, whose factor is 2^118 times the
// scale, so that each of 32 pairs is multiplied once. It stores them to its lane, and says both
// that they are there and that the stage is read.
// CHECK-COUNT-2: nvvm.mbarrier.try_wait
// CHECK-NOT: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK: arith.cmpi ugt
// CHECK-NEXT: scf.if
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-COUNT-34: llvm.call_intrinsic "llvm.nvvm.prmt"
// CHECK-NOT: llvm.nvvm.prmt
// CHECK: nvvm.tcgen05.st %{{.+}}, %{{.+}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK: arith.cmpi ugt
// CHECK-NEXT: scf.if
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK-COUNT-34: llvm.call_intrinsic "llvm.nvvm.prmt"
// CHECK-NOT: llvm.nvvm.prmt
// CHECK: nvvm.tcgen05.st %{{.+}}, %{{.+}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
// CHECK-NOT: nvvm.tcgen05.st
// CHECK: nvvm.tcgen05.wait <store>
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.elect.sync
// CHECK-COUNT-2: nvvm.mbarrier.arrive
// CHECK-NOT: nvvm.mbarrier.arrive %

// One thread loads scales and codes of B, of four steps, another one A, of two.
// CHECK: nvvm.elect.sync
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_B]]
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.elect.sync
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP_A]]
// CHECK-NOT: nvvm.cp.async

// One thread multiplies 128 lanes of tensor memory by 128 rows: a wait for the accumulator, and one
// for each decoded stage, with one fence behind both. It waits for two steps of plain rows at a
// time. What is behind K is left out: such rows, a step, and the instructions behind K of the step
// that K ends in.
// CHECK-COUNT-2: nvvm.mbarrier.try_wait
// CHECK-NOT: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.fence <after>
// CHECK-NOT: nvvm.tcgen05.fence <after>
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.mma %{{.+}}, %{{.+}}, %{{.+}}, %c136316048_i32, %{{.+}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
// CHECK: arith.cmpi ugt, %[[LEFT:.+]], %c16_i32
// CHECK: nvvm.tcgen05.mma
// CHECK: arith.cmpi ugt, %[[LEFT]], %c32_i32
// CHECK: nvvm.tcgen05.mma
// CHECK: arith.cmpi ugt, %[[LEFT]], %c48_i32
// CHECK: nvvm.tcgen05.mma
// CHECK: arith.cmpi ugt, %[[LEFT]], %c64_i32
// CHECK-COUNT-4: nvvm.tcgen05.mma
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: %[[IS_128:.+]] = arith.cmpi ugt, %[[LEFT]], %c128_i32
// CHECK: scf.if %[[IS_128]]
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-8: nvvm.tcgen05.mma
// CHECK-NOT: nvvm.tcgen05.mma
// CHECK-COUNT-3: nvvm.tcgen05.commit
// CHECK: nvvm.tcgen05.fence <before>
// CHECK: nvvm.barrier
// CHECK: nvvm.tcgen05.dealloc
// CHECK: gpu.return

// The widest tiles have one accumulator, which is of 256 columns, and wait for each of the four
// steps of plain rows that a decoded stage has. Beside f16 the descriptor has another format.
// CHECK-LABEL: gpu.func @scaled_mm_f16_e2m1_e4m3_f32_256x128_stages2_band1
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK-COUNT-4: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %c8_i32
// CHECK-COUNT-3: nvvm.mbarrier.init %{{.+}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.+}}, %c4_i32
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.mma %{{.+}}, %{{.+}}, %{{.+}}, %c138412048_i32,
// CHECK-COUNT-3: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: %[[IS_64:.+]] = arith.cmpi ugt, %[[LEFT:.+]], %c64_i32
// CHECK: scf.if %[[IS_64]]
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-4: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: %[[IS_128:.+]] = arith.cmpi ugt, %[[LEFT]], %c128_i32
// CHECK: scf.if %[[IS_128]]
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-4: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: %[[IS_192:.+]] = arith.cmpi ugt, %[[LEFT]], %c192_i32
// CHECK: scf.if %[[IS_192]]
// CHECK: nvvm.mbarrier.try_wait
// CHECK-COUNT-4: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit

// Rows of both operands come in boxes of 128 bytes, which are swizzled: a step of the plain one, and
// the codes of the four steps of a stage.
// CHECK-LABEL: func.func @weight_only
// CHECK: blockscale.tensor_map {{.+}} box [128, 128, 1] element uint8 swizzle 128
// CHECK: blockscale.tensor_map {{.+}} box [128, 128, 1] element uint8 swizzle 128
func.func @weight_only(%x: tensor<100x224xbf16>, %w: tensor<200x224xf4E2M1FN>, %s: tensor<200x14xf8E4M3FN, #swizzled>) -> tensor<100x200xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 3, band = 2, ctas = 4>}
      : tensor<100x224xbf16>, tensor<200x224xf4E2M1FN>, tensor<200x14xf8E4M3FN, #swizzled> -> tensor<100x200xbf16>
  return %y : tensor<100x200xbf16>
}

func.func @widest(%x: tensor<512x224xf16>, %w: tensor<200x224xf4E2M1FN>, %s: tensor<200x14xf8E4M3FN, #swizzled>) -> tensor<512x200xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 2, band = 1, ctas = 4>}
      : tensor<512x224xf16>, tensor<200x224xf4E2M1FN>, tensor<200x14xf8E4M3FN, #swizzled> -> tensor<512x200xf32>
  return %y : tensor<512x200xf32>
}
