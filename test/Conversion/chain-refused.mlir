// Products of order chain that have no kernel: an error that says why.
// RUN: split-file %s %t
// RUN: not blockscale-compile %t/both.mlir --target=sm_100a --emit=ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=SM100
// RUN: not blockscale-compile %t/both.mlir --target=sm_120a --emit=ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=SM120
// RUN: blockscale-compile %t/both.mlir --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=KERNELS
// RUN: blockscale-compile %t/both.mlir --target=sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=KERNELS
// RUN: not blockscale-compile %t/splits.mlir --target=sm_90a --emit=ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPLITS
// RUN: not blockscale-compile %t/splits.mlir --target=sm_80 --emit=ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPLITS80
// RUN: not blockscale-compile %t/tile.mlir --target=sm_90a --emit=ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=TILE

// The sums of block-scaled instructions are not public.
// SM100: both.mlir:{{.*}}: error: 'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c8): expected the operands of order chain to be multiplied as bf16 or f16, whose sums have known bits, but got two operands with scales
// SM120: (warp_mm_c8)
// Chips without such instructions decode one operand before.
// KERNELS: bf16_e2m1_e4m3{{[a-z_]*}}_chain
//--- both.mlir
func.func @both(%a: tensor<8x64xf4E2M1FN>, %w: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>,
                %s: tensor<16x4xf8E4M3FN>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %w scales(%sa, %s) block [1, 16] order chain
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN>
        -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// Sums of parts of K are added in another order.
// SPLITS: splits.mlir:{{.*}}: error: 'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c8): expected a schedule of order chain to have K in one part, whose sums have one order, but got 2
// SPLITS80: no kernel on sm_80 (mma_mm_c8): expected a schedule of order chain to have K in one part
//--- splits.mlir
func.func @splits(%x: tensor<8x4096xbf16>, %w: tensor<64x4096xf4E2M1FN>, %s: tensor<64x256xf8E4M3FN>)
    -> tensor<8x64xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 128, stages = 4, band = 1, ctas = 2, splits = 2>}
      : tensor<8x4096xbf16>, tensor<64x4096xf4E2M1FN>, tensor<64x256xf8E4M3FN> -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// One warpgroup has the sums of 128 plain rows at most.
// TILE: tile.mlir:{{.*}}: error: 'blockscale.scaled_mm' op has no kernel on sm_90a (sm90_mm_c8): expected a schedule of order chain with tiles of 128 columns, or of 64 beside at most 128 of the plain operand, of whose sums a warpgroup has no more, but got 64 beside 256
//--- tile.mlir
func.func @tile(%x: tensor<8x4096xbf16>, %w: tensor<64x4096xf4E2M1FN>, %s: tensor<64x256xf8E4M3FN>)
    -> tensor<8x64xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 256, cols = 64, stages = 4, band = 1, ctas = 2>}
      : tensor<8x4096xbf16>, tensor<64x4096xf4E2M1FN>, tensor<64x256xf8E4M3FN> -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}
