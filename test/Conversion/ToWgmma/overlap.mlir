// Products of Hopper whose launches overlap (docs/Products.md, Hopper): which role waits for the
// launch before.

// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_90a overlap-launches' | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// The weights are arguments that nothing in the call writes, so the thread that loads them does
// not wait: its ring fills while the launch before runs. Those that multiply wait before anything
// else, and so does the thread that loads the other operand, which the launch before has made.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_bf16
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.setmaxregister increase
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.setmaxregister decrease
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.griddepcontrol wait
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
// CHECK: gpu.launch_func {{.*}} {blockscale.programmatic}
func.func @weights(%x: tensor<1x256xbf16>, %w: tensor<256x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<256x16xf8E4M3FN, #swizzled>) -> tensor<1x256xbf16> {
  %e = tensor.empty() : tensor<1x256xbf16>
  %a = linalg.exp ins(%x : tensor<1x256xbf16>) outs(%e : tensor<1x256xbf16>) -> tensor<1x256xbf16>
  %y = blockscale.scaled_mm %a, %w scales(none, %s) block [1, 16]
      : tensor<1x256xbf16>, tensor<256x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<256x16xf8E4M3FN, #swizzled> -> tensor<1x256xbf16>
  return %y : tensor<1x256xbf16>
}

// -----

// Teams that hand over sums of a chain decode before the launch before has ended, and wait for it
// before they make results. The thread that loads the other operand waits as above.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e2m1_e4m3_packed_chain
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: nvvm.setmaxregister increase
// CHECK-NOT: griddepcontrol
// CHECK: mma.sync.aligned.m16n8k16
// CHECK: nvvm.griddepcontrol wait
// CHECK: nvvm.setmaxregister decrease
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.griddepcontrol wait
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @chain(%x: tensor<1x512xbf16>, %w: tensor<256x512xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<256x32xf8E4M3FN, #swizzled>) -> tensor<1x256xbf16> {
  %e = tensor.empty() : tensor<1x512xbf16>
  %a = linalg.exp ins(%x : tensor<1x512xbf16>) outs(%e : tensor<1x512xbf16>) -> tensor<1x512xbf16>
  %y = blockscale.scaled_mm %a, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 8, cols = 128, stages = 4, band = 1, ctas = 2>}
      : tensor<1x512xbf16>, tensor<256x512xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<256x32xf8E4M3FN, #swizzled> -> tensor<1x256xbf16>
  return %y : tensor<1x256xbf16>
}

// -----

// Weights that the call may write, since they are given away, that it makes, or of which it makes
// the scales: every thread waits first of all.
// CHECK-LABEL: gpu.func @scaled_mm_
// CHECK-NOT: {{scf.if|nvvm.mbarrier}}
// CHECK: {{^      }}nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: {{^      }}nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @given(%x: tensor<1x256xbf16>, %w: tensor<256x256xf4E2M1FN> {bufferization.writable = true}, %s: tensor<256x16xf8E4M3FN, #swizzled>) -> tensor<1x256xbf16> {
  %e = tensor.empty() : tensor<1x256xbf16>
  %a = linalg.exp ins(%x : tensor<1x256xbf16>) outs(%e : tensor<1x256xbf16>) -> tensor<1x256xbf16>
  %y = blockscale.scaled_mm %a, %w scales(none, %s) block [1, 16]
      : tensor<1x256xbf16>, tensor<256x256xf4E2M1FN>, tensor<256x16xf8E4M3FN, #swizzled> -> tensor<1x256xbf16>
  return %y : tensor<1x256xbf16>
}

// -----

// CHECK-LABEL: gpu.func @scaled_mm_
// CHECK-NOT: {{scf.if|nvvm.mbarrier}}
// CHECK: {{^      }}nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: {{^      }}nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @made(%x: tensor<1x256xbf16>, %w: tensor<256x256xf4E2M1FN>, %s: tensor<256x16xf8E4M3FN>) -> tensor<1x256xbf16> {
  %e = tensor.empty() : tensor<1x256xbf16>
  %a = linalg.exp ins(%x : tensor<1x256xbf16>) outs(%e : tensor<1x256xbf16>) -> tensor<1x256xbf16>
  %t = blockscale.swizzle %s : tensor<256x16xf8E4M3FN> -> tensor<256x16xf8E4M3FN, #swizzled>
  %y = blockscale.scaled_mm %a, %w scales(none, %t) block [1, 16]
      : tensor<1x256xbf16>, tensor<256x256xf4E2M1FN>, tensor<256x16xf8E4M3FN, #swizzled> -> tensor<1x256xbf16>
  return %y : tensor<1x256xbf16>
}

// -----

// The ends of groups may be what the launch before has made.
// CHECK-LABEL: gpu.func @scaled_grouped_mm_
// CHECK-NOT: {{scf.if|nvvm.mbarrier}}
// CHECK: {{^      }}nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: {{^      }}nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @groups(%x: tensor<8x256xbf16>, %w: tensor<2x256x256xf4E2M1FN>, %s: tensor<2x256x16xf8E4M3FN, #swizzled>, %ends: tensor<2xi32>) -> tensor<8x256xbf16> {
  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 16]
      : tensor<8x256xbf16>, tensor<2x256x256xf4E2M1FN>, tensor<2xi32>, tensor<2x256x16xf8E4M3FN, #swizzled> -> tensor<8x256xbf16>
  return %y : tensor<8x256xbf16>
}

// -----

// Where the first launch may begin before the call does, settled arguments alone are loaded early.
// CHECK-LABEL: gpu.func @scaled_mm_
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.setmaxregister increase
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.griddepcontrol wait
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @settled(%x: tensor<1x256xbf16>, %w: tensor<256x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>> {blockscale.settled}, %s: tensor<256x16xf8E4M3FN, #swizzled> {blockscale.settled}) -> tensor<1x256xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<1x256xbf16>, tensor<256x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<256x16xf8E4M3FN, #swizzled> -> tensor<1x256xbf16>
  return %y : tensor<1x256xbf16>
}

// -----

// Scales that may be written still: every thread waits first of all.
// CHECK-LABEL: gpu.func @scaled_mm_
// CHECK-NOT: {{scf.if|nvvm.mbarrier}}
// CHECK: {{^      }}nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: {{^      }}nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @unsettled_scales(%x: tensor<1x256xbf16>, %w: tensor<256x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>> {blockscale.settled}, %s: tensor<256x16xf8E4M3FN, #swizzled>) -> tensor<1x256xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<1x256xbf16>, tensor<256x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<256x16xf8E4M3FN, #swizzled> -> tensor<1x256xbf16>
  return %y : tensor<1x256xbf16>
}
