// RUN: blockscale-opt %s --blockscale-lower-kernels-to-cpu | FileCheck %s

// Ops that read inputs only become calls in order, each with its own buffers.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x32xbf16>, %[[Q:[a-z0-9]+]]: memref<64x32xf8E4M3FN>, %[[S:[a-z0-9]+]]: memref<64x1xf8E8M0FNU>, %[[P:[a-z0-9]+]]: memref<32x64xf8E4M3FN>, %[[T:[a-z0-9]+]]: memref<32x2xf8E8M0FNU>)
// CHECK-NOT: blockscale.kernel
// CHECK: call @rows_and_columns_quantize_0(%[[X]], %[[P]], %[[T]],
// CHECK: call @rows_and_columns_quantize_1(%[[X]], %[[Q]], %[[S]],
func.func @rows_and_columns(%x: memref<64x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>, %p: memref<32x64xf8E4M3FN>, %t: memref<32x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%q, %t, %s, %p : memref<64x32xf8E4M3FN>, memref<32x2xf8E8M0FNU>, memref<64x1xf8E8M0FNU>, memref<32x64xf8E4M3FN>) {
  ^bb0(%lx: tensor<64x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %lt: tensor<32x2xf8E8M0FNU>, %ls: tensor<64x1xf8E8M0FNU>, %lp: tensor<32x64xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed : tensor<64x32xbf16> -> tensor<32x64xf8E4M3FN>, tensor<32x2xf8E8M0FNU>
    %2, %3 = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %2, %1, %3, %0 : tensor<64x32xf8E4M3FN>, tensor<32x2xf8E8M0FNU>, tensor<64x1xf8E8M0FNU>, tensor<32x64xf8E4M3FN>
  }
  return
}

// A transform that others take has memory for them.
// CHECK-LABEL: func.func @transformed_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?x32xbf16>, %[[A:[a-z0-9]+]]: memref<f32>, %[[Q:[a-z0-9]+]]: memref<?x?x32xf8E4M3FN>, %[[S:[a-z0-9]+]]: memref<?x?x32xf8E8M0FNU>)
// CHECK-NOT: blockscale.kernel
// CHECK: %[[B:.+]] = memref.dim %[[X]], %{{c0.*}} :
// CHECK: %[[M:.+]] = memref.dim %[[X]], %{{c1.*}} :
// CHECK: %[[H:.+]] = memref.alloc(%[[B]], %[[M]]) : memref<?x?x32xbf16>
// CHECK: call @transformed_columns_hadamard_0(%[[X]], %[[H]],
// CHECK: call @transformed_columns_amax_0(%[[H]], %[[A]],
// CHECK: call @transformed_columns_quantize_0(%[[H]], %[[Q]], %[[S]],
// CHECK: memref.dealloc %[[H]]
func.func @transformed_columns(%x: memref<?x?x32xbf16>, %a: memref<f32>, %q: memref<?x?x32xf8E4M3FN>, %s: memref<?x?x32xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x?x32xbf16>) outs(%a, %q, %s : memref<f32>, memref<?x?x32xf8E4M3FN>, memref<?x?x32xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x?x32xbf16>, %la: tensor<f32>, %lq: tensor<?x?x32xf8E4M3FN>, %ls: tensor<?x?x32xf8E8M0FNU>):
    %0 = blockscale.hadamard %lx dim 0 : tensor<?x?x32xbf16>
    %1 = blockscale.amax %0 : tensor<?x?x32xbf16> -> tensor<f32>
    %2, %3 = blockscale.quantize %0 block [32, 1] : tensor<?x?x32xbf16> -> tensor<?x?x32xf8E4M3FN>, tensor<?x?x32xf8E8M0FNU>
    blockscale.yield %1, %2, %3 : tensor<f32>, tensor<?x?x32xf8E4M3FN>, tensor<?x?x32xf8E8M0FNU>
  }
  return
}

