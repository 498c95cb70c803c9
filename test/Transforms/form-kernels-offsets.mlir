// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a transforms=te}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_80}))' -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file | FileCheck %s --check-prefix=ANY

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

// Scales in tiles of each group have other results of x beside them.
// CHECK-LABEL: func.func @tiles_of_groups
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize {{.+}} block [1, 16] offsets({{.+}}, #swizzled_groups>
// CHECK-NEXT: %[[H:.+]] = blockscale.hadamard
// CHECK-NEXT: blockscale.quantize %[[H]] block [16, 1] transposed offsets({{.+}}, #swizzled_groups1>
// CHECK-NOT: blockscale.kernel
func.func @tiles_of_groups(%x: tensor<128x128xbf16>, %o: tensor<3xi32>) -> (tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] offsets(%o : tensor<3xi32>) : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>>
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed offsets(%o : tensor<3xi32>) : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>
  return %q, %p : tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>
}

// -----

// Under amaxes of the groups of x and of its transform, an amax pass comes before.
// CHECK-LABEL: func.func @amaxes_of_groups
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.amax
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.quantize
// CHECK-NOT: blockscale.kernel
func.func @amaxes_of_groups(%x: tensor<128x128xbf16>, %o: tensor<3xi32>) -> (tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>) {
  %a = blockscale.amax %x offsets(%o : tensor<3xi32>) : tensor<128x128xbf16> -> tensor<3xf32>
  // expected-remark @below {{takes a second pass over x (one_pass_c1): expected operands that need no amax of x, but got global_amax}}
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_amax(%a : tensor<3xf32>) offsets(%o : tensor<3xi32>) : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>>
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  %b = blockscale.amax %h offsets(%o : tensor<3xi32>) : tensor<128x128xbf16> -> tensor<3xf32>
  %p, %t = blockscale.quantize %h block [16, 1] transposed recipe te global_amax(%b : tensor<3xf32>) offsets(%o : tensor<3xi32>) : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>
  return %q, %p : tensor<128x128xf4E2M1FN>, tensor<128x128xf4E2M1FN>
}

// -----

// rht_c3: a grouped amax of columns keeps the transform in memory.
// CHECK-LABEL: func.func @rht_c3
// CHECK-COUNT-3: blockscale.kernel
// CHECK-NOT: blockscale.kernel
func.func @rht_c3(%x: tensor<128x128xbf16>, %o: tensor<3xi32>) -> (tensor<3xf32>, tensor<128x128xf4E2M1FN>) {
  // expected-remark @below {{has a kernel of its own (rht_c3): expected all uses to be quantizations or amaxes of its block that can share a kernel, but got 'blockscale.amax'}}
  %h = blockscale.hadamard %x dim 0 : tensor<128x128xbf16>
  // expected-remark @below {{reads x in a kernel of its own (one_read_c3): expected amaxes of groups of rows, but got group_dim 1}}
  %a = blockscale.amax %h offsets(%o : tensor<3xi32>) group_dim 1 : tensor<128x128xbf16> -> tensor<3xf32>
  %p, %t = blockscale.quantize %h block [16, 1] transposed offsets(%o : tensor<3xi32>) group_dim 0 : tensor<128x128xbf16> -> tensor<128x128xf4E2M1FN>, tensor<128x8xf8E4M3FN, #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>>
  return %a, %p : tensor<3xf32>, tensor<128x128xf4E2M1FN>
}

// -----

// rht_c2 (C4): TransformerEngine takes 64 rows without groups, not with them. By default
// every chip takes them.
// CHECK-LABEL: func.func @rht_c2_grouped
// CHECK-COUNT-2: blockscale.kernel
// ANY-LABEL: func.func @rht_c2_grouped
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @rht_c2_grouped(%x: tensor<192x128xbf16>, %o: tensor<3xi32>) -> tensor<128x192xf4E2M1FN> {
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 128 and 128, but got tensor<192x128xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<192x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed offsets(%o : tensor<3xi32>) group_dim 0 : tensor<192x128xbf16> -> tensor<128x192xf4E2M1FN>, tensor<128x12xf8E4M3FN>
  return %p : tensor<128x192xf4E2M1FN>
}
