// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a --split-input-file 2>/dev/null | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A stage has 256 elements of K. Where these are all, a thread decodes both of its
// steps without looking for the end.
// CHECK: gpu.func @scaled_mm_{{.*}}_whole_stages(
// CHECK: nvvm.tcgen05.st
// CHECK-NOT: scf.if
// CHECK: nvvm.tcgen05.st
func.func @whole(%x: tensor<16x512xbf16>, %w: tensor<128x512xf4E2M1FN>, %s: tensor<128x32xf8E4M3FN, #swizzled>) -> tensor<16x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<16x512xbf16>, tensor<128x512xf4E2M1FN>, tensor<128x32xf8E4M3FN, #swizzled> -> tensor<16x128xbf16>
  return %y : tensor<16x128xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// The widest tiles have a step of plain rows in a stage of these. All four of a decoded stage are
// waited for.
// CHECK: gpu.func @scaled_mm_{{[^(]*}}_256x128_{{[^(]*}}_whole_stages(
// CHECK: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK-NOT: scf.if
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK-NOT: scf.if
// CHECK: nvvm.mbarrier.try_wait
func.func @whole_parts(%x: tensor<512x512xbf16>, %w: tensor<128x512xf4E2M1FN>, %s: tensor<128x32xf8E4M3FN, #swizzled>) -> tensor<512x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 128, stages = 5, band = 1, ctas = 2>}
      : tensor<512x512xbf16>, tensor<128x512xf4E2M1FN>, tensor<128x32xf8E4M3FN, #swizzled> -> tensor<512x128xbf16>
  return %y : tensor<512x128xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// The last stage has a part of K: each step is looked at.
// CHECK: gpu.func @scaled_mm_{{[^(]*}}_band{{[0-9]+}}(
// CHECK: nvvm.tcgen05.st
// CHECK: scf.if
// CHECK: nvvm.tcgen05.st
func.func @part(%x: tensor<16x576xbf16>, %w: tensor<128x576xf4E2M1FN>, %s: tensor<128x36xf8E4M3FN, #swizzled>) -> tensor<16x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<16x576xbf16>, tensor<128x576xf4E2M1FN>, tensor<128x36xf8E4M3FN, #swizzled> -> tensor<16x128xbf16>
  return %y : tensor<16x128xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// K is known at run time.
// CHECK: gpu.func @scaled_mm_{{[^(]*}}_any_k(
func.func @dynamic(%x: tensor<16x?xbf16>, %w: tensor<128x?xf4E2M1FN>, %s: tensor<128x?xf8E4M3FN, #swizzled>) -> tensor<16x128xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<16x?xbf16>, tensor<128x?xf4E2M1FN>, tensor<128x?xf8E4M3FN, #swizzled> -> tensor<16x128xbf16>
  return %y : tensor<16x128xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>

// Groups cut K.
// CHECK: gpu.func @scaled_grouped_mm_depth_{{[^(]*}}_any_k(
func.func @groups(%x: tensor<16x512xbf16>, %w: tensor<128x512xf4E2M1FN>, %s: tensor<128x32xf8E4M3FN, #swizzled>, %ends: tensor<2xi32>) -> tensor<2x16x128xf32> {
  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 16]
      : tensor<16x512xbf16>, tensor<128x512xf4E2M1FN>, tensor<2xi32>, tensor<128x32xf8E4M3FN, #swizzled> -> tensor<2x16x128xf32>
  return %y : tensor<2x16x128xf32>
}
