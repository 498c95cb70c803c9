// RUN: blockscale-compile %s --target=sm_100a --emit=ptx -o - | FileCheck %s

// Codes that a warp decodes behind a branch are words of 32 bits from their loads on, in both steps
// of a thread. Registers of 64 bits, which LLVM makes of them if it may, ptxas copies by halves: some
// 20 instructions more for 128 elements.
// CHECK-LABEL: .entry scaled_mm_bf16_e4m3_e8m0
// CHECK:         tcgen05.wait::ld
// CHECK-COUNT-4: ld.shared.v4.b32
// CHECK-NOT:     ld.shared.v2.b64
// CHECK:         vote.sync.any.pred
// CHECK-NOT:     ld.shared.v2.b64
// CHECK:         tcgen05.st.sync.aligned.32x32b.x32.b32
// CHECK-NOT:     ld.shared.v2.b64
// CHECK:         vote.sync.any.pred
// CHECK-NOT:     ld.shared.v2.b64
// CHECK:         tcgen05.st.sync.aligned.32x32b.x32.b32
// CHECK-NOT:     ld.shared.v2.b64
// CHECK:         tcgen05.wait::st
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @product(%x: tensor<16x1024xbf16>, %w: tensor<1024x1024xf8E4M3FN>,
                   %s: tensor<1024x32xf8E8M0FNU, #swizzled>) -> tensor<16x1024xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 32]
      : tensor<16x1024xbf16>, tensor<1024x1024xf8E4M3FN>, tensor<1024x32xf8E8M0FNU, #swizzled> -> tensor<16x1024xbf16>
  return %y : tensor<16x1024xbf16>
}
