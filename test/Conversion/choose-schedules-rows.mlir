// Schedules of products whose rows are not known, but the most that they may be.

// RUN: blockscale-opt %s --split-input-file --blockscale-choose-schedules='chip=sm_90a' | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Those of as many rows.
// CHECK: name = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m32-n3072-k4096"
// CHECK: func.func @few
// CHECK: #blockscale.gemm_schedule<rows = {{16|32}},
func.func @few(%x: tensor<?x4096xbf16>, %w: tensor<2100x4096xf4E2M1FN>, %s: tensor<2100x256xf8E4M3FN, #swizzled>) -> tensor<?x2100xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] {blockscale.max_rows = 20 : i64}
      : tensor<?x4096xbf16>, tensor<2100x4096xf4E2M1FN>, tensor<2100x256xf8E4M3FN, #swizzled> -> tensor<?x2100xbf16>
  return %y : tensor<?x2100xbf16>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// The rows of a type go before, and what is no number of rows says nothing.
// CHECK: name = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m1024-n3072-k4096"
// CHECK: name = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m_any-n3072-k4096"
// CHECK: name = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m_any-n3072-k4096"
func.func @known(%x: tensor<1024x4096xbf16>, %w: tensor<2100x4096xf4E2M1FN>, %s: tensor<2100x256xf8E4M3FN, #swizzled>) -> tensor<1024x2100xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] {blockscale.max_rows = 20 : i64}
      : tensor<1024x4096xbf16>, tensor<2100x4096xf4E2M1FN>, tensor<2100x256xf8E4M3FN, #swizzled> -> tensor<1024x2100xbf16>
  return %y : tensor<1024x2100xbf16>
}
func.func @none(%x: tensor<?x4096xbf16>, %w: tensor<2100x4096xf4E2M1FN>, %s: tensor<2100x256xf8E4M3FN, #swizzled>) -> tensor<?x2100xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] {blockscale.max_rows = 0 : i64}
      : tensor<?x4096xbf16>, tensor<2100x4096xf4E2M1FN>, tensor<2100x256xf8E4M3FN, #swizzled> -> tensor<?x2100xbf16>
  return %y : tensor<?x2100xbf16>
}
func.func @text(%x: tensor<?x4096xbf16>, %w: tensor<2100x4096xf4E2M1FN>, %s: tensor<2100x256xf8E4M3FN, #swizzled>) -> tensor<?x2100xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] {blockscale.max_rows = "20"}
      : tensor<?x4096xbf16>, tensor<2100x4096xf4E2M1FN>, tensor<2100x256xf8E4M3FN, #swizzled> -> tensor<?x2100xbf16>
  return %y : tensor<?x2100xbf16>
}
