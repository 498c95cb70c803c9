// RUN: blockscale-opt %s --blockscale-raise-products --canonicalize | FileCheck %s
// RUN: blockscale-opt %s "--blockscale-raise-products=chip=sm_80" 2>&1 -o /dev/null | FileCheck %s --check-prefix=REMARK

// Products of values that a global scale multiplies before they are rounded: it multiplies the
// elements of the scaled_mm.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bnk = affine_map<(b, m, n, k) -> (b, n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>

// A number of the run time.
// CHECK-LABEL: func.func @run_time
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>, %{{.+}}: tensor<48x40xf32>, %[[G:.+]]: tensor<f32>
// CHECK-NOT: blockscale.dequantize
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 16] global_scale_b(%[[G]] : tensor<f32>) global_scaling in_elements : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
// CHECK: return %[[Y]]
func.func @run_time(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// The sizes of values are others' to take.
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: blockscale.dequantize
// CHECK: blockscale.scaled_mm {{.+}} global_scaling in_elements
func.func @sizes(%x: tensor<48x64xbf16>, %w: tensor<?x64xf4E2M1FN>, %ws: tensor<?x4xf8E4M3FN>, %g: tensor<f32>) -> tensor<48x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN> -> tensor<?x64xbf16>
  %n = tensor.dim %b, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%n) : tensor<48x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x?xf32>) -> tensor<48x?xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<?x64xbf16>) outs(%zeros : tensor<48x?xf32>) -> tensor<48x?xf32>
  return %y : tensor<48x?xf32>
}

// A result that is rounded is one of the product.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.+}} global_scaling in_elements {{.+}} -> tensor<48x40xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @rounded(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: tensor<f32>) -> tensor<48x40xbf16> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %z = arith.truncf %y : tensor<48x40xf32> to tensor<48x40xbf16>
  return %z : tensor<48x40xbf16>
}

// A constant with which values are rounded, of f16 on the left, from origins of its own.
// CHECK-LABEL: func.func @constant
// CHECK: %[[G:.+]] = arith.constant 1.234560e-02 : f32
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, none) block [1, 16] global_scale_a(%[[G]] : f32) global_scaling in_elements unchecked_origins : tensor<40x64xf4E2M1FN>, tensor<48x64xf16>
func.func @constant(%x: tensor<48x64xf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<40x48xf32>) -> tensor<40x48xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant 0.0123456 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] recipe te global_scale(%g : f32) unchecked_origins : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<40x48xf32>) -> tensor<40x48xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%b, %x : tensor<40x64xf16>, tensor<48x64xf16>) outs(%zeros : tensor<40x48xf32>) -> tensor<40x48xf32>
  return %y : tensor<40x48xf32>
}

// A power of two beside bf16, whose sums may overflow without it.
// CHECK-LABEL: func.func @power_of_two
// CHECK: blockscale.scaled_mm {{.+}} global_scaling in_elements
func.func @power_of_two(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant dense<2.0> : tensor<f32>
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Where values stay exact beside f16, the scale multiplies sums, which is less work.
// CHECK-LABEL: func.func @exact
// CHECK: blockscale.scaled_mm {{.+}} global_scale_b(%{{.+}} : tensor<f32>) :
func.func @exact(%x: tensor<48x64xf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant dense<2.0> : tensor<f32>
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xf16>, tensor<40x64xf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A global scale for each matrix of a batch, of values that are extended.
// CHECK-LABEL: func.func @batch
// CHECK: blockscale.scaled_mm {{.+}} global_scale_b(%{{.+}} : tensor<3xf32>) global_scaling in_elements : tensor<3x48x64xbf16>, tensor<3x40x64xf4E2M1FN>
func.func @batch(%x: tensor<3x48x64xbf16>, %w: tensor<3x40x64xf4E2M1FN>, %ws: tensor<3x40x4xf8E4M3FN>, %e: tensor<3x48x40xf32>, %g: tensor<3xf32>) -> tensor<3x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<3xf32>) : tensor<3x40x64xf4E2M1FN>, tensor<3x40x4xf8E4M3FN> -> tensor<3x40x64xbf16>
  %xw = arith.extf %x : tensor<3x48x64xbf16> to tensor<3x48x64xf32>
  %bw = arith.extf %b : tensor<3x40x64xbf16> to tensor<3x40x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<3x48x40xf32>) -> tensor<3x48x40xf32>
  %y = linalg.batch_matmul indexing_maps = [#bmk, #bnk, #bmn] ins(%xw, %bw : tensor<3x48x64xf32>, tensor<3x40x64xf32>) outs(%zeros : tensor<3x48x40xf32>) -> tensor<3x48x40xf32>
  return %y : tensor<3x48x40xf32>
}

// Two products take the values, one of them as one matrix for all of a batch: both read codes, and
// no kernel stores values.
// CHECK-LABEL: func.func @two_products
// CHECK-NOT: blockscale.dequantize
// CHECK-COUNT-2: blockscale.scaled_mm {{.+}} global_scaling in_elements
func.func @two_products(%x: tensor<48x64xbf16>, %z: tensor<2x48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %f: tensor<2x48x40xf32>, %be: tensor<2x40x64xbf16>, %g: tensor<f32>) -> (tensor<48x40xf32>, tensor<2x48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %others = linalg.fill ins(%zero : f32) outs(%f : tensor<2x48x40xf32>) -> tensor<2x48x40xf32>
  %all = linalg.broadcast ins(%b : tensor<40x64xbf16>) outs(%be : tensor<2x40x64xbf16>) dimensions = [0]
  %v = linalg.batch_matmul indexing_maps = [#bmk, #bnk, #bmn] ins(%z, %all : tensor<2x48x64xbf16>, tensor<2x40x64xbf16>) outs(%others : tensor<2x48x40xf32>) -> tensor<2x48x40xf32>
  return %y, %v : tensor<48x40xf32>, tensor<2x48x40xf32>
}

// Where both operands are dequantized so, one is read by codes, and the other one stored.
// REMARK: does not read codes (raise_c3): expected no global scale, or a constant from 2^-40 to 2^40
// CHECK-LABEL: func.func @both
// CHECK: %[[A:.+]] = blockscale.dequantize
// CHECK: blockscale.scaled_mm %[[A]], %{{.+}} scales(none, %{{.+}}) block [1, 16] global_scale_b(%{{.+}} : f32) global_scaling in_elements
func.func @both(%x: tensor<48x64xf4E2M1FN>, %xs: tensor<48x4xf8E4M3FN>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>, %g: f32) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %x, %xs block [1, 16] global_scale(%g : f32) : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN> -> tensor<48x64xbf16>
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%g : f32) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}
