// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a transforms=te}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file | FileCheck %s --check-prefix=ANY

// Members of a group are one kernel (C5): rows of each x, and columns of its transform
// (C4: 128 rows of each).
// CHECK-LABEL: func.func @rows_and_transformed_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<128x128xbf16>, %[[Y:[a-z0-9]+]]: tensor<256x128xbf16>, %[[G:[a-z0-9]+]]: f32
// CHECK: blockscale.kernel ins(%[[X]], %[[G]], %[[Y]] :
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<128x128xbf16>, %[[LG:[a-z0-9]+]]: f32, %[[LY:[a-z0-9]+]]: tensor<256x128xbf16>,
// CHECK-NEXT: blockscale.quantize %[[LX]] block [1, 16] global_scale(%[[LG]] : f32)
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard %[[LX]]
// CHECK-NEXT: blockscale.quantize %[[H]] block [16, 1] transposed
// CHECK-NEXT: blockscale.quantize %[[LY]] block [1, 16] global_scale(%[[LG]] : f32)
// CHECK-NEXT: %[[I:.+]] = blockscale.hadamard %[[LY]]
// CHECK-NEXT: blockscale.quantize %[[I]] block [16, 1] transposed
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @rows_and_transformed_columns(%x: tensor<128x128xbf16>, %y: tensor<256x128xbf16>, %g: f32) -> (tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>, tensor<256x128xf4E2M1FN>, tensor<128x256xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : f32) {blockscale.group = "rows"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed {blockscale.group = "columns"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  %r, %u = blockscale.quantize %y block [1, 16] global_scale(%g : f32) {blockscale.group = "rows"} : tensor<256x128xbf16> -> tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN>
  %i = blockscale.hadamard %y dim 0 : tensor<256x128xbf16>
  %o, %v = blockscale.quantize %i block [16, 1] transposed {blockscale.group = "columns"} : tensor<256x128xbf16> -> tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN>
  return %q, %p, %r, %o : tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>, tensor<256x128xf4E2M1FN>, tensor<128x256xf4E2M1FN>
}

// -----

// In two passes, all amaxes are one kernel, too.
// CHECK-LABEL: func.func @two_passes
// CHECK: %[[A:.+]]:2 = blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel ins(%{{.+}}, %[[A]]#0, %{{.+}}, %[[A]]#1 :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @two_passes(%x: tensor<?x128xbf16>, %y: tensor<?x128xbf16>) -> (tensor<?x128xf4E2M1FN>, tensor<?x128xf4E2M1FN>) {
  %a = blockscale.amax %x : tensor<?x128xbf16> -> tensor<f32>
  %b = blockscale.amax %y : tensor<?x128xbf16> -> tensor<f32>
  // expected-remark @below {{takes a second pass over x (one_pass_c1)}}
  %q, %s = blockscale.quantize %x block [1, 16] global_amax(%a : tensor<f32>) {blockscale.group = "g"} : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
  // expected-remark @below {{takes a second pass over x (one_pass_c1)}}
  %r, %u = blockscale.quantize %y block [1, 16] global_amax(%b : tensor<f32>) {blockscale.group = "g"} : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
  return %q, %r : tensor<?x128xf4E2M1FN>, tensor<?x128xf4E2M1FN>
}

// -----

// What is cheap and needed early moves there: sections of one tensor, after an amax and a
// quantization of each.
// CHECK-LABEL: func.func @sections
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xbf16>
// CHECK: %[[A:.+]] = tensor.extract_slice %[[X]][0, 0]
// CHECK: %[[N:.+]] = arith.addi
// CHECK: %[[B:.+]] = tensor.extract_slice %[[X]][%[[N]], 0]
// CHECK: blockscale.kernel ins(%[[A]], %[[B]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.amax
// CHECK: blockscale.kernel ins(%[[A]], %{{.+}}, %[[B]], %{{.+}} :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @sections(%x: tensor<?x128xbf16>, %n: index) -> (tensor<16x128xf4E2M1FN>, tensor<16x128xf4E2M1FN>) {
  %s0 = tensor.extract_slice %x[0, 0][16, 128][1, 1] : tensor<?x128xbf16> to tensor<16x128xbf16>
  %a = blockscale.amax %s0 : tensor<16x128xbf16> -> tensor<f32>
  // expected-remark @below {{takes a second pass over x (one_pass_c1)}}
  %q, %s = blockscale.quantize %s0 block [1, 16] global_amax(%a : tensor<f32>) {blockscale.group = "g"} : tensor<16x128xbf16> -> tensor<16x128xf4E2M1FN>, tensor<16x8xf8E4M3FN>
  %c16 = arith.constant 16 : index
  %m = arith.addi %n, %c16 : index
  %s1 = tensor.extract_slice %x[%m, 0][16, 128][1, 1] : tensor<?x128xbf16> to tensor<16x128xbf16>
  %b = blockscale.amax %s1 : tensor<16x128xbf16> -> tensor<f32>
  // expected-remark @below {{takes a second pass over x (one_pass_c1)}}
  %r, %t = blockscale.quantize %s1 block [1, 16] global_amax(%b : tensor<f32>) {blockscale.group = "g"} : tensor<16x128xbf16> -> tensor<16x128xf4E2M1FN>, tensor<16x8xf8E4M3FN>
  return %q, %r : tensor<16x128xf4E2M1FN>, tensor<16x128xf4E2M1FN>
}

