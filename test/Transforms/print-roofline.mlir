// RUN: blockscale-opt %s --blockscale-print-roofline --split-input-file -o /dev/null 2>&1 | FileCheck %s

// What each op takes: the bytes of what memory holds of operands and results,
// the FLOP, a launch, and the longest of these.

// The table of the pass's description: 2 bytes an element to read, half a one
// to write, and a scale byte for 16 of them. The module is the only function.
// CHECK:      roofline of B200, model exact: 148 multiprocessors; 7672 GB/s * 0.92; TFLOP/s 70.3, 2250.0, 4500.0, 9000.0 * 0.78
// CHECK-NEXT: bytes FLOP launches us limit
// CHECK-NEXT: @quantize 107479040 83886080 1 15.227
// CHECK-NEXT: quantize 8192x5120xbf16 107479040 83886080 1 15.227 memory
// CHECK-NEXT: module 107479040 83886080 1 15.227
func.func @quantize(%x: tensor<8192x5120xbf16>)
    -> (tensor<8192x5120xf4E2M1FN>, tensor<8192x320xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<8192x5120xbf16> -> tensor<8192x5120xf4E2M1FN>, tensor<8192x320xf8E4M3FN>
  return %q, %s : tensor<8192x5120xf4E2M1FN>, tensor<8192x320xf8E4M3FN>
}

// -----

// Ops that read x and write a value or another x.
// CHECK:      @amaxes 94228 43401217 5 10.000
// CHECK-NEXT: amax 64x128xbf16 16388 8192 1 2.000 launch
// CHECK-NEXT: global_scale f32 8 1 1 2.000 launch
// CHECK-NEXT: hadamard 64x128xbf16 32768 40960 1 2.000 launch
// CHECK-NEXT: scale_sweep 64x128xbf16 18436 5160960 1 2.000 launch
// CHECK-NEXT: scale_sweep 64x128xbf16 26628 38191104 1 2.000 launch
func.func @amaxes(%x: tensor<64x128xbf16>, %h: tensor<8x16x16xf32>) {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a : tensor<f32>
  %y = blockscale.hadamard %x dim 1 : tensor<64x128xbf16>
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<64x128xbf16> -> tensor<64x8xf32>
  %c = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      hessian(%h : tensor<8x16x16xf32>) : tensor<64x128xbf16> -> tensor<64x8xf32>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#grouped = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>

// Tiled scales take whole tiles, of each group where there are some; a given
// amax saves the comparisons, and 4over6 tries two scales.
// CHECK:      @quantizers
// CHECK-NEXT: quantize 64x128xbf16 21504 16384 1 2.000 launch
// CHECK-NEXT: quantize 64x128xbf16 23044 8192 1 2.000 launch
// CHECK-NEXT: quantize 64x128xbf16 20992 90112 1 2.000 launch
// CHECK-NEXT: quantize 64x128xbf16 26124 16384 1 2.000 launch
// CHECK-NEXT: quantize 64x128xbf16 26124 16384 1 2.000 launch
// CHECK-NEXT: quantize 64x96xbf16 18438 12288 1 2.000 launch
// CHECK-NEXT: quantize 64x128xf32 41216 16384 1 2.000 launch
func.func @quantizers(%x: tensor<64x128xbf16>, %y: tensor<64x96xbf16>, %z: tensor<64x128xf32>,
                      %a: tensor<f32>, %b: tensor<64x8xf32>, %ends: tensor<3xi32>) {
  %q0, %s0 = blockscale.quantize %x block [1, 16]
      : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN, #swizzled>
  %q1, %s1 = blockscale.quantize %x block [1, 16] recipe modelopt global_amax(%a : tensor<f32>)
      block_amax(%b : tensor<64x8xf32>)
      : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %q2, %s2 = blockscale.quantize %x block [1, 16] recipe te_4over6_mse
      : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %q3, %s3 = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<3xi32>)
      : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #grouped>
  // The ends say how many groups there are where the layout does not.
  %q6, %s6 = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<3xi32>)
      : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #any>
  // Six bits have a byte each.
  %q4, %s4 = blockscale.quantize %y block [32, 32]
      : tensor<64x96xbf16> -> tensor<64x96xf6E2M3FN>, tensor<2x3xf8E8M0FNU>
  %q5, %s5 = blockscale.quantize %z block [32, 1] transposed
      : tensor<64x128xf32> -> tensor<128x64xf8E5M2>, tensor<128x2xf8E8M0FNU>
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// What follows a quantizer. Between equal types there is nothing to swizzle.
// CHECK:      @scales 22728 6144 3 6.000
// CHECK-NEXT: dequantize 64x96xf8E4M3FN 18624 6144 1 2.000 launch
// CHECK-NEXT: swizzle 200x5xf8E4M3FN 3048 0 1 2.000 launch
// CHECK-NEXT: swizzle 200x5xf8E4M3FN 0 0 0 0.000 -
// CHECK-NEXT: expand_scale 8x4xf8E8M0FNU 1056 0 1 2.000 launch
func.func @scales(%q: tensor<64x96xf8E4M3FN>, %s: tensor<64x3xf8E8M0FNU>,
                  %t: tensor<200x5xf8E4M3FN>, %c: tensor<8x4xf8E8M0FNU>) {
  %x = blockscale.dequantize %q, %s block [1, 32]
      : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU> -> tensor<64x96xbf16>
  %u = blockscale.swizzle %t : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #swizzled>
  %v = blockscale.swizzle %t : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN>
  %e = blockscale.expand_scale %c block [32, 32] scale_dim k
      : tensor<8x4xf8E8M0FNU> -> tensor<256x4xf8E8M0FNU, #swizzled>
  return
}

