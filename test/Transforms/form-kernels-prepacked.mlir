// RUN: blockscale-opt %s --pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a}))' --verify-diagnostics | FileCheck %s
// RUN: blockscale-opt %s --pass-pipeline='builtin.module(func.func(blockscale-form-kernels{chip=sm_90a fuse=false}))' | FileCheck %s --check-prefix=APART
// RUN: blockscale-opt %s --pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' | FileCheck %s --check-prefix=APART

// Codes that are prepacked, and that nothing else reads, are stored so where they are made. Sizes
// are those of x.
// CHECK-LABEL: func.func @prepacked
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xbf16>
// CHECK-NOT: tensor.dim %{{data|scale}}
// CHECK: %[[KERNEL:.+]]:2 = blockscale.kernel ins(%[[X]] : tensor<?x64xbf16>) {{.*}} family rows {
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize
// CHECK: %[[P:.+]] = blockscale.prepack %[[Q]]
// CHECK: blockscale.yield %[[S]], %[[P]]
// CHECK: return %[[KERNEL]]#1, %[[KERNEL]]#0
// APART-LABEL: func.func @prepacked
// APART: blockscale.kernel
// APART: blockscale.quantize
// APART: blockscale.kernel
// APART: blockscale.prepack
func.func @prepacked(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<?x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %p = blockscale.prepack %q : tensor<?x64xf4E2M1FN> -> tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  return %p, %s : tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<?x4xf8E4M3FN>
}

// The kernel takes the largest of the parts of an amax, too.
// CHECK-LABEL: func.func @amax
// CHECK: blockscale.kernel
// CHECK: blockscale.amax_parts
// CHECK: blockscale.kernel {{.*}} family rows {
// CHECK: blockscale.amax
// CHECK: blockscale.global_scale
// CHECK: blockscale.quantize
// CHECK: blockscale.prepack
// CHECK-NOT: blockscale.kernel
// CHECK: return
func.func @amax(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<?x4xf8E4M3FN>, tensor<f32>) {
  %a = blockscale.amax %x : tensor<?x64xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a nonzero_amax : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %p = blockscale.prepack %q : tensor<?x64xf4E2M1FN> -> tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  return %p, %s, %g : tensor<?x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<?x4xf8E4M3FN>, tensor<f32>
}

// Codes that are returned, too, are stored in rows.
// CHECK-LABEL: func.func @prepacked_codes_c1
// CHECK: blockscale.kernel
// CHECK: blockscale.quantize
// CHECK: blockscale.kernel
// CHECK: blockscale.prepack
func.func @prepacked_codes_c1(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  // expected-remark @below {{is not computed where x is quantized (prepacked_codes_c1): expected codes that nothing else reads, but got others that do}}
  %p = blockscale.prepack %q : tensor<64x128xf8E4M3FN> -> tensor<64x128xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>
  return %q, %p, %s : tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E8M0FNU>
}

// Four threads have a block each of a row.
// CHECK-LABEL: func.func @prepacked_codes_c2
// CHECK: blockscale.quantize
// CHECK: blockscale.kernel
// CHECK: blockscale.prepack
func.func @prepacked_codes_c2(%x: tensor<64x64xbf16>) -> (tensor<64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x2xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-remark @below {{is not computed where x is quantized (prepacked_codes_c2): expected blocks of one row, in rows whose static length is a multiple of 128, but got tensor<64x64xbf16>}}
  %p = blockscale.prepack %q : tensor<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>
  return %p, %s : tensor<64x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x2xf8E8M0FNU>
}

// CHECK-LABEL: func.func @prepacked_codes_c2_blocks
// CHECK: blockscale.quantize
// CHECK: blockscale.kernel
// CHECK: blockscale.prepack
func.func @prepacked_codes_c2_blocks(%x: tensor<64x64xbf16>) -> (tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<4x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [16, 16] : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  // expected-remark @below {{(prepacked_codes_c2): expected blocks of one row, in rows whose static length is a multiple of 64, but got blocks of several rows, or transposed data}}
  %p = blockscale.prepack %q : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  return %p, %s : tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<4x4xf8E4M3FN>
}

// A kernel of two quantizations of one x stores codes in rows.
// CHECK-LABEL: func.func @prepacked_codes_c3
// CHECK: blockscale.kernel {{.*}} family strips
// CHECK: blockscale.kernel
// CHECK: blockscale.prepack
func.func @prepacked_codes_c3(%x: tensor<64x64xbf16>) -> (tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %r, %t = blockscale.quantize %x block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  // expected-remark @below {{(prepacked_codes_c3): expected a kernel that only quantizes, but got one with 'blockscale.quantize'}}
  %p = blockscale.prepack %q : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  return %p, %s, %r, %t : tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// CHECK-LABEL: func.func @prepacked_codes_c4
// CHECK: blockscale.quantize
// CHECK: blockscale.kernel
// CHECK: blockscale.prepack
func.func @prepacked_codes_c4(%x: tensor<64x64xbf16>, %rng: tensor<2xi64>) -> (tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] rng(%rng : tensor<2xi64>) : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  // expected-remark @below {{(prepacked_codes_c4): expected a global value for the tensor or each matrix, and nothing else for blocks, but got rng}}
  %p = blockscale.prepack %q : tensor<64x64xf4E2M1FN> -> tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  return %p, %s : tensor<64x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x4xf8E4M3FN>
}