// Numbers that others take have memory for them, unless an output takes them, which others then read.
// CHECK-LABEL: func.func @computed_scale
// CHECK-SAME: %[[P:[a-z0-9]+]]: memref<1x512xf32>, %[[X:[a-z0-9]+]]: memref<64x32xbf16>, %[[G:[a-z0-9]+]]: memref<f32>, %[[Q:[a-z0-9]+]]: memref<64x16xi8>, %[[S:[a-z0-9]+]]: memref<64x2xf8E4M3FN>)
// CHECK-NOT: blockscale.kernel
// CHECK: %[[A:.+]] = memref.alloc() : memref<f32>
// CHECK: call @computed_scale_amax_0(%[[P]], %[[A]],
// CHECK: call @computed_scale_global_scale_0(%[[A]], %[[G]],
// CHECK: call @computed_scale_quantize_0(%[[X]], %[[G]], %[[Q]], %[[S]],
// CHECK: memref.dealloc %[[A]]
func.func @computed_scale(%p: memref<1x512xf32>, %x: memref<64x32xbf16>, %g: memref<f32>, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>) {
  blockscale.kernel ins(%p, %x : memref<1x512xf32>, memref<64x32xbf16>) outs(%g, %q, %s : memref<f32>, memref<64x16xi8>, memref<64x2xf8E4M3FN>) {
  ^bb0(%lp: tensor<1x512xf32>, %lx: tensor<64x32xbf16>, %lg: tensor<f32>, %lq: tensor<64x32xf4E2M1FN>, %ls: tensor<64x2xf8E4M3FN>):
    %0 = blockscale.amax %lp : tensor<1x512xf32> -> tensor<f32>
    %1 = blockscale.global_scale %0 : tensor<f32>
    %2, %3 = blockscale.quantize %lx block [1, 16] global_scale(%1 : tensor<f32>) : tensor<64x32xbf16> -> tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN>
    blockscale.yield %1, %2, %3 : tensor<f32>, tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN>
  }
  return
}

// Padded rows have memory of the most that the groups take, and so have their ends
// where no output takes these.
// CHECK-LABEL: func.func @padded_columns
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x32xbf16>, %[[O:[a-z0-9]+]]: memref<3xi32>, %[[Q:[a-z0-9]+]]: memref<32x?xf8E4M3FN>, %[[S:[a-z0-9]+]]: memref<32x?xf8E8M0FNU>)
// CHECK-NOT: blockscale.kernel
// CHECK: %[[M:.+]] = memref.dim %[[X]], %{{c0.*}} :
// CHECK: %[[R:.+]] = affine.apply #{{.+}}()[%[[M]]]
// CHECK: %[[P:.+]] = memref.alloc(%[[R]]) : memref<?x32xbf16>
// CHECK: %[[E:.+]] = memref.alloc() : memref<3xi32>
// CHECK: call @padded_columns_pad_groups_0(%[[X]], %[[O]], %[[P]], %[[E]],
// CHECK: call @padded_columns_quantize_0(%[[P]], %[[E]], %[[Q]], %[[S]],
// CHECK: memref.dealloc %[[P]]
// CHECK: memref.dealloc %[[E]]
func.func @padded_columns(%x: memref<?x32xbf16>, %o: memref<3xi32>, %q: memref<32x?xf8E4M3FN>, %s: memref<32x?xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %o : memref<?x32xbf16>, memref<3xi32>) outs(%q, %s : memref<32x?xf8E4M3FN>, memref<32x?xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lo: tensor<3xi32>, %lq: tensor<32x?xf8E4M3FN>, %ls: tensor<32x?xf8E8M0FNU>):
    %0, %1 = blockscale.pad_groups %lx offsets(%lo : tensor<3xi32>) unit 32 : tensor<?x32xbf16> -> tensor<?x32xbf16>
    %2, %3 = blockscale.quantize %0 block [32, 1] transposed offsets(%1 : tensor<3xi32>) : tensor<?x32xbf16> -> tensor<32x?xf8E4M3FN>, tensor<32x?xf8E8M0FNU>
    blockscale.yield %2, %3 : tensor<32x?xf8E4M3FN>, tensor<32x?xf8E8M0FNU>
  }
  return
}