// -----

// Products: twice M * N * K, in all groups together too. An operand that is
// both factors is read once.
// CHECK:      @products
// CHECK-NEXT: scaled_mm 48x256xf4E2M1FN 16516 983040 1 2.000 launch
// CHECK-NEXT: scaled_mm 48x256xf4E2M1FN 11520 1179648 1 2.000 launch
// CHECK-NEXT: scaled_grouped_mm 96x64xf8E4M3FN 25068 589824 1 2.000 launch
// CHECK-NEXT: scaled_grouped_mm 96x64xf8E4M3FN 37164 589824 1 2.000 launch
func.func @products(%a: tensor<48x256xf4E2M1FN>, %b: tensor<40x256xf4E2M1FN>,
                    %sa: tensor<48x16xf8E4M3FN>, %sb: tensor<40x16xf8E4M3FN>, %ga: tensor<f32>,
                    %c: tensor<96x64xf8E4M3FN>, %sc: tensor<96x2xf8E8M0FNU>,
                    %d: tensor<3x48x64xf8E4M3FN>, %sd: tensor<3x48x2xf8E8M0FNU>,
                    %e: tensor<48x64xf8E4M3FN>, %se: tensor<48x2xf8E8M0FNU>,
                    %ends: tensor<3xi32>) {
  %0 = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%ga : tensor<f32>)
      : tensor<48x256xf4E2M1FN>, tensor<40x256xf4E2M1FN>,
        tensor<48x16xf8E4M3FN>, tensor<40x16xf8E4M3FN> -> tensor<48x40xbf16>
  %1 = blockscale.scaled_mm %a, %a scales(%sa, %sa) block [1, 16]
      : tensor<48x256xf4E2M1FN>, tensor<48x256xf4E2M1FN>,
        tensor<48x16xf8E4M3FN>, tensor<48x16xf8E4M3FN> -> tensor<48x48xbf16>
  %2 = blockscale.scaled_grouped_mm %c, %d offsets(%ends) scales(%sc, %sd) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<3x48x64xf8E4M3FN>, tensor<3xi32>,
        tensor<96x2xf8E8M0FNU>, tensor<3x48x2xf8E8M0FNU> -> tensor<96x48xbf16>
  %3 = blockscale.scaled_grouped_mm %c, %e offsets(%ends) scales(%sc, %se) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>, tensor<3xi32>,
        tensor<96x2xf8E8M0FNU>, tensor<48x2xf8E8M0FNU> -> tensor<3x96x48xbf16>
  return
}

// -----

