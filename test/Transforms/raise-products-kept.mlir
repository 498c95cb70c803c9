// RUN: blockscale-opt %s --blockscale-raise-products --split-input-file --verify-diagnostics | FileCheck %s

// Products that do not meet a clause of RaiseProducts.h are kept, with a remark.
// Products without a dequantized operand, on buffers or in kernels have none.
// CHECK-NOT: blockscale.scaled_mm

// raise_c1: a sum of bf16.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @sum_of_bf16(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xbf16>) -> tensor<48x40xbf16> {
  %zero = arith.constant 0.0 : bf16
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : bf16) outs(%e : tensor<48x40xbf16>) -> tensor<48x40xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected sums of f32, but got bf16}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xbf16>) -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// -----

// raise_c1: a sum that begins with what a tensor holds.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @sum_of_others(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected a sum that begins with linalg.fill of 0, but got another tensor}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c1: a sum that begins with 1.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @sum_of_ones(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 1.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected a sum that begins with linalg.fill of 0, but got another number}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c1: a sum that begins with -0, and is -0 where all products are.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @sum_of_negative_zeros(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant -0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected a sum that begins with linalg.fill of 0, but got another number}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c1: a sum that begins with a number that is known at run time.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @sum_of_argument(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %f: f32) -> tensor<48x40xf32> {
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%f : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected a sum that begins with linalg.fill of 0, but got another number}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c1: a result with an encoding.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @encoded_result(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32, "mine">) -> tensor<48x40xf32, "mine"> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32, "mine">) -> tensor<48x40xf32, "mine">
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected a result without an encoding, but got tensor<48x40xf32, "mine">}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32, "mine">) -> tensor<48x40xf32, "mine">
  return %y : tensor<48x40xf32, "mine">
}

// -----

// raise_c1: scales in a layout that products do not read.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @other_tiles(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected scales that are linear or in the layout swizzle_128x4, but got tensor<40x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c1: a plain operand with an encoding.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @encoded_operand(%x: tensor<48x64xbf16, "mine">, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c1): expected operands without an encoding, but got tensor<48x64xbf16, "mine">}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16, "mine">, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c2: a vector in place of the plain matrix.
#k = affine_map<(m, n, k) -> (k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @broadcast(%x: tensor<64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected operands of the rank of the result, but got one that is broadcast}}
  %y = linalg.matmul indexing_maps = [#k, #nk, #mn] ins(%x, %b : tensor<64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c2: a vector that a transposition of one dimension leaves as it is.
#k = affine_map<(m, n, k) -> (k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @broadcast_and_transposed(%x: tensor<64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %t: tensor<64xbf16>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %xt = linalg.transpose ins(%x : tensor<64xbf16>) outs(%t : tensor<64xbf16>) permutation = [0]
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected operands of the rank of the result, but got one that is broadcast}}
  %y = linalg.matmul indexing_maps = [#k, #nk, #mn] ins(%xt, %b : tensor<64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c2: one number in the place of the plain matrix, of a tensor or of none.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @scalar(%x: f32, %v: tensor<f32>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> (tensor<48x40xf32>, tensor<48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected operands of the rank of the result, but got one that is broadcast}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> ()>, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %b : f32, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected operands of the rank of the result, but got one that is broadcast}}
  %z = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> ()>, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %b : tensor<f32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x40xf32>
  return %y, %z : tensor<48x40xf32>, tensor<48x40xf32>
}

// -----

// raise_c2: a result of rows of N.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nm = affine_map<(m, n, k) -> (n, m)>
func.func @transposed_result(%x: tensor<48x64xbf16>, %w: tensor<48x64xf4E2M1FN>, %ws: tensor<48x4xf8E4M3FN>, %e: tensor<48x48xf32>) -> tensor<48x48xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN> -> tensor<48x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x48xf32>) -> tensor<48x48xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected a result of M rows and N columns, but got the map (d0, d1, d2) -> (d1, d0)}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #nm] ins(%x, %b : tensor<48x64xbf16>, tensor<48x64xbf16>) outs(%zeros : tensor<48x48xf32>) -> tensor<48x48xf32>
  return %y : tensor<48x48xf32>
}