// -----

// What is not, or is made of results, does not move.
// CHECK-LABEL: func.func @sections_of_results
// CHECK-COUNT-2: blockscale.kernel
// CHECK-NOT: blockscale.kernel
func.func @sections_of_results(%x: tensor<64x128xbf16>) -> (tensor<64x128xf4E2M1FN>, tensor<64x128xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] {blockscale.group = "g"} : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %d = blockscale.dequantize %q, %s block [1, 16] : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN> -> tensor<64x128xbf16>
  %y = tensor.extract_slice %d[0, 0][64, 128][1, 1] : tensor<64x128xbf16> to tensor<64x128xbf16>
  // expected-remark @below {{has a kernel apart from its group: expected the operands of members to come before the first one, or their results to be used after the last}}
  %r, %t = blockscale.quantize %y block [1, 16] {blockscale.group = "g"} : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %q, %r : tensor<64x128xf4E2M1FN>, tensor<64x128xf4E2M1FN>
}

// -----

// Without the attribute there is no group.
// CHECK-LABEL: func.func @no_group
// CHECK-COUNT-2: blockscale.kernel
func.func @no_group(%x: tensor<16x128xbf16>, %y: tensor<16x128xbf16>) -> (tensor<16x128xf8E4M3FN>, tensor<16x128xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<16x128xbf16> -> tensor<16x128xf8E4M3FN>, tensor<16x4xf8E8M0FNU>
  %r, %u = blockscale.quantize %y block [1, 32] : tensor<16x128xbf16> -> tensor<16x128xf8E4M3FN>, tensor<16x4xf8E8M0FNU>
  return %q, %r : tensor<16x128xf8E4M3FN>, tensor<16x128xf8E4M3FN>
}

// -----

// rht_c4 and rht_c2 (C4): where TransformerEngine's sizes are asked for and one member has
// 64 rows, no member's transform is in registers; the quantizations of all are still one
// kernel. By default all transforms are in it.
// ANY-LABEL: func.func @rht_c4
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
// CHECK-LABEL: func.func @rht_c4
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @rht_c4(%x: tensor<128x128xbf16>, %y: tensor<64x128xbf16>) -> (tensor<128x128xf4E2M1FN>, tensor<128x64xf4E2M1FN>) {
  // expected-remark @below {{has a kernel of its own (rht_c4): expected all members of group "g" to have theirs in registers, but number 1 has not}}
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed {blockscale.group = "g"} : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 128 and 128, but got tensor<64x128xbf16>}}
  %i = blockscale.hadamard %y dim 0 : tensor<64x128xbf16>
  %o, %v = blockscale.quantize %i block [16, 1] transposed {blockscale.group = "g"} : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return %p, %o : tensor<128x128xf4E2M1FN>, tensor<128x64xf4E2M1FN>
}

// -----

