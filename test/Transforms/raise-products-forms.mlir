// RUN: blockscale-opt %s --blockscale-raise-products --canonicalize | FileCheck %s

// Products of dequantized operands in other forms than linalg.matmul of two matrices.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bnk = affine_map<(b, m, n, k) -> (n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#last = affine_map<(b, n, k) -> (n, k)>
#kn3 = affine_map<(b, m, n, k) -> (b, k, n)>
#id3 = affine_map<(b, n, k) -> (b, n, k)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// A linalg.generic of the same loops, which extends its operands itself.
// CHECK-LABEL: func.func @generic
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>
// CHECK-NEXT: %[[Y:.+]] = blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 16]
// CHECK-NEXT: return %[[Y]]
func.func @generic(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) {
  ^bb0(%p: bf16, %q: bf16, %out: f32):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A transposition that a linalg.generic does.
// CHECK-LABEL: func.func @generic_transpose
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>
// CHECK-NEXT: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 16]
func.func @generic_transpose(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %te: tensor<64x40xbf16>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %t = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<40x64xbf16>) outs(%te : tensor<64x40xbf16>) {
  ^bb0(%p: bf16, %out: bf16):
    linalg.yield %p : bf16
  } -> tensor<64x40xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul ins(%x, %t : tensor<48x64xbf16>, tensor<64x40xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// One B for all matrices of A, broadcast by an op: A is flattened.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[X:.+]]: tensor<?x48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>, %[[E:.+]]: tensor<?x48x40xf32>
// CHECK: %[[F:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<?x48x64xbf16> into tensor<?x64xbf16>
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[F]], %[[W]] scales(none, %[[WS]]) block [1, 16] : tensor<?x64xbf16>, {{.*}} -> tensor<?x40xf32>
// CHECK: %[[B:.+]] = tensor.dim %[[E]], %c0
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [%[[B]], 48, 40] : tensor<?x40xf32> into tensor<?x48x40xf32>
func.func @shared(%x: tensor<?x48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<?x48x40xf32>, %we: tensor<?x40x64xbf16>) -> tensor<?x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %r = linalg.generic {indexing_maps = [#last, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b : tensor<40x64xbf16>) outs(%we : tensor<?x40x64xbf16>) {
  ^bb0(%p: bf16, %out: bf16):
    linalg.yield %p : bf16
  } -> tensor<?x40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x48x40xf32>) -> tensor<?x48x40xf32>
  %y = linalg.batch_matmul indexing_maps = [#bmk, affine_map<(b, m, n, k) -> (b, n, k)>, #bmn] ins(%x, %r : tensor<?x48x64xbf16>, tensor<?x40x64xbf16>) outs(%zeros : tensor<?x48x40xf32>) -> tensor<?x48x40xf32>
  return %y : tensor<?x48x40xf32>
}

// One B by its map beside a dequantized A, whose global scale leaves all values exact.
// CHECK-LABEL: func.func @shared_map
// CHECK-SAME: %[[A:.+]]: tensor<2x48x64xf4E2M1FN>, %[[AS:.+]]: tensor<2x48x4xf8E4M3FN>, %[[W:.+]]: tensor<40x64xf16>
// CHECK: %[[G:.+]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[F:.+]] = tensor.collapse_shape %[[A]] {{\[\[}}0, 1], [2]] : {{.*}} into tensor<96x64xf4E2M1FN>
// CHECK: %[[FS:.+]] = tensor.collapse_shape %[[AS]] {{\[\[}}0, 1], [2]] : {{.*}} into tensor<96x4xf8E4M3FN>
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[F]], %[[W]] scales(%[[FS]], none) block [1, 16] global_scale_a(%[[G]] : tensor<f32>)
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [2, 48, 40]
func.func @shared_map(%c: tensor<2x48x64xf4E2M1FN>, %qs: tensor<2x48x4xf8E4M3FN>, %w: tensor<40x64xf16>, %e: tensor<2x48x40xf32>) -> tensor<2x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant dense<0.25> : tensor<f32>
  %a = blockscale.dequantize %c, %qs block [1, 16] global_scale(%g : tensor<f32>) : tensor<2x48x64xf4E2M1FN>, tensor<2x48x4xf8E4M3FN> -> tensor<2x48x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x48x40xf32>) -> tensor<2x48x40xf32>
  %y = linalg.generic {indexing_maps = [#bmk, #bnk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %w : tensor<2x48x64xf16>, tensor<40x64xf16>) outs(%zeros : tensor<2x48x40xf32>) {
  ^bb0(%p: f16, %q: f16, %out: f32):
    %0 = arith.extf %p : f16 to f32
    %1 = arith.extf %q : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %out : f32
    linalg.yield %3 : f32
  } -> tensor<2x48x40xf32>
  return %y : tensor<2x48x40xf32>
}