// -----

// raise_c2: blocks along N.
func.func @blocks_along_n(%x: tensor<48x64xbf16>, %w: tensor<64x48xf4E2M1FN>, %ws: tensor<64x3xf8E4M3FN>, %e: tensor<48x48xf32>) -> tensor<48x48xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<64x48xf4E2M1FN>, tensor<64x3xf8E4M3FN> -> tensor<64x48xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x48xf32>) -> tensor<48x48xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected blocks along K, but got blocks along its rows}}
  %y = linalg.matmul ins(%x, %b : tensor<48x64xbf16>, tensor<64x48xbf16>) outs(%zeros : tensor<48x48xf32>) -> tensor<48x48xf32>
  return %y : tensor<48x48xf32>
}

// -----

// raise_c2: blocks along K of the transpose, multiplied along its rows.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @transposed_blocks(%x: tensor<48x64xbf16>, %w: tensor<64x48xf4E2M1FN>, %ws: tensor<64x3xf8E4M3FN>, %e: tensor<48x48xf32>, %t: tensor<48x64xbf16>) -> tensor<48x48xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<64x48xf4E2M1FN>, tensor<64x3xf8E4M3FN> -> tensor<64x48xbf16>
  %bt = linalg.transpose ins(%b : tensor<64x48xbf16>) outs(%t : tensor<48x64xbf16>) permutation = [1, 0]
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x48xf32>) -> tensor<48x48xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected blocks along K, but got blocks along its rows}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %bt : tensor<48x64xbf16>, tensor<48x64xbf16>) outs(%zeros : tensor<48x48xf32>) -> tensor<48x48xf32>
  return %y : tensor<48x48xf32>
}

// -----

// raise_c3: square blocks.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @square_blocks(%x: tensor<48x64xbf16>, %w: tensor<64x64xf8E4M3FN>, %ws: tensor<2x2xf8E8M0FNU>, %e: tensor<48x64xf32>) -> tensor<48x64xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [32, 32] : tensor<64x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c3): expected blocks of one row, but got [32, 32]}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xf32>) -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// -----

