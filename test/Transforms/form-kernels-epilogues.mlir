// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a fuse=false}))' -split-input-file | FileCheck %s --check-prefix=APART

#id = affine_map<(i, j) -> (i, j)>

// Two products of one A, what is made of both and its quantization are one kernel. Sizes of
// what is computed are those of A.
// CHECK-LABEL: func.func @swiglu
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x64xf8E4M3FN>, %[[G:[a-z0-9]+]]: tensor<96x64xf8E4M3FN>, %[[U:[a-z0-9]+]]: tensor<96x64xf8E4M3FN>
// CHECK-DAG: tensor.dim %[[A]]
// CHECK: %[[K:.+]]:2 = blockscale.kernel ins(%[[A]], %[[G]], %{{.+}}, %{{.+}}, %[[U]] :
// CHECK: %[[PG:.+]] = blockscale.scaled_mm
// CHECK-NEXT: %[[PU:.+]] = blockscale.scaled_mm
// CHECK: %[[H:.+]] = linalg.generic {{.*}} ins(%[[PG]], %[[PU]] :
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[H]]
// CHECK-NEXT: blockscale.yield %[[Q]], %[[S]]
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[K]]#0, %[[K]]#1
// APART-LABEL: func.func @swiglu
// APART-COUNT-4: blockscale.kernel
func.func @swiglu(%a: tensor<?x64xf8E4M3FN>, %g: tensor<96x64xf8E4M3FN>, %u: tensor<96x64xf8E4M3FN>, %sa: tensor<?x2xf8E8M0FNU>, %sb: tensor<96x2xf8E8M0FNU>) -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %pg = blockscale.scaled_mm %a, %g scales(%sa, %sb) block [1, 32] : tensor<?x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<96x2xf8E8M0FNU> -> tensor<?x96xbf16>
  %pu = blockscale.scaled_mm %a, %u scales(%sa, %sb) block [1, 32] : tensor<?x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<96x2xf8E8M0FNU> -> tensor<?x96xbf16>
  %m = tensor.dim %pg, %c0 : tensor<?x96xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%pg, %pu : tensor<?x96xbf16>, tensor<?x96xbf16>) outs(%e : tensor<?x96xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<?x96xbf16>
  %q, %s = blockscale.quantize %h block [1, 32] : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Rows of any number of columns, known or not, are what one kernel computes.
// CHECK-LABEL: func.func @any_columns
// CHECK-COUNT-2: blockscale.kernel
// CHECK-NOT: blockscale.kernel
// APART-LABEL: func.func @any_columns
// APART-COUNT-4: blockscale.kernel
func.func @any_columns(%a: tensor<48x64xf8E4M3FN>, %s: tensor<48x2xf8E8M0FNU>, %b: tensor<?x64xf8E4M3FN>, %t: tensor<?x2xf8E8M0FNU>) -> (tensor<48x48xf4E2M1FN>, tensor<48x3xf8E4M3FN>, tensor<48x?xbf16>) {
  %c1 = arith.constant 1 : index
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<48x2xf8E8M0FNU> -> tensor<48x48xbf16>
  %q, %u = blockscale.quantize %y block [1, 16] : tensor<48x48xbf16> -> tensor<48x48xf4E2M1FN>, tensor<48x3xf8E4M3FN>
  %z = blockscale.scaled_mm %a, %b scales(%s, %t) block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<?x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<?x2xf8E8M0FNU> -> tensor<48x?xbf16>
  %n = tensor.dim %z, %c1 : tensor<48x?xbf16>
  %e = tensor.empty(%n) : tensor<48x?xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%z : tensor<48x?xbf16>) outs(%e : tensor<48x?xbf16>) {
  ^bb0(%x: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<48x?xbf16>
  return %q, %u, %h : tensor<48x48xf4E2M1FN>, tensor<48x3xf8E4M3FN>, tensor<48x?xbf16>
}

// -----

// A product that others need as well is in memory.
// CHECK-LABEL: func.func @epilogue_c1
// CHECK-COUNT-2: blockscale.kernel
func.func @epilogue_c1(%a: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU>) -> (tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %q, %t = blockscale.quantize %y block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %y, %q, %t : tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @epilogue_c2
// CHECK-COUNT-2: blockscale.kernel
func.func @epilogue_c2(%a: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU>) -> (tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>) {
  // expected-remark @below {{is not computed with what follows (epilogue_c2): expected a quantization of blocks of one row, by amaxes of the blocks, to nearest, with one global value or one for each group, but got blocks of several rows}}
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %q, %t = blockscale.quantize %y block [32, 1] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  return %q, %t : tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// Tiles of all rows have rows of several groups.
// CHECK-LABEL: func.func @epilogue_c3
// CHECK-COUNT-2: blockscale.kernel
func.func @epilogue_c3(%a: tensor<?x64xf8E4M3FN>, %b: tensor<2x96x64xf8E4M3FN>, %ends: tensor<2xi32>, %sa: tensor<?x2xf8E8M0FNU>, %sb: tensor<2x96x2xf8E8M0FNU>) -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>) {
  // expected-remark @below {{is not computed with what follows (epilogue_c3): expected scales that are linear, or in the layout of the product's groups of rows, but got tensor<?x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>}}
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32] : tensor<?x64xf8E4M3FN>, tensor<2x96x64xf8E4M3FN>, tensor<2xi32>, tensor<?x2xf8E8M0FNU>, tensor<2x96x2xf8E8M0FNU> -> tensor<?x96xbf16>
  %q, %t = blockscale.quantize %y block [1, 32] : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>
  return %q, %t : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, #swizzled>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Products of different operands A are apart; their sum is in no kernel with them.
// CHECK-LABEL: func.func @epilogue_c4
// CHECK-COUNT-3: blockscale.kernel
func.func @epilogue_c4(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU>, %e: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  // expected-remark @below {{is not computed with what follows (epilogue_c4): expected a second product of the same A, groups, types and forms of operands, but got another A}}
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  // expected-remark @below {{is not computed with what follows (epilogue_c4)}}
  %z = blockscale.scaled_mm %b, %a scales(%s, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<64x64xbf16>) {
  ^bb0(%x: bf16, %w: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %w : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<64x64xbf16>
  return %h : tensor<64x64xbf16>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Two products of one A whose elements a global scale multiplies decode it once: they share the
// scale. Where each has one of its own, they are apart, as are products in which it multiplies sums.
// CHECK-LABEL: func.func @one_scale_of_elements
// CHECK-COUNT-1: blockscale.kernel
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @one_scale_of_elements(%w: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %g: f32, %x: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %e: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = blockscale.scaled_mm %w, %x scales(%s, none) block [1, 16] global_scale_a(%g : f32) global_scaling in_elements : tensor<64x64xf4E2M1FN>, tensor<64x64xbf16>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %z = blockscale.scaled_mm %w, %v scales(%s, none) block [1, 16] global_scale_a(%g : f32) global_scaling in_elements : tensor<64x64xf4E2M1FN>, tensor<64x64xbf16>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %0 = arith.mulf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @epilogue_c4_elements
// CHECK-COUNT-3: blockscale.kernel
func.func @epilogue_c4_elements(%w: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %g: f32, %h: f32, %x: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %e: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-remark @below {{(epilogue_c4): expected a second product of the same A, groups, types and forms of operands, but got another A}}
  %y = blockscale.scaled_mm %w, %x scales(%s, none) block [1, 16] global_scale_a(%g : f32) global_scaling in_elements : tensor<64x64xf4E2M1FN>, tensor<64x64xbf16>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  // expected-remark @below {{is not computed with what follows (epilogue_c4)}}
  %z = blockscale.scaled_mm %w, %v scales(%s, none) block [1, 16] global_scale_a(%h : f32) global_scaling in_elements : tensor<64x64xf4E2M1FN>, tensor<64x64xbf16>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %0 = arith.mulf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @epilogue_c4_place_of_scales
// CHECK-COUNT-3: blockscale.kernel
func.func @epilogue_c4_place_of_scales(%w: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %g: f32, %x: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %e: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-remark @below {{(epilogue_c4): expected a second product of the same A, groups, types and forms of operands, but got another global_scaling}}
  %y = blockscale.scaled_mm %w, %x scales(%s, none) block [1, 16] global_scale_a(%g : f32) global_scaling in_elements : tensor<64x64xf4E2M1FN>, tensor<64x64xbf16>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  // expected-remark @below {{(epilogue_c4): expected a second product of the same A, groups, types and forms of operands, but got another global_scaling}}
  %z = blockscale.scaled_mm %w, %v scales(%s, none) block [1, 16] global_scale_a(%g : f32) : tensor<64x64xf4E2M1FN>, tensor<64x64xbf16>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %0 = arith.mulf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A kernel has one order of sums.
// CHECK-LABEL: func.func @epilogue_c4_order
// CHECK-COUNT-3: blockscale.kernel
func.func @epilogue_c4_order(%x: tensor<64x64xbf16>, %v: tensor<64x64xf4E2M1FN>, %w: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %e: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-remark @below {{(epilogue_c4): expected a second product of the same A, groups, types and forms of operands, but got another order}}
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order chain : tensor<64x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  // expected-remark @below {{(epilogue_c4): expected a second product of the same A, groups, types and forms of operands, but got another order}}
  %z = blockscale.scaled_mm %x, %v scales(none, %s) block [1, 16] : tensor<64x64xbf16>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %0 = arith.mulf %l, %r : f32
    linalg.yield %0 : f32
  } -> tensor<64x64xf32>
  return %t : tensor<64x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Results of two products of one A, of which an elementwise op makes something, are stored where
// others need them as well.
// CHECK-LABEL: func.func @kept
// CHECK: %[[K:.+]]:3 = blockscale.kernel
// CHECK: %[[PG:.+]] = blockscale.scaled_mm
// CHECK-NEXT: %[[PU:.+]] = blockscale.scaled_mm
// CHECK: %[[H:.+]] = linalg.generic {{.*}} ins(%[[PG]], %[[PU]] :
// CHECK: blockscale.yield %[[PG]], %[[PU]], %[[H]]
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[K]]#0, %[[K]]#1, %[[K]]#2
// APART-LABEL: func.func @kept
// APART-COUNT-3: blockscale.kernel
func.func @kept(%a: tensor<48x64xf8E4M3FN>, %g: tensor<96x64xf8E4M3FN>, %u: tensor<96x64xf8E4M3FN>, %sa: tensor<48x2xf8E8M0FNU>, %sb: tensor<96x2xf8E8M0FNU>, %e: tensor<48x96xbf16>) -> (tensor<48x96xbf16>, tensor<48x96xbf16>, tensor<48x96xbf16>) {
  %pg = blockscale.scaled_mm %a, %g scales(%sa, %sb) block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<96x2xf8E8M0FNU> -> tensor<48x96xbf16>
  %pu = blockscale.scaled_mm %a, %u scales(%sa, %sb) block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<96x2xf8E8M0FNU> -> tensor<48x96xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%pg, %pu : tensor<48x96xbf16>, tensor<48x96xbf16>) outs(%e : tensor<48x96xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<48x96xbf16>
  return %pg, %pu, %h : tensor<48x96xbf16>, tensor<48x96xbf16>, tensor<48x96xbf16>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A product of another A whose result others need is read from memory.
// CHECK-LABEL: func.func @kept_of_another
// CHECK: %[[Z:.+]] = blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.scaled_mm
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel ins({{.*}}%[[Z]]
// CHECK: blockscale.scaled_mm
// CHECK: linalg.generic
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @kept_of_another(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU>, %e: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %z = blockscale.scaled_mm %b, %a scales(%s, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 32] : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU> -> tensor<64x64xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %z : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%e : tensor<64x64xbf16>) {
  ^bb0(%x: bf16, %w: bf16, %o: bf16):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %w : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<64x64xbf16>
  return %h, %z : tensor<64x64xbf16>, tensor<64x64xbf16>
}