// Rows are flattened before they are dequantized.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: %[[A:.+]]: tensor<2x3x64xf4E2M1FN>, %[[AS:.+]]: tensor<2x3x4xf8E4M3FN>, %[[W:.+]]: tensor<40x64xbf16>
// CHECK-DAG: %[[F:.+]] = tensor.collapse_shape %[[A]] {{\[\[}}0, 1], [2]]
// CHECK-DAG: %[[FS:.+]] = tensor.collapse_shape %[[AS]] {{\[\[}}0, 1], [2]]
// CHECK: blockscale.scaled_mm %[[F]], %[[W]] scales(%[[FS]], none) block [1, 16]
func.func @reshaped(%q: tensor<2x3x64xf4E2M1FN>, %qs: tensor<2x3x4xf8E4M3FN>, %w: tensor<40x64xbf16>, %e: tensor<6x40xf32>) -> tensor<6x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %q, %qs block [1, 16] : tensor<2x3x64xf4E2M1FN>, tensor<2x3x4xf8E4M3FN> -> tensor<2x3x64xbf16>
  %f = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x3x64xbf16> into tensor<6x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<6x40xf32>) -> tensor<6x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%f, %w : tensor<6x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<6x40xf32>) -> tensor<6x40xf32>
  return %y : tensor<6x40xf32>
}

// Rows that are split into matrices before they are dequantized, beside one B for each.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[A:.+]]: tensor<?x64xf8E4M3FN>, %[[AS:.+]]: tensor<?x2xf8E8M0FNU>, %[[W:.+]]: tensor<2x40x64xbf16>
// CHECK-DAG: %[[F:.+]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1], [2]] output_shape [2, %{{.+}}, 64]
// CHECK-DAG: %[[FS:.+]] = tensor.expand_shape %[[AS]] {{\[\[}}0, 1], [2]] output_shape [2, %{{.+}}, 2]
// CHECK: blockscale.scaled_mm %[[F]], %[[W]] scales(%[[FS]], none) block [1, 32]
func.func @split(%q: tensor<?x64xf8E4M3FN>, %qs: tensor<?x2xf8E8M0FNU>, %w: tensor<2x40x64xbf16>, %e: tensor<2x?x40xf32>, %m: index) -> tensor<2x?x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %q, %qs block [1, 32] : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x64xbf16>
  %f = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, %m, 64] : tensor<?x64xbf16> into tensor<2x?x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?x40xf32>) -> tensor<2x?x40xf32>
  %y = linalg.batch_matmul indexing_maps = [#bmk, affine_map<(b, m, n, k) -> (b, n, k)>, #bmn] ins(%f, %w : tensor<2x?x64xbf16>, tensor<2x40x64xbf16>) outs(%zeros : tensor<2x?x40xf32>) -> tensor<2x?x40xf32>
  return %y : tensor<2x?x40xf32>
}

// A reshape of columns, or of values that are used elsewhere, stays behind.
// CHECK-LABEL: func.func @reshapes_kept
// CHECK: %[[A:.+]] = blockscale.dequantize
// CHECK: tensor.expand_shape %[[A]]
// CHECK: %[[B:.+]] = blockscale.dequantize
// CHECK: tensor.collapse_shape %[[B]]
func.func @reshapes_kept(%q: tensor<2x3x64xf8E4M3FN>, %qs: tensor<2x3x2xf8E8M0FNU>) -> (tensor<2x3x2x32xbf16>, tensor<6x64xbf16>, tensor<2x3x64xbf16>) {
  %a = blockscale.dequantize %q, %qs block [1, 32] : tensor<2x3x64xf8E4M3FN>, tensor<2x3x2xf8E8M0FNU> -> tensor<2x3x64xbf16>
  %0 = tensor.expand_shape %a [[0], [1], [2, 3]] output_shape [2, 3, 2, 32] : tensor<2x3x64xbf16> into tensor<2x3x2x32xbf16>
  %b = blockscale.dequantize %q, %qs block [1, 32] : tensor<2x3x64xf8E4M3FN>, tensor<2x3x2xf8E8M0FNU> -> tensor<2x3x64xbf16>
  %1 = tensor.collapse_shape %b [[0, 1], [2]] : tensor<2x3x64xbf16> into tensor<6x64xbf16>
  return %0, %1, %b : tensor<2x3x2x32xbf16>, tensor<6x64xbf16>, tensor<2x3x64xbf16>
}
