// RUN: blockscale-opt %s --blockscale-raise-products --canonicalize | FileCheck %s
// RUN: blockscale-opt %s --blockscale-raise-products=chip=sm_100a --canonicalize 2>/dev/null | FileCheck %s --check-prefix=SM100
// RUN: blockscale-opt %s --blockscale-raise-products=chip=sm_90a --canonicalize 2>/dev/null | FileCheck %s --check-prefix=SM90
// RUN: blockscale-opt %s --blockscale-raise-products=chip=sm_80 --canonicalize 2>/dev/null | FileCheck %s --check-prefix=SM90
// RUN: blockscale-opt %s --blockscale-to-cpu=to=canonicalize | FileCheck %s --check-prefix=CPU
// RUN: blockscale-opt %s --blockscale-to-sm100=to=canonicalize 2>/dev/null | FileCheck %s --check-prefix=PIPELINE
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a to=canonicalize' 2>/dev/null | FileCheck %s --check-prefix=HOPPER

// Products of dequantized operands become scaled_mm.
// CPU-NOT: = linalg.matmul
// CPU-NOT: linalg.batch_matmul

#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bnk = affine_map<(b, m, n, k) -> (b, n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#identity = affine_map<(d0, d1) -> (d0, d1)>
#swizzled = #blockscale.layout<swizzle_128x4>

