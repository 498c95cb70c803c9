// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a transforms=te}))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a}))' -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))' -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_100a fuse=false}))' -split-input-file | FileCheck %s --check-prefix=APART

// The shapes of C13 that decide whether rows of x and columns of its transform are one
// kernel with `transforms=te`: rows are a multiple of 64, columns of 128. By default all
// are. Result types, and so the bytes, are the same (C6). Without fusion each op has a
// kernel.

// (64, 128) is.
// CHECK-LABEL: func.func @c13_64x128
// CHECK: blockscale.kernel
// CHECK-NOT: blockscale.kernel
// ANY-LABEL: func.func @c13_64x128
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
// APART-LABEL: func.func @c13_64x128
// APART-COUNT-3: blockscale.kernel
func.func @c13_64x128(%x: tensor<64x128xbf16>) -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %h = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %q, %s, %p, %t : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}

// -----

// So is (128, 256).
// CHECK-LABEL: func.func @c13_128x256
// CHECK: blockscale.kernel
// CHECK-NOT: blockscale.kernel
// ANY-LABEL: func.func @c13_128x256
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @c13_128x256(%x: tensor<128x256xbf16>) -> (tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<128x256xbf16> -> tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %h = blockscale.hadamard %x dim 0 : tensor<128x256xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<128x256xbf16> -> tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %q, %s, %p, %t : tensor<128x256xf4E2M1FN>, tensor<128x16xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}

// -----

// (64, 144) is not, by its columns.
// CHECK-LABEL: func.func @c13_64x144
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// ANY-LABEL: func.func @c13_64x144
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @c13_64x144(%x: tensor<64x144xbf16>) -> (tensor<64x144xf4E2M1FN>, tensor<64x9xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<144x64xf4E2M1FN>, tensor<144x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x144xbf16> -> tensor<64x144xf4E2M1FN>, tensor<64x9xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<64x144xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<64x144xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<64x144xbf16> -> tensor<144x64xf4E2M1FN>, tensor<144x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %q, %s, %p, %t : tensor<64x144xf4E2M1FN>, tensor<64x9xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<144x64xf4E2M1FN>, tensor<144x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}

// -----

// Nor is (128, 144).
// CHECK-LABEL: func.func @c13_128x144
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// ANY-LABEL: func.func @c13_128x144
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @c13_128x144(%x: tensor<128x144xbf16>) -> (tensor<128x144xf4E2M1FN>, tensor<128x9xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<144x128xf4E2M1FN>, tensor<144x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<128x144xbf16> -> tensor<128x144xf4E2M1FN>, tensor<128x9xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<128x144xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<128x144xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<128x144xbf16> -> tensor<144x128xf4E2M1FN>, tensor<144x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %q, %s, %p, %t : tensor<128x144xf4E2M1FN>, tensor<128x9xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<144x128xf4E2M1FN>, tensor<144x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}

// -----

// (48, 128) is not, by its rows.
// CHECK-LABEL: func.func @c13_48x128
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// ANY-LABEL: func.func @c13_48x128
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @c13_48x128(%x: tensor<48x128xbf16>) -> (tensor<48x128xf4E2M1FN>, tensor<48x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<128x48xf4E2M1FN>, tensor<128x3xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x128xbf16> -> tensor<48x128xf4E2M1FN>, tensor<48x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<48x128xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<48x128xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<48x128xbf16> -> tensor<128x48xf4E2M1FN>, tensor<128x3xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %q, %s, %p, %t : tensor<48x128xf4E2M1FN>, tensor<48x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<128x48xf4E2M1FN>, tensor<128x3xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}

// -----

// Nor is a real one, (8192, 11328): 11328 is 64 more than a multiple of 128.
// CHECK-LABEL: func.func @c13_8192x11328
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.hadamard
// CHECK-NEXT: blockscale.yield
// CHECK: blockscale.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: blockscale.quantize
// ANY-LABEL: func.func @c13_8192x11328
// ANY: blockscale.kernel
// ANY-NOT: blockscale.kernel
func.func @c13_8192x11328(%x: tensor<8192x11328xbf16>) -> (tensor<8192x11328xf4E2M1FN>, tensor<8192x708xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<11328x8192xf4E2M1FN>, tensor<11328x512xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<8192x11328xbf16> -> tensor<8192x11328xf4E2M1FN>, tensor<8192x708xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  // expected-remark @below {{has a kernel of its own (rht_c2): expected rows and columns of x to be multiples of 64 and 128, but got tensor<8192x11328xbf16>}}
  %h = blockscale.hadamard %x dim 0 : tensor<8192x11328xbf16>
  %p, %t = blockscale.quantize %h block [16, 1] transposed : tensor<8192x11328xbf16> -> tensor<11328x8192xf4E2M1FN>, tensor<11328x512xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %q, %s, %p, %t : tensor<8192x11328xf4E2M1FN>, tensor<8192x708xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, tensor<11328x8192xf4E2M1FN>, tensor<11328x512xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}