// Rates: operands of 4 bits are multiplied twice as fast as a pair with one of 8.
// CHECK:      scaled_mm 8192x8192xf4E2M1FN {{[0-9]+}} 1099511627776 1 156.626 tensor cores
// CHECK-NEXT: scaled_mm 8192x8192xf4E2M1FN {{[0-9]+}} 1099511627776 1 313.251 tensor cores
func.func @rates(%a: tensor<8192x8192xf4E2M1FN>, %b: tensor<8192x8192xf8E4M3FN>,
                 %s: tensor<8192x256xf8E8M0FNU>) {
  %0 = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32]
      : tensor<8192x8192xf4E2M1FN>, tensor<8192x8192xf4E2M1FN>,
        tensor<8192x256xf8E8M0FNU>, tensor<8192x256xf8E8M0FNU> -> tensor<8192x8192xbf16>
  %1 = blockscale.scaled_mm %a, %b scales(%s, %s) block [1, 32]
      : tensor<8192x8192xf4E2M1FN>, tensor<8192x8192xf8E4M3FN>,
        tensor<8192x256xf8E8M0FNU>, tensor<8192x256xf8E8M0FNU> -> tensor<8192x8192xbf16>
  return
}

// -----

// A loop runs its ops as often as it turns; the module is the sum of its
// functions, and functions without ops of the dialect are left out.
// CHECK:      bytes FLOP
// CHECK-NEXT: @loops 393312 196608 24 48.000
// CHECK-NEXT: amax 64x128xbf16, 24 times 393312 196608 24 48.000 launch
// CHECK-NEXT: @once 16388 8192 1 2.000
// CHECK-NEXT: amax 64x128xbf16 16388 8192 1 2.000 launch
// CHECK-NEXT: module 409700 204800 25 50.000
func.func @loops(%x: tensor<64x128xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c6 step %c1 {
    scf.for %j = %c0 to %c8 step %c2 {
      %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
    }
  }
  return
}
func.func @other(%x: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  return %x : tensor<64x128xbf16>
}
func.func @once(%x: tensor<64x128xbf16>) {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  return
}

// -----

// Loops of several dimensions, and a last turn over less than a step.
// CHECK:      @dimensions
// CHECK-NEXT: amax 64x128xbf16, 8 times 131104 65536 8 16.000 launch
// CHECK-NEXT: amax 64x128xbf16, 3 times 49164 24576 3 6.000 launch
// CHECK-NEXT: amax 64x128xbf16, 0 times 0 0 0 0.000 launch
func.func @dimensions(%x: tensor<64x128xbf16>) {
  scf.forall (%i, %j) in (4, 2) {
    %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  }
  affine.for %i = 0 to 12 step 5 {
    %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.parallel (%i, %j) = (%c3, %c0) to (%c0, %c3) step (%c1, %c1) {
    %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  }
  return
}

// -----

// A product with a plain operand is computed by tensor cores at the rate of bf16,
// half of FP8's.
// CHECK:      @plain
// CHECK-NEXT: scaled_mm 8192x8192xbf16 337641472 1099511627776 1 626.502 tensor cores
// CHECK-NEXT: scaled_mm 8192x8192xf8E4M3FN 203423744 1099511627776 1 313.251 tensor cores
func.func @plain(%x: tensor<8192x8192xbf16>, %a: tensor<8192x8192xf8E4M3FN>, %s: tensor<8192x256xf8E8M0FNU>) {
  %0 = blockscale.scaled_mm %x, %a scales(none, %s) block [1, 32]
      : tensor<8192x8192xbf16>, tensor<8192x8192xf8E4M3FN>, tensor<8192x256xf8E8M0FNU> -> tensor<8192x8192xbf16>
  %1 = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32]
      : tensor<8192x8192xf8E4M3FN>, tensor<8192x8192xf8E4M3FN>, tensor<8192x256xf8E8M0FNU>, tensor<8192x256xf8E8M0FNU> -> tensor<8192x8192xbf16>
  return
}

// -----

// What the host reduces over ranks takes as long as what connects these, which nobody
// knows here.
// CHECK:      @over_ranks 16396 8193 2 4.000
// CHECK-NEXT: amax 64x128xbf16 16388 8192 1 2.000 launch
// CHECK-NEXT: global_scale f32 8 1 1 2.000 launch
// CHECK-NEXT: module
func.func @over_ranks(%x: tensor<64x128xbf16>) -> tensor<f32> {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  %g = blockscale.global_scale %r : tensor<f32>
  return %g : tensor<f32>
}
