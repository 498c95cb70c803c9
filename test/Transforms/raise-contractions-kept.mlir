// RUN: blockscale-opt %s --blockscale-raise-quantizers --split-input-file --verify-diagnostics | FileCheck %s

// Contractions with scales that are no products of dequantize stay, with a remark.
// CHECK-NOT: blockscale.dequantize

// Scales that are not f8E8M0FNU.
#a = affine_map<(m, n, k, b) -> (m, k, b)>
#b = affine_map<(m, n, k, b) -> (n, k, b)>
#sa = affine_map<(m, n, k, b) -> (m, k)>
#sb = affine_map<(m, n, k, b) -> (n, k)>
#c = affine_map<(m, n, k, b) -> (m, n)>
func.func @scales(%a: tensor<48x2x32xf4E2M1FN>, %b: tensor<40x2x32xf4E2M1FN>, %sa: tensor<48x2xf32>, %sb: tensor<40x2xf32>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected scales of f8E8M0FNU, as arith.scaling_extf takes the exponent alone of others, but got f32}}
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<48x2x32xf4E2M1FN>, tensor<40x2x32xf4E2M1FN>, tensor<48x2xf32>, tensor<40x2xf32>) outs(%z : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f32, %t: f32, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f32 to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f32 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// Blocks of 16.
#a = affine_map<(m, n, k, b) -> (m, k, b)>
#b = affine_map<(m, n, k, b) -> (n, k, b)>
#sa = affine_map<(m, n, k, b) -> (m, k)>
#sb = affine_map<(m, n, k, b) -> (n, k)>
#c = affine_map<(m, n, k, b) -> (m, n)>
func.func @blocks(%a: tensor<48x2x16xf4E2M1FN>, %b: tensor<40x2x16xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected a last dimension of 32, but got tensor<48x2x16xf4E2M1FN>}}
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<48x2x16xf4E2M1FN>, tensor<40x2x16xf4E2M1FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%z : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// A scale for each row.
#a = affine_map<(m, n, k, b) -> (m, k, b)>
#b = affine_map<(m, n, k, b) -> (n, k, b)>
#sa = affine_map<(m, n, k, b) -> (m, k)>
#sb = affine_map<(m, n, k, b) -> (n, k)>
#c = affine_map<(m, n, k, b) -> (m, n)>
func.func @rows(%a: tensor<48x2x32xf4E2M1FN>, %b: tensor<40x2x32xf4E2M1FN>, %sa: tensor<48x40xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected scales [batch.., rows, k / 32]}}
  %y = linalg.generic {indexing_maps = [#a, #b, affine_map<(m, n, k, b) -> (m, n)>, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<48x2x32xf4E2M1FN>, tensor<40x2x32xf4E2M1FN>, tensor<48x40xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%z : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// An operand with the blocks of K before its rows.
#a = affine_map<(m, n, k, b) -> (k, m, b)>
#b = affine_map<(m, n, k, b) -> (n, k, b)>
#sa = affine_map<(m, n, k, b) -> (m, k)>
#sb = affine_map<(m, n, k, b) -> (n, k)>
#c = affine_map<(m, n, k, b) -> (m, n)>
func.func @blocks_first(%a: tensor<2x48x32xf4E2M1FN>, %b: tensor<40x2x32xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected an operand [batch.., rows, k / 32, 32], but got (d0, d1, d2, d3) -> (d2, d0, d3)}}
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<2x48x32xf4E2M1FN>, tensor<40x2x32xf4E2M1FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// A product of two vectors, which has neither rows nor columns, and one whose loop over the
// columns is behind those that reduce.
#v = affine_map<(k, b) -> (k, b)>
#s = affine_map<(k, b) -> (k)>
#a = affine_map<(m, k, b, n) -> (m, k, b)>
#b = affine_map<(m, k, b, n) -> (n, k, b)>
#sa = affine_map<(m, k, b, n) -> (m, k)>
#sb = affine_map<(m, k, b, n) -> (n, k)>
#c = affine_map<(m, k, b, n) -> (m, n)>
func.func @loops(%v: tensor<2x32xf4E2M1FN>, %w: tensor<2x32xf4E2M1FN>, %sv: tensor<2xf8E8M0FNU>, %sw: tensor<2xf8E8M0FNU>, %d: tensor<f32>,
    %a: tensor<48x2x32xf4E2M1FN>, %b: tensor<40x2x32xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> (tensor<f32>, tensor<48x40xf32>) {
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected loops (batch.., m, n, k / 32, 32), of which the last two reduce, but got 2 loops, 2 of which reduce}}
  %x = linalg.generic {indexing_maps = [#v, #v, #s, #s, affine_map<(k, b) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%v, %w, %sv, %sw : tensor<2x32xf4E2M1FN>, tensor<2x32xf4E2M1FN>, tensor<2xf8E8M0FNU>, tensor<2xf8E8M0FNU>) outs(%d : tensor<f32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<f32>
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected loops (batch.., m, n, k / 32, 32), of which the last two reduce, but got 4 loops, 2 of which reduce}}
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "reduction", "reduction", "parallel"]} ins(%a, %b, %sa, %sb : tensor<48x2x32xf4E2M1FN>, tensor<40x2x32xf4E2M1FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %x, %y : tensor<f32>, tensor<48x40xf32>
}

// -----

// A result with the rows of B first.
#a = affine_map<(m, n, k, b) -> (m, k, b)>
#b = affine_map<(m, n, k, b) -> (n, k, b)>
#sa = affine_map<(m, n, k, b) -> (m, k)>
#sb = affine_map<(m, n, k, b) -> (n, k)>
#c = affine_map<(m, n, k, b) -> (m, n)>
func.func @result(%a: tensor<48x2x32xf4E2M1FN>, %b: tensor<40x2x32xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not a product of dequantize (contraction_c1): expected a result [batch.., m, n]}}
  %y = linalg.generic {indexing_maps = [#b, #a, #sb, #sa, affine_map<(m, n, k, b) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<48x2x32xf4E2M1FN>, tensor<40x2x32xf4E2M1FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%z : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}
