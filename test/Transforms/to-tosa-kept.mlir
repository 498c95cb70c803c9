// RUN: blockscale-opt %s --blockscale-to-tosa --split-input-file --verify-diagnostics | FileCheck %s

// What TOSA cannot say is kept, with a remark.
// CHECK-NOT: tosa.cast
// CHECK-NOT: tosa.matmul

// to_tosa_c1: NVFP4.
func.func @nvfp4(%x: tensor<8x64xbf16>) -> (tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>) {
  // expected-remark @below {{is not written in TOSA (to_tosa_c1): expected f8E8M0FNU scales, but got f8E4M3FN}}
  %d, %s = blockscale.quantize %x block [1, 16] : tensor<8x64xbf16> -> tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>
  return %d, %s : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>
}

// -----

// to_tosa_c1: blocks of columns.
func.func @columns(%x: tensor<64x64xf32>) -> (tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>) {
  // expected-remark @below {{(to_tosa_c1): expected blocks [1, 32], but got [32, 1]}}
  %d, %s = blockscale.quantize %x block [32, 1] recipe tosa : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  return %d, %s : tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
}

// -----

// to_tosa_c1: scales in tiles.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @swizzled(%d: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU, #swizzled>) -> tensor<8x64xf32> {
  // expected-remark @below {{(to_tosa_c1): expected linear scales and row-major data, but got tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>}}
  %y = blockscale.dequantize %d, %s block [1, 32] : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU, #swizzled> -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// to_tosa_c1: no rows.
func.func @empty(%x: tensor<0x64xf32>) -> (tensor<0x64xf8E4M3FN>, tensor<0x2xf8E8M0FNU>) {
  // expected-remark @below {{(to_tosa_c1): expected no dimension of size 0, but got tensor<0x64xf32>}}
  %d, %s = blockscale.quantize %x block [1, 32] recipe tosa : tensor<0x64xf32> -> tensor<0x64xf8E4M3FN>, tensor<0x2xf8E8M0FNU>
  return %d, %s : tensor<0x64xf8E4M3FN>, tensor<0x2xf8E8M0FNU>
}

// -----

// to_tosa_c1: an op that TOSA does not have.
func.func @amax(%x: tensor<8x64xf32>) -> tensor<f32> {
  // expected-remark @below {{(to_tosa_c1): expected quantize, dequantize or scaled_mm, but got amax}}
  %a = blockscale.amax %x : tensor<8x64xf32> -> tensor<f32>
  return %a : tensor<f32>
}

// -----

// to_tosa_c2: another recipe; even differs where it rounds an amax to infinity, in each format.
func.func @recipes(%x: tensor<8x64xf32>) -> (tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>) {
  // expected-remark @below {{(to_tosa_c2): expected recipe tosa, but got even}}
  %d, %s = blockscale.quantize %x block [1, 32] recipe even : tensor<8x64xf32> -> tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>
  // expected-remark @below {{(to_tosa_c2): expected recipe tosa, but got rceil}}
  %e, %t = blockscale.quantize %x block [1, 32] : tensor<8x64xf32> -> tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>
  return %d, %s, %e, %t : tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>
}

// -----

// to_tosa_c2: f16, of which TOSA makes no blocks.
func.func @f16(%x: tensor<8x64xf16>) -> (tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>) {
  // expected-remark @below {{(to_tosa_c2): expected x of f32 or bf16, but got tensor<8x64xf16>}}
  %d, %s = blockscale.quantize %x block [1, 32] recipe tosa : tensor<8x64xf16> -> tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>
  return %d, %s : tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>
}

// -----

// to_tosa_c2: random rounding.
func.func @random(%x: tensor<8x64xf32>, %r: tensor<2xi64>) -> (tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) {
  // expected-remark @below {{(to_tosa_c2): expected x as the only operand, but got rng}}
  %d, %s = blockscale.quantize %x block [1, 32] recipe tosa rng(%r : tensor<2xi64>) : tensor<8x64xf32> -> tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>
  return %d, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>
}

// -----

// to_tosa_c3: f16 values.
func.func @decoded(%d: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf16> {
  // expected-remark @below {{(to_tosa_c3): expected a result of f32 or bf16, but got tensor<8x64xf16>}}
  %y = blockscale.dequantize %d, %s block [1, 32] : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x64xf16>
  return %y : tensor<8x64xf16>
}

// -----

// to_tosa_c4: a plain operand, and data of two types.
func.func @operands(%x: tensor<1x8x64xbf16>, %a: tensor<1x8x64xf8E5M2>, %sa: tensor<1x8x2xf8E8M0FNU>, %b: tensor<1x16x64xf8E4M3FN>, %sb: tensor<1x16x2xf8E8M0FNU>) -> (tensor<1x8x16xf32>, tensor<1x8x16xf32>) {
  // expected-remark @below {{(to_tosa_c4): expected two operands with scales, but got a plain one}}
  %y = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 32] : tensor<1x8x64xbf16>, tensor<1x16x64xf8E4M3FN>, tensor<1x16x2xf8E8M0FNU> -> tensor<1x8x16xf32>
  // expected-remark @below {{(to_tosa_c4): expected data of one type, but got f8E5M2 and f8E4M3FN}}
  %z = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : tensor<1x8x64xf8E5M2>, tensor<1x16x64xf8E4M3FN>, tensor<1x8x2xf8E8M0FNU>, tensor<1x16x2xf8E8M0FNU> -> tensor<1x8x16xf32>
  return %y, %z : tensor<1x8x16xf32>, tensor<1x8x16xf32>
}

// -----

// to_tosa_c5: data of rank 2 that come from elsewhere.
func.func @matrix(%a: tensor<8x64xf8E4M3FN>, %sa: tensor<8x2xf8E8M0FNU>, %b: tensor<16x64xf8E4M3FN>, %sb: tensor<16x2xf8E8M0FNU>) -> tensor<8x16xf32> {
  // expected-remark @below {{(to_tosa_c5): expected operands of rank 3, or made by a quantize that is written in TOSA, but got tensor<8x64xf8E4M3FN>}}
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32] : tensor<8x64xf8E4M3FN>, tensor<16x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// to_tosa_c6: two sizes that only the run time knows, where a shape has to be computed. The
// quantization alone needs none.
// CHECK-LABEL: func.func @sizes
// CHECK: tosa.cast_to_block_scaled
// CHECK: blockscale.scaled_mm
func.func @sizes(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %q, %s = blockscale.quantize %x block [1, 32] recipe tosa : tensor<?x?xf32> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  // expected-remark @below {{(to_tosa_c6): expected at most one dynamic size where a shape is computed, but got tensor<?x?xf8E4M3FN>}}
  %y = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 32] : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// MXINT8 data that other ops take are no data of TOSA.
func.func @computed(%x: tensor<8x64xf32>) -> tensor<8x64xi8> {
  %q, %s = blockscale.quantize %x block [1, 32] recipe tosa : tensor<8x64xf32> -> tensor<8x64xi8>, tensor<8x2xf8E8M0FNU>
  // expected-error @-1 {{expected i8 data to come from quantize or an argument of a function, and to be results or operands of ops that are written in TOSA, but got 'tensor<8x64x!tosa.mxint8>'}}
  %y = arith.addi %q, %q : tensor<8x64xi8>
  return %y : tensor<8x64xi8>
}
