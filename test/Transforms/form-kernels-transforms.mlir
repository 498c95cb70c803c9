// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a transforms=te}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_110a}))' -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_120a}))' -split-input-file | FileCheck %s --check-prefix=ANY

// Rows of x and columns of its transform are one kernel (C1), whatever layout the types
// of the scales say (C2); sizes of the transform, which
// no memory holds, are those of x.
// CHECK-LABEL: func.func @rows_and_transformed_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64x128xbf16>
// CHECK: %[[D:.+]] = tensor.dim %[[X]], %c0
// CHECK: %[[R:.+]]:4 = blockscale.kernel ins(%[[X]] : tensor<?x64x128xbf16>) outs(
// CHECK-NEXT: ^bb0(%[[LX:[a-z0-9]+]]: tensor<?x64x128xbf16>,
// CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[LX]] block [1, 16]
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard %[[LX]] dim 0 sign_mask 7
// CHECK-NEXT: %[[P:.+]], %[[T:.+]] = blockscale.quantize %[[H]] block [16, 1] transposed
// CHECK-NEXT: blockscale.yield %[[Q]], %[[S]], %[[P]], %[[T]]
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[R]]#0, %[[R]]#2, %[[D]]
func.func @rows_and_transformed_columns(%x: tensor<?x64x128xbf16>) -> (tensor<?x64x128xf4E2M1FN>, tensor<?x128x64xf4E2M1FN>, index) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x64x128xbf16> -> tensor<?x64x128xf4E2M1FN>, tensor<?x64x8xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 sign_mask 7 : tensor<?x64x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<?x64x128xbf16> -> tensor<?x128x64xf4E2M1FN>, tensor<?x128x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %h, %c0 : tensor<?x64x128xbf16>
  return %q, %p, %d : tensor<?x64x128xf4E2M1FN>, tensor<?x128x64xf4E2M1FN>, index
}

// -----

// Without a row, and before it; under two masks.
// CHECK-LABEL: func.func @transforms_only
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard {{.+}} sign_mask 0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK-NOT: blockscale.kernel
func.func @transforms_only(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>) {
  %h = blockscale.hadamard %x dim 0 sign_mask 0 : tensor<64x128xbf16>
  %q, %s = blockscale.quantize %h block [32, 1] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
  %i = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %p, %t = blockscale.quantize %i block [32, 1] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<2x128xf8E8M0FNU>
  return %q, %p : tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>
}

// -----

// rht_c1: groups along rows.
// CHECK-LABEL: func.func @rht_c1
// CHECK-COUNT-2: blockscale.kernel
func.func @rht_c1(%x: tensor<64x128xbf16>) -> tensor<64x128xf4E2M1FN> {
  // expected-remark @below {{has a kernel of its own (rht_c1): expected groups down the columns of x (dim 0), but got dim 1}}
  %h = blockscale.hadamard %x dim 1 : tensor<64x128xbf16>
  %q, %s = blockscale.quantize %h block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %q : tensor<64x128xf4E2M1FN>
}

// -----

// rht_c2 (C3): of the sizes that TransformerEngine's kernels take, (64, 144), whose columns
// are no multiple of 128, is none. It stays two kernels, of which nothing else changes (C6,
// C7). By default every chip transforms all sizes.
// CHECK-LABEL: func.func @rht_c2_columns
// CHECK-COUNT-2: blockscale.kernel
// ANY-LABEL: func.func @rht_c2_columns
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @rht_c2_columns(%x: tensor<64x144xbf16>) -> tensor<144x64xf4E2M1FN> {
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<64x144xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<64x144xbf16>
  %q, %s = blockscale.quantize %h block [16, 1] transposed : tensor<64x144xbf16> -> tensor<144x64xf4E2M1FN>, tensor<144x4xf8E4M3FN>
  return %q : tensor<144x64xf4E2M1FN>
}

// -----

// And (48, 128), by its rows.
// CHECK-LABEL: func.func @rht_c2_rows
// ANY-LABEL: func.func @rht_c2_rows
// CHECK-COUNT-2: blockscale.kernel
func.func @rht_c2_rows(%x: tensor<48x128xbf16>) -> tensor<128x48xf4E2M1FN> {
  // expected-remark @below {{(rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<48x128xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<48x128xbf16>
  %q, %s = blockscale.quantize %h block [16, 1] transposed : tensor<48x128xbf16> -> tensor<128x48xf4E2M1FN>, tensor<128x3xf8E4M3FN>
  return %q : tensor<128x48xf4E2M1FN>
}

// -----

// Rows are all dimensions but the last: 4 times 16 of them are enough.
// CHECK-LABEL: func.func @rht_c2_flattened
// CHECK: blockscale.kernel
// CHECK-NOT: blockscale.kernel
func.func @rht_c2_flattened(%x: tensor<4x16x128xbf16>) -> tensor<4x128x16xf4E2M1FN> {
  %h = blockscale.hadamard %x dim 0 : tensor<4x16x128xbf16>
  %q, %s = blockscale.quantize %h block [16, 1] transposed : tensor<4x16x128xbf16> -> tensor<4x128x16xf4E2M1FN>, tensor<4x128x1xf8E4M3FN>
  return %q : tensor<4x128x16xf4E2M1FN>
}

// -----

// Dynamic rows are known to be a multiple of 16 only.
// CHECK-LABEL: func.func @rht_c2_dynamic
// CHECK-COUNT-2: blockscale.kernel
// ANY-LABEL: func.func @rht_c2_dynamic
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @rht_c2_dynamic(%x: tensor<?x128xbf16>) -> tensor<128x?xf4E2M1FN> {
  // expected-remark @below {{(rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<?x128xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<?x128xbf16>
  %q, %s = blockscale.quantize %h block [16, 1] transposed : tensor<?x128xbf16> -> tensor<128x?xf4E2M1FN>, tensor<128x?xf8E4M3FN>
  return %q : tensor<128x?xf4E2M1FN>
}

// -----

// rht_c3: a result that memory must hold. The quantizations of x still share a kernel,
// and a launch with that of the result.
// CHECK-LABEL: func.func @rht_c3
// ANY-LABEL: func.func @rht_c3
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize {{.+}} block [1, 16]
// CHECK-NEXT: blockscale.quantize {{.+}} block [16, 16]
// CHECK-NEXT: blockscale.quantize {{.+}} block [16, 1] transposed
// CHECK-NOT: blockscale.kernel
func.func @rht_c3(%x: tensor<64x128xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xf4E2M1FN>, tensor<64x128xf4E2M1FN>, tensor<128x64xf4E2M1FN>) {
  // expected-remark @below {{has a kernel of its own (rht_c3): expected all uses to be quantizations or amaxes of its block that can share a kernel, but got 'func.return'}}
  %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  %i, %j = blockscale.quantize %x block [16, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<4x8xf8E4M3FN>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return %h, %q, %i, %p : tensor<64x128xbf16>, tensor<64x128xf4E2M1FN>, tensor<64x128xf4E2M1FN>, tensor<128x64xf4E2M1FN>
}

// -----

// A transform that nothing quantizes is no matter of these clauses.
// CHECK-LABEL: func.func @not_quantized
// CHECK: blockscale.kernel
func.func @not_quantized(%x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  %h = blockscale.hadamard %x dim 1 : tensor<16x16xbf16>
  return %h : tensor<16x16xbf16>
}
