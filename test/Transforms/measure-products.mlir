// RUN: blockscale-opt %s --blockscale-measure-products=format=mxfp8 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-measure-products=format=mxfp8 | blockscale-opt --blockscale-to-cpu -o /dev/null

// What the sums are is executed by test/Execution/quantize-products.test.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Two sums for each product that would be quantized, each from the plain operands: the second
// product reads the plain result of the first. The last projection is left, and a product in a
// loop is not measured.
// CHECK-LABEL: func.func @model
// CHECK-SAME: -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
// CHECK: %[[Q:.+]] = blockscale.scaled_mm
// CHECK: %[[Y:.+]] = linalg.matmul
// CHECK: %[[S:.+]]:2 = linalg.generic {{.*}} ins(%[[Y]], %[[Q]] : tensor<48x64xbf16>, tensor<48x64xbf16>) outs(%{{.+}}, %{{.+}} : tensor<f64>, tensor<f64>)
// CHECK: arith.extf %{{.+}} : bf16 to f64
// CHECK: blockscale.quantize %[[Y]]
// CHECK: %[[P:.+]] = blockscale.scaled_mm
// CHECK: %[[Z:.+]] = linalg.matmul
// CHECK: %[[T:.+]]:2 = linalg.generic {{.*}} ins(%[[Z]], %[[P]] :
// CHECK-NOT: blockscale.scaled_mm
// CHECK: return %[[S]]#0, %[[S]]#1, %[[T]]#0, %[[T]]#1
func.func @model(%x: tensor<48x64xbf16>, %w: tensor<64x64xbf16> {blockscale.weight}, %n: index) -> (tensor<48x64xbf16> {some.attribute}, tensor<48x64xbf16>) {
  %zeros = arith.constant dense<0.0> : tensor<48x64xbf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %z = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%y, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> tensor<48x64xbf16> {
    %0 = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%s, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
    scf.yield %0 : tensor<48x64xbf16>
  }
  %l = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%r, %w : tensor<48x64xbf16>, tensor<64x64xbf16>) outs(%zeros : tensor<48x64xbf16>) -> tensor<48x64xbf16>
  return %l, %y : tensor<48x64xbf16>, tensor<48x64xbf16>
}

// Nor is a product of a function of several blocks, which keeps its results, too.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: -> tensor<48x64xf32>
// CHECK-NOT: blockscale.scaled_mm
// CHECK: return
func.func @blocks(%x: tensor<48x64xf32>, %w: tensor<64x64xf32> {blockscale.weight}) -> tensor<48x64xf32> {
  %zeros = arith.constant dense<0.0> : tensor<48x64xf32>
  cf.br ^bb1
^bb1:
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<48x64xf32>) -> tensor<48x64xf32>
  return %y : tensor<48x64xf32>
}

// A function without such a product keeps its results.
// CHECK-LABEL: func.func @none
// CHECK-SAME: -> tensor<48x64xbf16>
func.func @none(%x: tensor<48x64xbf16>) -> tensor<48x64xbf16> {
  return %x : tensor<48x64xbf16>
}
