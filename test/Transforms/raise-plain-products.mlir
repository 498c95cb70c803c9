// RUN: blockscale-opt %s --blockscale-raise-products=chip=sm_80 --canonicalize | FileCheck %s
// RUN: blockscale-opt %s --blockscale-raise-products=chip=sm_80 --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a to=canonicalize' | FileCheck %s --check-prefix=GPU
// RUN: blockscale-opt %s --blockscale-raise-products --canonicalize | FileCheck %s --check-prefix=OTHER
// RUN: blockscale-opt %s --blockscale-to-cpu=to=canonicalize | FileCheck %s --check-prefix=OTHER

// Products of plain operands are scaled_mm without scales on GPUs that have
// kernels of products, and stay what they are elsewhere.
// OTHER-NOT: blockscale.scaled_mm
// GPU-COUNT-13: blockscale.scaled_mm
// GPU-NOT: blockscale.scaled_mm

#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bnk = affine_map<(b, m, n, k) -> (b, n, k)>
#shared = affine_map<(b, m, n, k) -> (n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#identity = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xbf16>, %{{.+}}: tensor<48x40xf32>
// CHECK-NEXT: %[[Y:.+]] = blockscale.scaled_mm %[[X]], %[[W]] scales(none, none) block [1, 16] : tensor<48x64xbf16>, tensor<40x64xbf16> -> tensor<48x40xf32>
// CHECK-NEXT: return %[[Y]]
func.func @rows(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// B has rows of N, as linalg.matmul has it, which kernels read as they are.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:.+]]: tensor<?x64xf16>, %[[W:.+]]: tensor<64x40xf16>
// CHECK-NOT: linalg.transpose
// CHECK: blockscale.scaled_mm %[[X]], %[[W]] mn_major_b scales(none, none) block [1, 16] : tensor<?x64xf16>, tensor<64x40xf16> -> tensor<?x40xf32>
func.func @columns(%x: tensor<?x64xf16>, %w: tensor<64x40xf16>, %e: tensor<?x40xf32>) -> tensor<?x40xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x40xf32>) -> tensor<?x40xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x64xf16>, tensor<64x40xf16>) outs(%f : tensor<?x40xf32>) -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// CHECK-LABEL: func.func @transposed_a
// CHECK-NOT: linalg.transpose
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} mn_major_a scales(none, none)
func.func @transposed_a(%x: tensor<64x48xbf16>, %w: tensor<40x64xbf16>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#km, #nk, #mn] ins(%x, %w : tensor<64x48xbf16>, tensor<40x64xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Copies need a multiple of some elements in a row: one whose length is not
// known is transposed.
// CHECK-LABEL: func.func @dynamic_rows
// CHECK: %[[T:.+]] = linalg.transpose
// CHECK: blockscale.scaled_mm %{{.+}}, %[[T]] scales(none, none)
func.func @dynamic_rows(%x: tensor<48x64xbf16>, %w: tensor<64x?xbf16>, %e: tensor<48x?xf32>) -> tensor<48x?xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x?xf32>) -> tensor<48x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<48x64xbf16>, tensor<64x?xbf16>) outs(%f : tensor<48x?xf32>) -> tensor<48x?xf32>
  return %y : tensor<48x?xf32>
}

// Zeros behind a ragged K are rows of an MN-major operand.
// CHECK-LABEL: func.func @ragged_rows
// CHECK: %[[A:.+]] = tensor.pad %{{.+}} low[0, 0] high[0, 10]
// CHECK: %[[B:.+]] = tensor.pad %{{.+}} low[0, 0] high[10, 0]
// CHECK: blockscale.scaled_mm %[[A]], %[[B]] mn_major_b scales(none, none) block [1, 16] : tensor<48x80xbf16>, tensor<80x40xbf16>
func.func @ragged_rows(%x: tensor<48x70xbf16>, %w: tensor<70x40xbf16>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul ins(%x, %w : tensor<48x70xbf16>, tensor<70x40xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, none) block [1, 16] : tensor<?x48x64xbf16>, tensor<?x40x64xbf16> -> tensor<?x48x40xf32>
func.func @batch(%x: tensor<?x48x64xbf16>, %w: tensor<?x40x64xbf16>, %e: tensor<?x48x40xf32>) -> tensor<?x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x48x40xf32>) -> tensor<?x48x40xf32>
  %y = linalg.batch_matmul indexing_maps = [#bmk, #bnk, #bmn] ins(%x, %w : tensor<?x48x64xbf16>, tensor<?x40x64xbf16>) outs(%f : tensor<?x48x40xf32>) -> tensor<?x48x40xf32>
  return %y : tensor<?x48x40xf32>
}

