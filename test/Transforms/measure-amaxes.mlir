// RUN: blockscale-opt %s --blockscale-measure-amaxes=format=nvfp4 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-measure-amaxes=format=nvfp4 | blockscale-opt --blockscale-to-cpu -o /dev/null
// RUN: blockscale-opt %s --blockscale-measure-amaxes=format=mxfp8 | FileCheck %s --check-prefix=MX

// What the amaxes are is executed by test/Execution/calibrate.test.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// One amax for each product with a weight that would be quantized, of what the plain product
// reads: the second reads the plain result of the first, and has its weight first. The last
// projection is left, and a product in a loop is not measured.
// CHECK-LABEL: func.func @model
// CHECK-SAME: %[[X:[^ :]+]]: tensor<48x64xbf16>
// CHECK-SAME: -> (tensor<f32>, tensor<f32>)
// CHECK: %[[A:.+]] = blockscale.amax %[[X]] : tensor<48x64xbf16> -> tensor<f32>
// CHECK: %[[Y:.+]] = linalg.matmul
// CHECK: %[[B:.+]] = blockscale.amax %[[Y]] : tensor<48x64xbf16> -> tensor<f32>
// CHECK-NOT: blockscale.
// CHECK: return %[[A]], %[[B]] : tensor<f32>, tensor<f32>

// MX has no global scale.
// MX-LABEL: func.func @model
// MX-SAME: -> (tensor<48x64xbf16> {some.attribute}, tensor<48x64xbf16>)
// MX-NOT: blockscale.amax
func.func @model(%x: tensor<48x64xbf16>, %w: tensor<64x64xbf16> {blockscale.weight}, %n: index) -> (tensor<48x64xbf16> {some.attribute}, tensor<48x64xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<48x64xbf16>
  %turned = arith.constant dense<0.0> : tensor<64x48xbf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%w, %y : tensor<64x64xbf16>, tensor<48x64xbf16>) outs(%turned : tensor<64x48xbf16>) -> tensor<64x48xbf16>
  %e = tensor.empty() : tensor<48x64xbf16>
  %t = linalg.transpose ins(%z : tensor<64x48xbf16>) outs(%e : tensor<48x64xbf16>) permutation = [1, 0]
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> tensor<48x64xbf16> {
    %0 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%s, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
    scf.yield %0 : tensor<48x64xbf16>
  }
  %l = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%r, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  return %l, %y : tensor<48x64xbf16>, tensor<48x64xbf16>
}

// All matrices of a batch have one amax, as a policy gives one number for them.
// CHECK-LABEL: func.func @batch
// CHECK: %[[A:.+]] = blockscale.amax %{{.+}} : tensor<3x48x64xbf16> -> tensor<f32>
// CHECK: return %[[A]] : tensor<f32>
func.func @batch(%x: tensor<3x48x64xbf16>, %w: tensor<3x64x32xbf16> {blockscale.weight}) -> tensor<3x48x32xf32> {
  %zeros = arith.constant dense<0.0> : tensor<3x48x32xf32>
  %y = linalg.batch_matmul ins(%x, %w : tensor<3x48x64xbf16>, tensor<3x64x32xbf16>) outs(%zeros : tensor<3x48x32xf32>) -> tensor<3x48x32xf32>
  return %y : tensor<3x48x32xf32>
}

// Two activations have amaxes of each call, and a function without a product to measure keeps
// its results.
// CHECK-LABEL: func.func @scores
// CHECK-SAME: -> tensor<48x40xf32>
// CHECK-NOT: blockscale.amax
func.func @scores(%x: tensor<48x64xbf16>, %y: tensor<64x40xbf16>) -> tensor<48x40xf32> {
  %zeros = arith.constant dense<0.0> : tensor<48x40xf32>
  %z = linalg.matmul ins(%x, %y : tensor<48x64xbf16>, tensor<64x40xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %z : tensor<48x40xf32>
}
