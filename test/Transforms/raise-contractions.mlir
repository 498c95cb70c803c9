// RUN: blockscale-opt %s --blockscale-raise-quantizers --blockscale-raise-products --canonicalize 2>/dev/null | FileCheck %s
// RUN: blockscale-opt %s --blockscale-raise-quantizers --blockscale-raise-products=exact=false --canonicalize | FileCheck %s --check-prefix=BOUND
// RUN: blockscale-opt %s --blockscale-to-cpu=to=form-kernels 2>/dev/null | FileCheck %s --check-prefix=CPU

// IREE's scaled contraction becomes a product of dequantized operands.
// CPU-NOT: arith.scaling_extf

#a = affine_map<(m, n, k, b) -> (m, k, b)>
#b = affine_map<(m, n, k, b) -> (n, k, b)>
#sa = affine_map<(m, n, k, b) -> (m, k)>
#sb = affine_map<(m, n, k, b) -> (n, k)>
#c = affine_map<(m, n, k, b) -> (m, n)>

// Values of MXFP4 are numbers of bf16: one operand is read as data and scales.
// CHECK-LABEL: func.func @mxfp4
// CHECK-SAME: %[[A:.+]]: tensor<48x2x32xf4E2M1FN>, %[[B:.+]]: tensor<40x2x32xf4E2M1FN>, %[[SA:.+]]: tensor<48x2xf8E8M0FNU>, %[[SB:.+]]: tensor<40x2xf8E8M0FNU>
// CHECK: %[[P:.+]] = tensor.collapse_shape %[[A]] {{\[\[}}0], [1, 2]]
// CHECK: %[[V:.+]] = blockscale.dequantize %[[P]], %[[SA]] block [1, 32] : {{.*}} -> tensor<48x64xbf16>
// CHECK: %[[Q:.+]] = tensor.collapse_shape %[[B]] {{\[\[}}0], [1, 2]]
// CHECK: blockscale.scaled_mm %[[V]], %[[Q]] scales(none, %[[SB]]) block [1, 32]
// BOUND-LABEL: func.func @mxfp4
// BOUND: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, %{{.+}}) block [1, 32]
// CPU-LABEL: func.func @mxfp4
// CPU: blockscale.scaled_mm
func.func @mxfp4(%a: tensor<48x2x32xf4E2M1FN>, %b: tensor<40x2x32xf4E2M1FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<48x2x32xf4E2M1FN>, tensor<40x2x32xf4E2M1FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%z : tensor<48x40xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f4E2M1FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Those of E4M3 are not at the end of their range: products in f32 stay.
// CHECK-LABEL: func.func @mxfp8
// CHECK: blockscale.dequantize {{.*}} -> tensor<48x64xf32>
// CHECK: blockscale.dequantize {{.*}} -> tensor<40x64xf32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// BOUND-LABEL: func.func @mxfp8
// BOUND: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, %{{.+}}) block [1, 32]
func.func @mxfp8(%a: tensor<48x2x32xf8E4M3FN>, %b: tensor<40x2x32xf8E4M3FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<48x2x32xf8E4M3FN>, tensor<40x2x32xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU>) outs(%z : tensor<48x40xf32>) {
  ^bb0(%p: f8E4M3FN, %q: f8E4M3FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f8E4M3FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f8E4M3FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A batch of unknown size; the second factor has the rows of the result.
// CHECK-LABEL: func.func @batch
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, %{{.+}}) block [1, 32] : tensor<?x48x64xbf16>, tensor<?x40x64xf6E2M3FN>, tensor<?x40x2xf8E8M0FNU> -> tensor<?x48x40xf32>
func.func @batch(%b: tensor<?x40x2x32xf6E2M3FN>, %a: tensor<?x48x2x32xf6E2M3FN>, %sb: tensor<?x40x2xf8E8M0FNU>, %sa: tensor<?x48x2xf8E8M0FNU>, %e: tensor<?x48x40xf32>) -> tensor<?x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x48x40xf32>) -> tensor<?x48x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(g, m, n, k, b) -> (g, n, k, b)>, affine_map<(g, m, n, k, b) -> (g, m, k, b)>, affine_map<(g, m, n, k, b) -> (g, n, k)>, affine_map<(g, m, n, k, b) -> (g, m, k)>, affine_map<(g, m, n, k, b) -> (g, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%b, %a, %sb, %sa : tensor<?x40x2x32xf6E2M3FN>, tensor<?x48x2x32xf6E2M3FN>, tensor<?x40x2xf8E8M0FNU>, tensor<?x48x2xf8E8M0FNU>) outs(%z : tensor<?x48x40xf32>) {
  ^bb0(%p: f6E2M3FN, %q: f6E2M3FN, %r: f8E8M0FNU, %t: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %p, %r : f6E2M3FN, f8E8M0FNU to f32
    %1 = arith.scaling_extf %q, %t : f6E2M3FN, f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x48x40xf32>
  return %y : tensor<?x48x40xf32>
}