// One B for all of a batch: one product.
// CHECK-LABEL: func.func @shared
// CHECK: %[[F:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : tensor<2x48x64xbf16> into tensor<96x64xbf16>
// CHECK: blockscale.scaled_mm %[[F]], %{{.+}} scales(none, none) block [1, 16] : tensor<96x64xbf16>, tensor<40x64xbf16> -> tensor<96x40xf32>
func.func @shared(%x: tensor<2x48x64xbf16>, %w: tensor<40x64xbf16>, %e: tensor<2x48x40xf32>) -> tensor<2x48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x48x40xf32>) -> tensor<2x48x40xf32>
  %y = linalg.generic {indexing_maps = [#bmk, #shared, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x48x64xbf16>, tensor<40x64xbf16>) outs(%f : tensor<2x48x40xf32>) {
  ^bb0(%a: bf16, %b: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x48x40xf32>
  return %y : tensor<2x48x40xf32>
}

// A sum that is rounded next is a product of the narrower type.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, none) block [1, 16] : tensor<48x64xbf16>, tensor<40x64xbf16> -> tensor<48x40xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @rounded(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16>, %e: tensor<48x40xf32>, %o: tensor<48x40xbf16>) -> tensor<48x40xbf16> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  %z = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<48x40xf32>) outs(%o : tensor<48x40xbf16>) {
  ^bb0(%s: f32, %out: bf16):
    %0 = arith.truncf %s : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<48x40xbf16>
  return %z : tensor<48x40xbf16>
}

// A reshape may lie between.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, none) block [1, 16] : tensor<48x64xbf16>, tensor<40x64xbf16> -> tensor<48x40xbf16>
// CHECK-NEXT: %[[Z:.+]] = tensor.expand_shape %[[Y]] {{.*}} : tensor<48x40xbf16> into tensor<2x24x40xbf16>
// CHECK-NEXT: return %[[Z]]
func.func @reshaped(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16>, %e: tensor<48x40xf32>, %o: tensor<2x24x40xbf16>) -> tensor<2x24x40xbf16> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  %r = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 24, 40] : tensor<48x40xf32> into tensor<2x24x40xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<2x24x40xf32>) outs(%o : tensor<2x24x40xbf16>) {
  ^bb0(%s: f32, %out: bf16):
    %0 = arith.truncf %s : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<2x24x40xbf16>
  return %z : tensor<2x24x40xbf16>
}

// The sums have another use, so that the rounding stays.
// CHECK-LABEL: func.func @used_twice
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %{{.+}} -> tensor<48x40xf32>
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<48x40xf32>)
func.func @used_twice(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16>, %e: tensor<48x40xf32>, %o: tensor<48x40xbf16>) -> (tensor<48x40xf32>, tensor<48x40xbf16>) {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  %z = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<48x40xf32>) outs(%o : tensor<48x40xbf16>) {
  ^bb0(%s: f32, %out: bf16):
    %0 = arith.truncf %s : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<48x40xbf16>
  return %y, %z : tensor<48x40xf32>, tensor<48x40xbf16>
}

