// RUN: blockscale-opt %s --blockscale-quantize-products=format=nvfp4 --split-input-file --verify-diagnostics | FileCheck %s

// Products that do not meet a clause of MatrixProduct.h or QuantizeProducts.h are left,
// with a remark. What is no product of floats has none.
// CHECK-NOT: blockscale.quantize

// product_c1: a product in f64.
func.func @f64(%x: tensor<48x64xf64>, %w: tensor<64x40xf64> {blockscale.weight}, %e: tensor<48x40xf64>) -> tensor<48x40xf64> {
  // expected-remark @below {{is not quantized (product_c1): expected operands of bf16, f16 or f32, but got tensor<48x64xf64>}}
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf64>, tensor<64x40xf64>) outs(%e : tensor<48x40xf64>) -> tensor<48x40xf64>
  return %y : tensor<48x40xf64>
}

// -----

// product_c1: factors that are rounded first.
func.func @rounded(%x: tensor<48x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xbf16>) -> tensor<48x40xbf16> {
  // expected-remark @below {{is not quantized (product_c1): expected factors as they are or extended, but got arith.truncf}}
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xbf16>) -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// -----

// product_c1: an operand with an encoding.
func.func @encoded(%x: tensor<48x64xf32, "mine">, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not quantized (product_c1): expected operands without an encoding, but got tensor<48x64xf32, "mine">}}
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32, "mine">, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// product_c1: one number in the place of a matrix.
func.func @scalar(%x: tensor<48x64xf32>, %s: f32, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not quantized (product_c1): expected operands that are tensors, but got f32}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> ()>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s : tensor<48x64xf32>, f32) outs(%e : tensor<48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// product_c2: a filter of more than a point.
func.func @filter(%x: tensor<2x8x8x64xf32>, %w: tensor<3x3x64x40xf32> {blockscale.weight}, %e: tensor<2x6x6x40xf32>) -> tensor<2x6x6x40xf32> {
  // expected-remark @below {{is not quantized (product_c2): expected each index of an operand to be a loop of its own, but got the map (d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)}}
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<2x8x8x64xf32>, tensor<3x3x64x40xf32>) outs(%e : tensor<2x6x6x40xf32>) -> tensor<2x6x6x40xf32>
  return %y : tensor<2x6x6x40xf32>
}

// -----

// product_c2: a point at a stride of 2.
func.func @stride(%x: tensor<2x8x8x64xf32>, %w: tensor<1x1x64x40xf32> {blockscale.weight}, %e: tensor<2x4x4x40xf32>) -> tensor<2x4x4x40xf32> {
  // expected-remark @below {{(product_c2): expected each index of an operand to be a loop of its own, but got the map (d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)}}
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%x, %w : tensor<2x8x8x64xf32>, tensor<1x1x64x40xf32>) outs(%e : tensor<2x4x4x40xf32>) -> tensor<2x4x4x40xf32>
  return %y : tensor<2x4x4x40xf32>
}

// -----

// product_c2: the diagonal of an operand.
func.func @diagonal(%x: tensor<64x64x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<64x40xf32>) -> tensor<64x40xf32> {
  // expected-remark @below {{(product_c2): expected each index of an operand to be a loop of its own, but got the map (d0, d1, d2) -> (d0, d2, d2)}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x64x64xf32>, tensor<64x40xf32>) outs(%e : tensor<64x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x40xf32>
  return %y : tensor<64x40xf32>
}

// -----

// product_c2: the first element of each row, which a constant index reads of many.
func.func @first(%x: tensor<48x64x7xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{(product_c2): expected each index of an operand to be a loop of its own, but got the map (d0, d1, d2) -> (d0, d2, 0)}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k, 0)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x64x7xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// product_c2: a dimension of the result over which no loop runs.
func.func @one_of_result(%x: tensor<48x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<1x48x40xf32>) -> tensor<1x48x40xf32> {
  // expected-remark @below {{(product_c2): expected each index of an operand to be a loop of its own, but got the map (d0, d1, d2) -> (0, d0, d1)}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (0, m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<1x48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x48x40xf32>
  return %y : tensor<1x48x40xf32>
}

// -----

// product_c3: a vector.
func.func @vector(%x: tensor<64xf32>, %w: tensor<40x64xf32> {blockscale.weight}, %e: tensor<40xf32>) -> tensor<40xf32> {
  // expected-remark @below {{(product_c3): expected a product of matrices, but got 1 loops of m, 0 of n and 1 of k}}
  %y = linalg.matvec ins(%w, %x : tensor<40x64xf32>, tensor<64xf32>) outs(%e : tensor<40xf32>) -> tensor<40xf32>
  return %y : tensor<40xf32>
}

