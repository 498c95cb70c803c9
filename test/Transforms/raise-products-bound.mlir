// RUN: blockscale-opt %s --blockscale-raise-products=exact=false --canonicalize | FileCheck %s
// RUN: blockscale-opt %s --blockscale-raise-products 2>/dev/null | FileCheck %s --check-prefix=EXACT

// Products that are the same within their bound become scaled_mm where exact is off.
// EXACT-NOT: blockscale.scaled_mm

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// A global scale that is known at run time, of values in f32.
// CHECK-LABEL: func.func @global
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>, %{{.+}}: tensor<48x40xf32>, %[[G:.+]]: tensor<f32>
// CHECK-NEXT: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 16] global_scale_b(%[[G]] : tensor<f32>)
func.func @global(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Two operands in one MX format.
// CHECK-LABEL: func.func @two
// CHECK-NEXT: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, %{{.+}}) block [1, 32]
func.func @two(%qa: tensor<48x64xf8E4M3FN>, %sa: tensor<48x2xf8E8M0FNU>, %qb: tensor<40x64xf8E4M3FN>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %qa, %sa block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xf32>
  %b = blockscale.dequantize %qb, %sb block [1, 32] : tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xf32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Values that bf16 rounds with a global scale are others, and so are two formats.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: blockscale.scaled_mm
func.func @kept(%x: tensor<48x64xf32>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %qa: tensor<48x64xf8E5M2>, %sa: tensor<48x2xf8E8M0FNU>, %qb: tensor<40x64xf8E4M3FN>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> (tensor<48x40xf32>, tensor<48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %c = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %c : tensor<48x64xf32>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %a = blockscale.dequantize %qa, %sa block [1, 32] : tensor<48x64xf8E5M2>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xf32>
  %b = blockscale.dequantize %qb, %sb block [1, 32] : tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xf32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y, %z : tensor<48x40xf32>, tensor<48x40xf32>
}