// Values that products do not compute are read as they are.
// REMARK: does not read codes (raise_c8): expected a recipe that multiplies the scale of a block by the global scale
// CHECK-LABEL: func.func @dequantized
// CHECK: %[[V:.+]] = blockscale.dequantize
// CHECK: blockscale.scaled_mm %{{.+}}, %[[V]] scales(none, none)
func.func @dequantized(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %s: tensor<40x4xf8E4M3FN>, %g: tensor<f32>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %v = blockscale.dequantize %w, %s block [1, 16] recipe modelopt global_scale(%g : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %v : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%f : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// K that is not in whole blocks gets zeros behind it.
// CHECK-LABEL: func.func @padded
// CHECK-SAME: %[[X:.+]]: tensor<48x40xbf16>
// CHECK: %[[P:.+]] = tensor.pad %[[X]] low[0, 0] high[0, 8]
// CHECK: tensor.yield %cst
// CHECK: : tensor<48x40xbf16> to tensor<48x48xbf16>
// CHECK: blockscale.scaled_mm %[[P]], %{{.+}} scales(none, none) block [1, 16] : tensor<48x48xbf16>, tensor<32x48xbf16> -> tensor<48x32xf32>
func.func @padded(%x: tensor<48x40xbf16>, %w: tensor<32x40xbf16>, %e: tensor<48x32xf32>) -> tensor<48x32xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x32xf32>) -> tensor<48x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x40xbf16>, tensor<32x40xbf16>) outs(%f : tensor<48x32xf32>) -> tensor<48x32xf32>
  return %y : tensor<48x32xf32>
}

// CHECK-LABEL: func.func @any_depth
// CHECK: affine.apply
// CHECK: tensor.pad %{{.+}} low[0, 0] high[0, %{{.+}}]
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, none) block [1, 16] : tensor<48x?xbf16>, tensor<32x?xbf16> -> tensor<48x32xf32>
func.func @any_depth(%x: tensor<48x?xbf16>, %w: tensor<32x?xbf16>, %e: tensor<48x32xf32>) -> tensor<48x32xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x32xf32>) -> tensor<48x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x?xbf16>, tensor<32x?xbf16>) outs(%f : tensor<48x32xf32>) -> tensor<48x32xf32>
  return %y : tensor<48x32xf32>
}

// What stays plain says why.
// REMARK: is not computed on tensor cores (raise_c7): expected two operands of bf16 or two of f16, but got f32 and f32
// REMARK: is not computed on tensor cores (raise_c7): expected two operands of bf16 or two of f16, but got bf16 and f16
// REMARK: is not computed on tensor cores (raise_c7): expected a K of 16 or more, but got 8
// REMARK: is not computed on tensor cores (raise_c1): expected sums of f32, but got bf16
// CHECK-LABEL: func.func @kept
// CHECK-NOT: blockscale.scaled_mm
func.func @kept(%f32: tensor<48x64xf32>, %bf16: tensor<48x64xbf16>, %f16: tensor<48x64xf16>, %short: tensor<48x8xbf16>, %e: tensor<48x48xf32>, %n: tensor<48x48xbf16>)
    -> (tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x48xbf16>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x48xf32>) -> tensor<48x48xf32>
  %h = linalg.fill ins(%none : bf16) outs(%n : tensor<48x48xbf16>) -> tensor<48x48xbf16>
  %0 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%f32, %f32 : tensor<48x64xf32>, tensor<48x64xf32>) outs(%f : tensor<48x48xf32>) -> tensor<48x48xf32>
  %1 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%bf16, %f16 : tensor<48x64xbf16>, tensor<48x64xf16>) outs(%f : tensor<48x48xf32>) -> tensor<48x48xf32>
  %2 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%short, %short : tensor<48x8xbf16>, tensor<48x8xbf16>) outs(%f : tensor<48x48xf32>) -> tensor<48x48xf32>
  %3 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%bf16, %bf16 : tensor<48x64xbf16>, tensor<48x64xbf16>) outs(%h : tensor<48x48xbf16>) -> tensor<48x48xbf16>
  return %0, %1, %2, %3 : tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x48xf32>, tensor<48x48xbf16>
}