// -----

// product_c3: a depthwise convolution multiplies no matrices.
func.func @depthwise(%x: tensor<2x8x8x64xf32>, %w: tensor<1x1x64xf32> {blockscale.weight}, %e: tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32> {
  // expected-remark @below {{(product_c3): expected a product of matrices, but got 3 loops of m, 0 of n and 0 of k}}
  %y = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<2x8x8x64xf32>, tensor<1x1x64xf32>) outs(%e : tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
  return %y : tensor<2x8x8x64xf32>
}

// -----

// product_c3: a sum over one operand alone.
func.func @summed(%x: tensor<48x64x5xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{(product_c3): expected each loop to run over two of the three tensors, but got loop 3, which runs over 1}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k, j) -> (m, k, j)>, affine_map<(m, n, k, j) -> (k, n)>, affine_map<(m, n, k, j) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<48x64x5xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// policy_c1: two operands that are no weights, for which the option has no rule.
func.func @activations(%x: tensor<48x64xf32>, %w: tensor<64x40xf32>, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not quantized (policy_c1): expected a rule that matches, but got none}}
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// policy_c1: an argument of a loop is no weight, whatever the function's is, nor is what is
// computed of a weight.
func.func @computed(%x: tensor<48x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  %twice = arith.addf %w, %w : tensor<64x40xf32>
  // expected-remark @below {{is not quantized (policy_c1): expected a rule that matches, but got none}}
  %y = linalg.matmul ins(%x, %twice : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// policy_c3: a weight of fewer rows than a block.
func.func @narrow(%x: tensor<48x64xf32>, %w: tensor<64x15xf32> {blockscale.weight}, %e: tensor<48x15xf32>) -> tensor<48x15xf32> {
  // expected-remark @below {{is not quantized (policy_c3): expected at least 16 rows, as many as a block has elements, but got 15}}
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32>, tensor<64x15xf32>) outs(%e : tensor<48x15xf32>) -> tensor<48x15xf32>
  return %y : tensor<48x15xf32>
}

// -----

// policy_c4: K is not of whole blocks.
func.func @cut(%x: tensor<48x40xf32>, %w: tensor<40x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not quantized (policy_c4): expected a static K of whole blocks of 16, but got 40}}
  %y = linalg.matmul ins(%x, %w : tensor<48x40xf32>, tensor<40x40xf32>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// policy_c4: a dynamic K may be any.
func.func @dynamic(%x: tensor<48x?xf32>, %w: tensor<?x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not quantized (policy_c4): expected a static K of whole blocks of 16, but got a dynamic one}}
  %y = linalg.matmul ins(%x, %w : tensor<48x?xf32>, tensor<?x40xf32>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// policy_c4: K = 0 has no block.
func.func @empty(%x: tensor<48x0xf32>, %w: tensor<0x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>) -> tensor<48x40xf32> {
  // expected-remark @below {{is not quantized (policy_c4): expected a static K of whole blocks of 16, but got 0}}
  %y = linalg.matmul ins(%x, %w : tensor<48x0xf32>, tensor<0x40xf32>) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// -----

// Integers, a maximum in the place of the sum, buffers, and an op with one input are not
// products of floats.
func.func @others(%i: tensor<48x64xi32>, %j: tensor<64x40xi32> {blockscale.weight}, %ie: tensor<48x40xi32>,
                  %x: tensor<48x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>,
                  %xm: memref<48x64xf32>, %wm: memref<64x40xf32> {blockscale.weight}, %em: memref<48x40xf32>) -> (tensor<48x40xi32>, tensor<48x40xf32>) {
  %0 = linalg.matmul ins(%i, %j : tensor<48x64xi32>, tensor<64x40xi32>) outs(%ie : tensor<48x40xi32>) -> tensor<48x40xi32>
  linalg.matmul ins(%xm, %wm : memref<48x64xf32>, memref<64x40xf32>) outs(%em : memref<48x40xf32>)
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.maximumf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %0, %1 : tensor<48x40xi32>, tensor<48x40xf32>
}

// -----

// Nor are products of one input with itself, or of other numbers of the body.
func.func @squares(%x: tensor<48x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}, %e: tensor<48x40xf32>, %f: f32) -> (tensor<48x40xf32>, tensor<48x40xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.mulf %a, %a : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%e : tensor<48x40xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %2 = arith.negf %a : f32
    %3 = arith.mulf %2, %b : f32
    %4 = arith.addf %sum, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<48x40xf32>
  return %0, %1 : tensor<48x40xf32>, tensor<48x40xf32>
}