// Members that do not fit the first one have kernels of their own.
// ANY-LABEL: func.func @group_clauses
// CHECK-LABEL: func.func @group_clauses
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK-COUNT-3: blockscale.kernel
// CHECK-NOT: blockscale.kernel
func.func @group_clauses(%x: tensor<16x128xbf16>, %y: tensor<16x128xbf16>, %z: tensor<16x64xbf16>, %g: f32) -> (tensor<16x128xf4E2M1FN>, tensor<16x128xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<16x128xf4E2M1FN>, tensor<f32>) {
  %0, %1 = blockscale.quantize %x block [1, 16] {blockscale.group = "g"} : tensor<16x128xbf16> -> tensor<16x128xf4E2M1FN>, tensor<16x8xf8E4M3FN>
  %2, %3 = blockscale.quantize %y block [1, 16] {blockscale.group = "g"} : tensor<16x128xbf16> -> tensor<16x128xf4E2M1FN>, tensor<16x8xf8E4M3FN>
  // expected-remark @below {{has a kernel apart from its group (group_c1): expected x of 128 columns, but got tensor<16x64xbf16>}}
  %4, %5 = blockscale.quantize %z block [1, 16] {blockscale.group = "g"} : tensor<16x64xbf16> -> tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN>
  %v = tensor.empty() : tensor<16x128xbf16>
  // expected-remark @below {{has a kernel apart from its group (group_c2): expected blockscale.quantize, but got blockscale.amax, blockscale.quantize}}
  // expected-remark @below {{takes one pass over x}}
  %a = blockscale.amax %v : tensor<16x128xbf16> -> tensor<f32>
  %6, %7 = blockscale.quantize %v block [1, 16] {blockscale.group = "g"} : tensor<16x128xbf16> -> tensor<16x128xf4E2M1FN>, tensor<16x8xf8E4M3FN>
  %w = tensor.empty() : tensor<16x128xbf16>
  // expected-remark @below {{has a kernel apart from its group (group_c3): expected {block = array<i64: 1, 16>, blockscale.group = "g", operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0>}, but got {block = array<i64: 1, 16>, blockscale.group = "g", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}}}
  %8, %9 = blockscale.quantize %w block [1, 16] global_scale(%g : f32) {blockscale.group = "g"} : tensor<16x128xbf16> -> tensor<16x128xf4E2M1FN>, tensor<16x8xf8E4M3FN>
  return %0, %2, %4, %6, %a : tensor<16x128xf4E2M1FN>, tensor<16x128xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<16x128xf4E2M1FN>, tensor<f32>
}

// -----

// x of rank 3 has its own kernel, which all its matrices share.
// CHECK-LABEL: func.func @group_c1_rank
// CHECK-COUNT-2: blockscale.kernel
func.func @group_c1_rank(%x: tensor<2x16x128xbf16>, %y: tensor<2x16x128xbf16>) -> (tensor<2x16x128xf8E4M3FN>, tensor<2x16x128xf8E4M3FN>) {
  // expected-remark @below {{(group_c1): expected x of rank 2 with a static number of columns, but got tensor<2x16x128xbf16>}}
  %q, %s = blockscale.quantize %x block [1, 32] {blockscale.group = "g"} : tensor<2x16x128xbf16> -> tensor<2x16x128xf8E4M3FN>, tensor<2x16x4xf8E8M0FNU>
  // expected-remark @below {{(group_c1): expected x of rank 2 with a static number of columns, but got tensor<2x16x128xbf16>}}
  %r, %u = blockscale.quantize %y block [1, 32] {blockscale.group = "g"} : tensor<2x16x128xbf16> -> tensor<2x16x128xf8E4M3FN>, tensor<2x16x4xf8E8M0FNU>
  return %q, %r : tensor<2x16x128xf8E4M3FN>, tensor<2x16x128xf8E4M3FN>
}

// -----

// Kernels of 16 members at most (C14).
// CHECK-LABEL: func.func @many
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-COUNT-16: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @many(%x0: tensor<1x32xbf16>, %x1: tensor<1x32xbf16>, %x2: tensor<1x32xbf16>, %x3: tensor<1x32xbf16>, %x4: tensor<1x32xbf16>, %x5: tensor<1x32xbf16>, %x6: tensor<1x32xbf16>, %x7: tensor<1x32xbf16>, %x8: tensor<1x32xbf16>, %x9: tensor<1x32xbf16>, %x10: tensor<1x32xbf16>, %x11: tensor<1x32xbf16>, %x12: tensor<1x32xbf16>, %x13: tensor<1x32xbf16>, %x14: tensor<1x32xbf16>, %x15: tensor<1x32xbf16>, %x16: tensor<1x32xbf16>) -> (tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>) {
  %q0, %s0 = blockscale.quantize %x0 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q1, %s1 = blockscale.quantize %x1 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q2, %s2 = blockscale.quantize %x2 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q3, %s3 = blockscale.quantize %x3 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q4, %s4 = blockscale.quantize %x4 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q5, %s5 = blockscale.quantize %x5 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q6, %s6 = blockscale.quantize %x6 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q7, %s7 = blockscale.quantize %x7 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q8, %s8 = blockscale.quantize %x8 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q9, %s9 = blockscale.quantize %x9 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q10, %s10 = blockscale.quantize %x10 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q11, %s11 = blockscale.quantize %x11 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q12, %s12 = blockscale.quantize %x12 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q13, %s13 = blockscale.quantize %x13 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q14, %s14 = blockscale.quantize %x14 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q15, %s15 = blockscale.quantize %x15 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  %q16, %s16 = blockscale.quantize %x16 block [1, 32] {blockscale.group = "g"} : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  return %q0, %q1, %q2, %q3, %q4, %q5, %q6, %q7, %q8, %q9, %q10, %q11, %q12, %q13, %q14, %q15, %q16 : tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>, tensor<1x32xf8E4M3FN>
}
