// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file | FileCheck %s --check-prefix=SM80

// A transform that is quantized in groups of rows is computed in the same kernel (C4). The
// groups of 16 of the transform are those of x, wherever its groups of rows end, so linear
// scales may have other results of x beside them.
// CHECK-LABEL: func.func @linear
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize {{.+}} block [1, 16] :
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard
// CHECK-NEXT: blockscale.quantize %[[H]] block [16, 1] transposed global_scale({{.+}} : tensor<3xf32>) offsets(
// CHECK-NOT: blockscale.kernel
func.func @linear(%x: tensor<128x128xbf16>, %g: tensor<3xf32>, %o: tensor<3xi32>) -> (tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed global_scale(%g : tensor<3xf32>) offsets(%o : tensor<3xi32>) group_dim 0 : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  return %q, %p : tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>
}

// -----

// one_read_c5: scales in tiles of each group are the kernel's only result, but the
// transform stays in it.
// CHECK-LABEL: func.func @one_read_c5
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize {{.+}} block [1, 16] :
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard
// CHECK-NEXT: blockscale.quantize %[[H]] block [16, 1] transposed offsets(
// CHECK-NOT: blockscale.kernel
func.func @one_read_c5(%x: tensor<128x128xbf16>, %o: tensor<3xi32>) -> (tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN>
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed offsets(%o : tensor<3xi32>) group_dim 0 : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>
  return %q, %p : tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>
}

// -----

// With two users such a layout keeps the transform in memory; without a transform its
// quantization keeps its own kernel.
// CHECK-LABEL: func.func @one_read_c5_shared
// CHECK-COUNT-4: blockscale.kernel
func.func @one_read_c5_shared(%x: tensor<128x128xbf16>, %o: tensor<3xi32>) -> (tensor<f32>, tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>) {
  // expected-remark @below {{has a kernel of its own (rht_c3): expected all uses to be quantizations or amaxes of its block that can share a kernel, but got 'blockscale.quantize'}}
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %a = blockscale.amax %h : tensor<128x128xbf16> -> tensor<f32>
  // expected-remark @below {{reads x in a kernel of its own (one_read_c5): expected scales in no grouped layout, but got tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>}}
  %p, %t = blockscale.quantize %h block [16, 1] transposed offsets(%o : tensor<3xi32>) group_dim 0 : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>
  %q, %s = blockscale.quantize %x block [16, 1] transposed offsets(%o : tensor<3xi32>) group_dim 0 : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>
  return %a, %p, %q : tensor<f32>, tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>
}

// -----

// rht_c2 (C4): 64 rows are enough without groups, not with them. Other chips take them.
// CHECK-LABEL: func.func @rht_c2_grouped
// CHECK-COUNT-2: blockscale.kernel
// SM80-LABEL: func.func @rht_c2_grouped
// SM80: blockscale.kernel
// SM80-NOT: blockscale.kernel
func.func @rht_c2_grouped(%x: tensor<192x128xbf16>, %o: tensor<3xi32>) -> tensor<128x192xf4E2M1FN> {
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 128 and 128, but got tensor<192x128xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<192x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed offsets(%o : tensor<3xi32>) group_dim 0 : tensor<192x128xbf16> -> tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN>
  return %p : tensor<128x192xf4E2M1FN>
}