// raise_c3: a global amax.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @global_amax(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: f32) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_amax(%g : f32) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c3): expected a global scale or none, but got a global amax}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c4: a tail, which the recipe accepts.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @tail(%x: tensor<48x72xbf16>, %w: tensor<40x72xf4E2M1FN>, %ws: tensor<40x5xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] recipe te : tensor<40x72xf4E2M1FN>, tensor<40x5xf8E4M3FN> -> tensor<40x72xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c4): expected K of whole blocks of 16, but got 72}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x72xbf16>, tensor<40x72xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c4: a K that may have a tail.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @dynamic_tail(%x: tensor<48x?xbf16>, %w: tensor<40x?xf4E2M1FN>, %ws: tensor<40x?xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] recipe te : tensor<40x?xf4E2M1FN>, tensor<40x?xf8E4M3FN> -> tensor<40x?xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c4): expected a static K, or a recipe that refuses tails, but got te}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x?xbf16>, tensor<40x?xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c5: another operand of f32.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @f32_operand(%x: tensor<48x64xf32>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c5): expected another operand of bf16 or f16, but got f32}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xf32>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c5: f16 beside MX.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @f16_beside_mx(%x: tensor<48x64xf16>, %w: tensor<40x64xf8E4M3FN>, %ws: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 32] : tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c5): expected another operand of bf16, but got f16}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c5: an operand that is extended from f8 is not plain.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @extended_f8(%x: tensor<48x64xf8E5M2>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %xw = arith.extf %x : tensor<48x64xf8E5M2> to tensor<48x64xf32>
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c5): expected another operand of bf16 or f16, but got f32}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xw, %b : tensor<48x64xf32>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c5: an extension that exchanges rows and columns is not looked through.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @extended_and_transposed(%x: tensor<64x64xbf16>, %w: tensor<64x64xf4E2M1FN>, %ws: tensor<64x4xf8E4M3FN>, %e: tensor<64x64xf32>, %xe: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %xw = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xbf16>) outs(%xe : tensor<64x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c5): expected another operand of bf16 or f16, but got f32}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xw, %b : tensor<64x64xf32>, tensor<64x64xbf16>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// raise_c5: two MX operands of f32, whose range is not that of the values.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @pair_of_mx(%qa: tensor<48x64xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %qb: tensor<40x64xf4E2M1FN>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %qa, %sa block [1, 32] : tensor<48x64xf4E2M1FN>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xf32>
  %b = blockscale.dequantize %qb, %sb block [1, 32] : tensor<40x64xf4E2M1FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c5): expected two operands in NVFP4, but got f8E8M0FNU scales}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xf32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c5: one type of elements in blocks of two formats.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @pair_of_formats(%qa: tensor<48x64xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %qb: tensor<40x64xf4E2M1FN>, %sb: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %qa, %sa block [1, 32] : tensor<48x64xf4E2M1FN>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xf32>
  %b = blockscale.dequantize %qb, %sb block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c5): expected two operands in one format, but got f4E2M1FN with f8E8M0FNU scales and f4E2M1FN with f8E4M3FN scales}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xf32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c6: E4M3 in f32, of which bf16 does not hold the smallest values.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @e4m3_in_f32(%x: tensor<48x64xbf16>, %w: tensor<40x64xf8E4M3FN>, %ws: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 32] : tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c6): expected values of f8E4M3FN with f8E8M0FNU scales dequantized to bf16, but got f32}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c6: E5M2 in f32, of which bf16 does not hold the smallest values.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @e5m2_in_f32(%x: tensor<48x64xbf16>, %w: tensor<40x64xf8E5M2>, %ws: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 32] : tensor<40x64xf8E5M2>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c6): expected values of f8E5M2 with f8E8M0FNU scales dequantized to bf16, but got f32}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c6: MX in f16, which does not hold its range.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @mx_in_f16(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 32] : tensor<40x64xf4E2M1FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c6): expected values of f4E2M1FN with f8E8M0FNU scales dequantized to bf16, but got f16}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// No operand is dequantized.
func.func @nothing_dequantized(%x: tensor<48x64xbf16>, %y: tensor<64x40xbf16>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %z = linalg.matmul ins(%x, %y : tensor<48x64xbf16>, tensor<64x40xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %z : tensor<48x40xf32>
}

// -----

// Operands in buffers.
func.func @buffers(%x: memref<48x64xbf16>, %y: memref<64x40xbf16>, %e: memref<48x40xf32>) {
  linalg.matmul ins(%x, %y : memref<48x64xbf16>, memref<64x40xbf16>) outs(%e : memref<48x40xf32>)
  return
}

// -----

// Ops in a kernel are what its family computes.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @kernel(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %0 = blockscale.kernel ins(%x, %w, %ws : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %lw: tensor<40x64xf4E2M1FN>, %ls: tensor<40x4xf8E4M3FN>, %le: tensor<48x40xf32>):
    %zero = arith.constant 0.0 : f32
    %b = blockscale.dequantize %lw, %ls block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
    %zeros = linalg.fill ins(%zero : f32) outs(%le : tensor<48x40xf32>) -> tensor<48x40xf32>
    %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%lx, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
    blockscale.yield %y : tensor<48x40xf32>
  } -> tensor<48x40xf32>
  return %0 : tensor<48x40xf32>
}

// -----

// raise_c3: a constant global scale with which values are rounded to f32.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @rounded_values(%x: tensor<48x64xf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %h = arith.constant 0.1 : f32
  %c = blockscale.dequantize %w, %ws block [1, 16] global_scale(%h : f32) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c3): expected a global scale with which all values are exact in f32, but got 0.100000001, with which some are rounded}}
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %c : tensor<48x64xf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %z : tensor<48x40xf32>
}

// -----