// Dequantized weights beside plain bf16; the dequantization is dead.
// CHECK-LABEL: func.func @weights
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>, %{{.+}}: tensor<48x40xf32>
// CHECK-NEXT: %[[Y:.+]] = blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 16] : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
// CHECK-NEXT: return %[[Y]]
// SM100-LABEL: func.func @weights
// SM100: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, %{{.+}}) block [1, 16]
// SM90-LABEL: func.func @weights
// SM90: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(none, %{{.+}}) block [1, 16]
// PIPELINE-LABEL: func.func @weights
// PIPELINE: blockscale.scaled_mm {{.*}} scales(none, %{{.+}}) {{.*}} tensor<40x4xf8E4M3FN, #swizzled>
func.func @weights(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// The same through a transposition.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf4E2M1FN>, %[[WS:.+]]: tensor<40x4xf8E4M3FN>, %{{.+}}: tensor<48x40xf32>
// CHECK-NEXT: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]])
func.func @transposed(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %t = tensor.empty() : tensor<64x40xbf16>
  %bt = linalg.transpose ins(%b : tensor<40x64xbf16>) outs(%t : tensor<64x40xbf16>) permutation = [1, 0]
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul ins(%x, %bt : tensor<48x64xbf16>, tensor<64x40xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Dequantized A of MXFP8. The plain B has rows of N, so it is transposed.
// CHECK-LABEL: func.func @first
// CHECK-SAME: %[[Q:.+]]: tensor<48x64xf8E4M3FN>, %[[S:.+]]: tensor<48x2xf8E8M0FNU>, %[[X:.+]]: tensor<64x40xbf16>, %{{.+}}: tensor<48x40xf32>
// CHECK-NEXT: %[[E:.+]] = tensor.empty() : tensor<40x64xbf16>
// CHECK-NEXT: %[[T:.+]] = linalg.transpose ins(%[[X]] : tensor<64x40xbf16>) outs(%[[E]] : tensor<40x64xbf16>) permutation = [1, 0]
// CHECK-NEXT: blockscale.scaled_mm %[[Q]], %[[T]] scales(%[[S]], none) block [1, 32]
func.func @first(%q: tensor<48x64xf8E4M3FN>, %s: tensor<48x2xf8E8M0FNU>, %x: tensor<64x40xbf16>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %q, %s block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul ins(%a, %x : tensor<48x64xbf16>, tensor<64x40xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A plain A of columns of K, and dynamic sizes, of which the transposition needs two.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:.+]]: tensor<?x?xbf16>, %[[W:.+]]: tensor<?x?xf4E2M1FN>, %[[WS:.+]]: tensor<?x?xf8E4M3FN, #swizzled>
// CHECK-DAG: %[[K:.+]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[M:.+]] = tensor.dim %[[X]], %c1
// CHECK: %[[E:.+]] = tensor.empty(%[[M]], %[[K]]) : tensor<?x?xbf16>
// CHECK: %[[T:.+]] = linalg.transpose ins(%[[X]] : tensor<?x?xbf16>) outs(%[[E]] : tensor<?x?xbf16>)
// CHECK: blockscale.scaled_mm %[[T]], %[[W]] scales(none, %[[WS]]) block [1, 16] {{.*}} -> tensor<?x?xf32>
func.func @dynamic(%x: tensor<?x?xbf16>, %w: tensor<?x?xf4E2M1FN>, %ws: tensor<?x?xf8E4M3FN, #swizzled>, %e: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN, #swizzled> -> tensor<?x?xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul indexing_maps = [#km, #nk, #mn] ins(%x, %b : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%zeros : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// A recipe with tails: the K of the other operand shows that there are none.
// CHECK-LABEL: func.func @known_k
// CHECK: blockscale.scaled_mm {{.*}} tensor<48x64xbf16>, tensor<40x?xf4E2M1FN>
func.func @known_k(%x: tensor<48x64xbf16>, %w: tensor<40x?xf4E2M1FN>, %ws: tensor<40x?xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] recipe te : tensor<40x?xf4E2M1FN>, tensor<40x?xf8E4M3FN> -> tensor<40x?xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x?xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Batches, with and without a transposition of each matrix.
// CHECK-LABEL: func.func @batches
// CHECK-SAME: %[[X:.+]]: tensor<3x48x64xbf16>, %[[W:.+]]: tensor<3x40x64xf6E2M3FN>, %[[WS:.+]]: tensor<3x40x2xf8E8M0FNU>
// CHECK: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 32]
// CHECK: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]]) block [1, 32]
func.func @batches(%x: tensor<3x48x64xbf16>, %w: tensor<3x40x64xf6E2M3FN>, %ws: tensor<3x40x2xf8E8M0FNU>, %e: tensor<3x48x40xf32>, %t: tensor<3x64x40xbf16>) -> (tensor<3x48x40xf32>, tensor<3x48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 32] : tensor<3x40x64xf6E2M3FN>, tensor<3x40x2xf8E8M0FNU> -> tensor<3x40x64xbf16>
  %bt = linalg.transpose ins(%b : tensor<3x40x64xbf16>) outs(%t : tensor<3x64x40xbf16>) permutation = [0, 2, 1]
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<3x48x40xf32>) -> tensor<3x48x40xf32>
  %y = linalg.batch_matmul indexing_maps = [#bmk, #bnk, #bmn] ins(%x, %b : tensor<3x48x64xbf16>, tensor<3x40x64xbf16>) outs(%zeros : tensor<3x48x40xf32>) -> tensor<3x48x40xf32>
  %z = linalg.batch_matmul ins(%x, %bt : tensor<3x48x64xbf16>, tensor<3x64x40xbf16>) outs(%zeros : tensor<3x48x40xf32>) -> tensor<3x48x40xf32>
  return %y, %z : tensor<3x48x40xf32>, tensor<3x48x40xf32>
}

// Two operands in NVFP4, dequantized to any types. Both have scales, on SM100,
// where the scales are swizzled, and on sm_90a, where the pipeline decodes one of them.
// CHECK-LABEL: func.func @both
// CHECK-SAME: %[[A:.+]]: tensor<48x64xf4E2M1FN>, %[[SA:.+]]: tensor<48x4xf8E4M3FN>, %[[B:.+]]: tensor<40x64xf4E2M1FN>, %[[SB:[^:]+]]: tensor<40x4xf8E4M3FN>
// CHECK-NEXT: blockscale.scaled_mm %[[A]], %[[B]] scales(%[[SA]], %[[SB]]) block [1, 16] : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
// SM90-LABEL: func.func @both
// SM90: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, %{{.+}}) block [1, 16]
// SM90-NOT: linalg.matmul
// SM90: return
// HOPPER-LABEL: func.func @both
// HOPPER: %[[X:.+]] = blockscale.dequantize %{{.+}} -> tensor<48x64xbf16>
// HOPPER: blockscale.scaled_mm %[[X]], %{{.+}} scales(none, %{{.+}}) block [1, 16]
// SM100-LABEL: func.func @both
// SM100: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, %{{.+}}) block [1, 16]
// SM100-NOT: linalg.matmul
// SM100: return
// PIPELINE-LABEL: func.func @both
// PIPELINE: blockscale.scaled_mm {{.*}} tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN, #swizzled>
func.func @both(%qa: tensor<48x64xf4E2M1FN>, %sa: tensor<48x4xf8E4M3FN>, %qb: tensor<40x64xf4E2M1FN>, %sb: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %qa, %sa block [1, 16] recipe te : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN> -> tensor<48x64xf32>
  %b = blockscale.dequantize %qb, %sb block [1, 16] recipe modelopt : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xf32>, tensor<40x64xf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Two operands in MX: scales of one are read, and the other one is plain bf16.
// CHECK-LABEL: func.func @both_mx
// CHECK-SAME: %[[A:.+]]: tensor<48x64xf8E5M2>, %[[SA:.+]]: tensor<48x2xf8E8M0FNU>, %[[B:.+]]: tensor<40x64xi8>, %[[SB:[^:]+]]: tensor<40x2xf8E8M0FNU>
// CHECK-NEXT: %[[X:.+]] = blockscale.dequantize %[[A]], %[[SA]]
// CHECK-NEXT: blockscale.scaled_mm %[[X]], %[[B]] scales(none, %[[SB]]) block [1, 32]
func.func @both_mx(%qa: tensor<48x64xf8E5M2>, %sa: tensor<48x2xf8E8M0FNU>, %qb: tensor<40x64xi8>, %sb: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = blockscale.dequantize %qa, %sa block [1, 32] : tensor<48x64xf8E5M2>, tensor<48x2xf8E8M0FNU> -> tensor<48x64xbf16>
  %b = blockscale.dequantize %qb, %sb block [1, 32] : tensor<40x64xi8>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// f16 beside NVFP4. A global scale of 1.0 is none.
// CHECK-LABEL: func.func @f16
// CHECK-NEXT: blockscale.scaled_mm {{.*}} block [1, 16] : tensor<48x64xf16>
func.func @f16(%x: tensor<48x64xf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<f32>
  %b = blockscale.dequantize %w, %ws block [1, 16] global_scale(%one : tensor<f32>) : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xf16>, tensor<40x64xf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Products in f32 of extended operands, by either op. What is extended is plain.
// CHECK-LABEL: func.func @extended
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xf8E5M2>, %[[WS:.+]]: tensor<40x2xf8E8M0FNU>
// CHECK-NEXT: blockscale.scaled_mm %[[X]], %[[W]] scales(none, %[[WS]])
func.func @extended(%x: tensor<48x64xbf16>, %w: tensor<40x64xf8E5M2>, %ws: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>, %xe: tensor<48x64xf32>) -> tensor<48x40xf32> {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 32] : tensor<40x64xf8E5M2>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xbf16>
  %bw = arith.extf %b : tensor<40x64xbf16> to tensor<40x64xf32>
  %xw = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<48x64xbf16>) outs(%xe : tensor<48x64xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<48x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xw, %bw : tensor<48x64xf32>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// MX dequantized to f32, of formats all of whose values bf16 holds.
// CHECK-LABEL: func.func @f32_of_mx
// CHECK: blockscale.scaled_mm {{.*}} tensor<40x64xf4E2M1FN>, tensor<40x2xf8E8M0FNU>
// CHECK: blockscale.scaled_mm {{.*}} tensor<40x64xf6E3M2FN>, tensor<40x2xf8E8M0FNU>
// CHECK: blockscale.scaled_mm {{.*}} tensor<40x64xi8>, tensor<40x2xf8E8M0FNU>
func.func @f32_of_mx(%x: tensor<48x64xbf16>, %q: tensor<40x64xf4E2M1FN>, %r: tensor<40x64xf6E3M2FN>, %i: tensor<40x64xi8>, %s: tensor<40x2xf8E8M0FNU>, %e: tensor<48x40xf32>) -> (tensor<48x40xf32>, tensor<48x40xf32>, tensor<48x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %0 = blockscale.dequantize %q, %s block [1, 32] : tensor<40x64xf4E2M1FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %1 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %0 : tensor<48x64xbf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %2 = blockscale.dequantize %r, %s block [1, 32] : tensor<40x64xf6E3M2FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %3 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %2 : tensor<48x64xbf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  %4 = blockscale.dequantize %i, %s block [1, 32] : tensor<40x64xi8>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf32>
  %5 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %4 : tensor<48x64xbf16>, tensor<40x64xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %1, %3, %5 : tensor<48x40xf32>, tensor<48x40xf32>, tensor<48x40xf32>
}

// Other uses of the dequantized values keep them.
// CHECK-LABEL: func.func @uses
// CHECK: %[[B:.+]] = blockscale.dequantize
// CHECK: %[[Y:.+]] = blockscale.scaled_mm
// CHECK: return %[[Y]], %[[B]]
func.func @uses(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>, %e: tensor<48x40xf32>) -> (tensor<48x40xf32>, tensor<40x64xbf16>) {
  %zero = arith.constant 0.0 : f32
  %b = blockscale.dequantize %w, %ws block [1, 16] : tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<40x64xbf16>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %b : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y, %b : tensor<48x40xf32>, tensor<40x64xbf16>
}
