// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' -split-input-file | FileCheck %s --check-prefix=APART

// Rows and columns of one x are a kernel that has x once, where the first op was.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x128xbf16>, %[[G:[a-z0-9]+]]: f32
// CHECK: %[[M:.+]] = tensor.dim %[[X]], %c0
// CHECK: %[[R:.+]]:4 = blockscale.kernel ins(%[[X]], %[[G]] : tensor<?x128xbf16>, f32) outs(
// CHECK-NEXT: ^bb0(%[[LX:.+]]: tensor<?x128xbf16>, %[[LG:.+]]: f32, %{{.+}}: tensor<?x128xf4E2M1FN>, %{{.+}}: tensor<?x8xf8E4M3FN>, %{{.+}}: tensor<128x?xf4E2M1FN>, %{{.+}}: tensor<128x?xf8E4M3FN>):
// CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[LX]] block [1, 16] global_scale(%[[LG]] : f32)
// CHECK-NEXT: %[[P:.+]], %[[T:.+]] = blockscale.quantize %[[LX]] block [16, 1] transposed
// CHECK-NEXT: blockscale.yield %[[Q]], %[[S]], %[[P]], %[[T]]
// CHECK-NOT: blockscale.kernel
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3
// APART-LABEL: func.func @rows_and_columns
// APART-COUNT-2: blockscale.kernel
func.func @rows_and_columns(%x: tensor<?x128xbf16>, %g: f32) -> (tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>, tensor<128x?xf4E2M1FN>, tensor<128x?xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : f32) : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 1] transposed : tensor<?x128xbf16> -> tensor<128x?xf4E2M1FN>, tensor<128x?xf8E4M3FN>
  return %q, %s, %p, %t : tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN>, tensor<128x?xf4E2M1FN>, tensor<128x?xf8E4M3FN>
}

// -----

// Where the second op needs what comes after the first, the kernel is where the second
// was, if nothing uses the first in between.
// CHECK-LABEL: func.func @at_the_last
// CHECK: %[[A:.+]] = tensor.extract
// CHECK: blockscale.kernel ins(%{{.+}}, %[[A]] : tensor<64x64xbf16>, f32)
// CHECK-NOT: blockscale.kernel
func.func @at_the_last(%x: tensor<64x64xbf16>, %a: tensor<f32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %g = tensor.extract %a[] : tensor<f32>
  %p, %t = blockscale.quantize %x block [16, 1] transposed global_amax(%g : f32) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %p : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>
}

// -----

// No place for both.
// CHECK-LABEL: func.func @no_place
// CHECK-COUNT-2: blockscale.kernel
func.func @no_place(%x: tensor<64x64xbf16>) -> tensor<64x64xf4E2M1FN> {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xbf16>
  %c0 = arith.constant 0 : index
  %e = tensor.extract %y[%c0, %c0] : tensor<64x64xbf16>
  %g = arith.extf %e : bf16 to f32
  // expected-remark @below {{reads x in a kernel of its own: expected its operands to come before the first quantization of x, or the results of the others to be used after it}}
  %p, %t = blockscale.quantize %x block [16, 1] transposed global_amax(%g : f32) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %p : tensor<64x64xf4E2M1FN>
}

// -----

// Other tensors, and other blocks of the function: no siblings.
// CHECK-LABEL: func.func @not_siblings
// CHECK-COUNT-3: blockscale.kernel
func.func @not_siblings(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>, %c: i1) -> (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %p, %t = blockscale.quantize %y block [32, 1] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  %r = scf.if %c -> tensor<64x64xf8E4M3FN> {
    %i, %j = blockscale.quantize %x block [32, 1] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
    scf.yield %i : tensor<64x64xf8E4M3FN>
  } else {
    scf.yield %p : tensor<64x64xf8E4M3FN>
  }
  return %q, %r : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>
}

// -----

// The clauses. Siblings that meet them still share a kernel.
// CHECK-LABEL: func.func @one_read_c2
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize {{.+}} block [1, 16] recipe te :
// CHECK-NEXT: blockscale.quantize {{.+}} block [16, 16]
// CHECK-COUNT-2: blockscale.kernel
func.func @one_read_c2(%x: tensor<64x64xbf16>, %b: tensor<64x4xf32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-remark @below {{reads x in a kernel of its own (one_read_c2): expected a recipe without 4over6, but got te_4over6_mae}}
  %0, %1 = blockscale.quantize %x block [1, 16] recipe te_4over6_mae : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-remark @below {{reads x in a kernel of its own (one_read_c2): expected computed block amaxes, but got block_amax}}
  %2, %3 = blockscale.quantize %x block [1, 16] block_amax(%b : tensor<64x4xf32>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 16] : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %q, %0, %2, %p : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @one_read_c1
// CHECK-COUNT-2: blockscale.kernel
func.func @one_read_c1(%x: tensor<64x64xf32>) -> (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) {
  // expected-remark @below {{(one_read_c1): expected x of bf16, but got tensor<64x64xf32>}}
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-remark @below {{(one_read_c1): expected x of bf16, but got tensor<64x64xf32>}}
  %p, %t = blockscale.quantize %x block [32, 1] : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  return %q, %p : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>
}

// -----

// Stochastic rounding and groups of rows in blocks of one row share the kernel, too.
// CHECK-LABEL: func.func @random_and_groups
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize {{.+}} rng(
// CHECK-NEXT: blockscale.quantize {{.+}} offsets(
// CHECK-NEXT: blockscale.quantize {{.+}} transposed
// CHECK-NOT: blockscale.kernel
func.func @random_and_groups(%x: tensor<64x64xbf16>, %r: tensor<2xi64>, %o: tensor<3xi32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] rng(%r : tensor<2xi64>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [1, 16] offsets(%o : tensor<3xi32>) group_dim 0 : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %i, %j = blockscale.quantize %x block [16, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %p, %i : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @one_read_c4
// CHECK-COUNT-2: blockscale.kernel
func.func @one_read_c4(%x: tensor<64x64xbf16>, %g: tensor<64xf32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>) {
  // expected-remark @below {{(one_read_c4): expected one global value for the tensor, each matrix or group, but got tensor<64xf32>}}
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<64xf32>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %p, %t = blockscale.quantize %x block [16, 1] transposed : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %p : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>
}