// raise_c3: a constant whose products may leave the range of f32.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @tiny_global(%x: tensor<48x64xf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant 0x2B000000 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : f32) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c3): expected no global scale, or a constant from 2^-40 to 2^40 with which all values are exact in f32, but got another constant}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c2: one A for all matrices of B, and one B beside an A that is transposed, has
// swizzled scales, or rows of two unknown sizes.
#swizzled = #blockscale.layout<swizzle_128x4>
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bkm = affine_map<(b, m, n, k) -> (b, k, m)>
#bnk = affine_map<(b, m, n, k) -> (b, n, k)>
#mk = affine_map<(b, m, n, k) -> (m, k)>
#nk = affine_map<(b, m, n, k) -> (n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @shared(%x: tensor<48x64xbf16>, %xt: tensor<2x64x48xbf16>, %xd: tensor<?x?x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %v: tensor<2x40x64xf4E2M1FN>, %vs: tensor<2x40x4xf8E4M3FN>,
    %q: tensor<2x48x64xf4E2M1FN>, %qs: tensor<2x48x4xf8E4M3FN, #swizzled>, %p: tensor<40x64xbf16>, %e: tensor<2x48x40xf32>, %ed: tensor<?x?x40xf32>) -> (tensor<2x48x40xf32>, tensor<2x48x40xf32>, tensor<2x48x40xf32>, tensor<?x?x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x48x40xf32>) -> tensor<2x48x40xf32>
  %zd = linalg.fill ins(%zero : f32) outs(%ed : tensor<?x?x40xf32>) -> tensor<?x?x40xf32>
  %b = blockscale.dequantize %v, %vs block [1, 16] : tensor<2x40x64xf4E2M1FN>, tensor<2x40x4xf8E4M3FN> -> tensor<2x40x64xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected an A of the rank of the result, but got one that is broadcast}}
  %0 = linalg.generic {indexing_maps = [#mk, #bnk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %b : tensor<48x64xbf16>, tensor<2x40x64xbf16>) outs(%zeros : tensor<2x48x40xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %t = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<2x48x40xf32>
  %c = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected an A with rows along K beside one B, but got a transposed one}}
  %1 = linalg.generic {indexing_maps = [#bkm, #nk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%xt, %c : tensor<2x64x48xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<2x48x40xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %t = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<2x48x40xf32>
  %a = blockscale.dequantize %q, %qs block [1, 16] : tensor<2x48x64xf4E2M1FN>, tensor<2x48x4xf8E4M3FN, #swizzled> -> tensor<2x48x64xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected linear scales of an A beside one B, but got tensor<2x48x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>}}
  %2 = linalg.generic {indexing_maps = [#bmk, #nk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %p : tensor<2x48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<2x48x40xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %t = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<2x48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected at most one dynamic size of the rows of all matrices of A beside one B, but got tensor<?x?x40xf32>}}
  %3 = linalg.generic {indexing_maps = [#bmk, #nk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%xd, %c : tensor<?x?x64xbf16>, tensor<40x64xbf16>) outs(%zd : tensor<?x?x40xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %t = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<?x?x40xf32>
  return %0, %1, %2, %3 : tensor<2x48x40xf32>, tensor<2x48x40xf32>, tensor<2x48x40xf32>, tensor<?x?x40xf32>
}

// -----

// A body that does more than add products is none: it gets no remark.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @other_bodies(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> (tensor<48x40xf32>, tensor<48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) {
  ^bb0(%p: bf16, %q: bf16, %out: f32):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %out, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<48x40xf32>
  %z = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) {
  ^bb0(%p: bf16, %q: bf16, %out: f32):
    %0 = arith.mulf %p, %q : bf16
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<48x40xf32>
  return %y, %z : tensor<48x40xf32>, tensor<48x40xf32>
}

// -----

// raise_c2: a global scale for each matrix of an A beside one B.
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @global_of_each(%q: tensor<2x48x64xf4E2M1FN>, %qs: tensor<2x48x4xf8E4M3FN>, %p: tensor<40x64xf16>, %e: tensor<2x48x40xf32>) -> tensor<2x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x48x40xf32>) -> tensor<2x48x40xf32>
  %g = arith.constant dense<2.0> : tensor<2xf32>
  %a = blockscale.dequantize %q, %qs block [1, 16] global_scale(%g : tensor<2xf32>) : tensor<2x48x64xf4E2M1FN>, tensor<2x48x4xf8E4M3FN> -> tensor<2x48x64xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected one global scale of an A beside one B, but got tensor<2xf32>}}
  %y = linalg.generic {indexing_maps = [#bmk, #nk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %p : tensor<2x48x64xf32>, tensor<40x64xf16>) outs(%zeros : tensor<2x48x40xf32>) {
  ^bb0(%l: f32, %r: f16, %o: f32):
    %rw = arith.extf %r : f16 to f32
    %t = arith.mulf %l, %rw : f32
    %s = arith.addf %o, %t : f32
    linalg.yield %s : f32
  } -> tensor<2x48x40xf32>
  return %y : tensor<2x48x40xf32>
}

// -----

// raise_c8: values of f16 beside an operand of bf16, which is extended as they are.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @elements_of_another_type(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c8): expected another operand of f16 beside a global scale, with which values are rounded to that type, but got bf16}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c8: recipes that multiply elements by the block scale first, or divide the block scale
// by the reciprocal of the global one.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @elements_of_other_recipes(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> (tensor<48x40xf32>, tensor<48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] recipe modelopt global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c8): expected a recipe that multiplies the scale of a block by the global scale before it multiplies elements, but got modelopt}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %c = blockscale.dequantize %w, %ws block [1, 16] recipe compressed_tensors global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c8): expected a recipe that multiplies the scale of a block by the global scale before it multiplies elements, but got compressed_tensors}}
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %c : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y, %z : tensor<48x40xf32>, tensor<48x40xf32>
}

// -----

// raise_c8: a global scale for each row.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @elements_with_scales_of_rows(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<40xf32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c8): expected one global scale for all rows of a matrix, but got tensor<40xf32>}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// raise_c8: values that are returned as well, and some whose extension is.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @elements_of_others(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> (tensor<48x40xf32>, tensor<40x64xbf16>, tensor<48x40xf32>, tensor<40x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c8): expected values that products alone take, but got another use}}
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %c = blockscale.dequantize %w, %ws block [1, 16] recipe mslk global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %xw = arith.extf %x : tensor<48x64xbf16> to tensor<48x64xf32>
  %cw = arith.extf %c : tensor<40x64xbf16> to tensor<40x64xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c8): expected values that products alone take, but got another use}}
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xw, %cw : tensor<48x64xf32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y, %b, %z, %cw : tensor<48x40xf32>, tensor<40x64xbf16>, tensor<48x40xf32>, tensor<40x64xf32>
}

// -----

// raise_c2 and raise_c3 hold of a global scale of elements, too: blocks along K, of one row.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @elements_of_other_blocks(%x: tensor<48x64xbf16>, %w: tensor<64x32xf4E2M1FN>, %ws: tensor<64x2xf8E4M3FN>, %v: tensor<32x64xf4E2M1FN>, %vs: tensor<2x4xf8E4M3FN>, %e: tensor<48x32xf32>, %g: tensor<f32>) -> (tensor<48x32xf32>, tensor<48x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN> -> tensor<64x32xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x32xf32>) -> tensor<48x32xf32>
  // expected-remark @below {{is not computed as scaled_mm (raise_c2): expected blocks along K, but got blocks along its rows}}
  %y = linalg.matmul ins(%x, %b : tensor<48x64xbf16>, tensor<64x32xbf16>) outs(%zeros : tensor<48x32xf32>) -> tensor<48x32xf32>
  %c = blockscale.dequantize %v, %vs block [16, 16] global_scale(%g : tensor<f32>) : tensor<32x64xf4E2M1FN>, tensor<2x4xf8E4M3FN> -> tensor<32x64xbf16>
  // expected-remark @below {{is not computed as scaled_mm (raise_c3): expected blocks of one row, but got [16, 16]}}
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %c : tensor<48x64xbf16>, tensor<32x64xbf16>) outs(%zeros : tensor<48x32xf32>) -> tensor<48x32xf32>
  return %y, %z : tensor<48x32xf32>, tensor<48x32xf32>
}
