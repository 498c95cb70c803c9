// RUN: blockscale-opt %s --blockscale-quantize-products=format=mxfp8 2>&1 | FileCheck %s
// RUN: blockscale-opt %s --blockscale-quantize-products=format=nvfp4 2>&1 | FileCheck %s --check-prefix=NVFP4
// RUN: blockscale-opt %s --blockscale-quantize-products=format=mxfp8 | blockscale-opt --blockscale-to-cpu -o /dev/null
// RUN: blockscale-opt %s --blockscale-quantize-products=format=nvfp4 | blockscale-opt --blockscale-to-cpu -o /dev/null
// RUN: blockscale-opt %s --blockscale-quantize-products=format=mxfp8 --remarks-filter-passed=quantize-products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Each form of a product with a weight. What the ops compute is executed by
// test/Execution/quantize-products.test. Products that are left have a remark, which is
// in quantize-products-kept.mlir.

#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#nm = affine_map<(m, n, k) -> (n, m)>

// The form of a linear layer: a weight [N, K] that is a constant. Scales are linear, and
// constants are not folded yet. In NVFP4 there is a global scale, of the amax.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>
// CHECK: %[[W:.+]] = arith.constant dense<{{.*}}> : tensor<40x64xbf16>
// CHECK: %[[A:.+]], %[[SA:.+]] = blockscale.quantize %[[X]] block [1, 32] : tensor<48x64xbf16> -> tensor<48x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>
// CHECK: %[[B:.+]], %[[SB:.+]] = blockscale.quantize %[[W]] block [1, 32] : tensor<40x64xbf16> -> tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU>
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[A]], %[[B]] scales(%[[SA]], %[[SB]]) block [1, 32] : tensor<48x64xf8E4M3FN>, tensor<40x64xf8E4M3FN>, tensor<48x2xf8E8M0FNU>, tensor<40x2xf8E8M0FNU> -> tensor<48x40xf32>
// CHECK-NEXT: return %[[Y]]
// NVFP4-LABEL: func.func @linear
// NVFP4-SAME: %[[X:.+]]: tensor<48x64xbf16>
// NVFP4: %[[AX:.+]] = blockscale.amax %[[X]] : tensor<48x64xbf16> -> tensor<f32>
// NVFP4: %[[GX:.+]] = blockscale.global_scale %[[AX]] nonzero_amax : tensor<f32>
// NVFP4: %[[A:.+]], %[[SA:.+]] = blockscale.quantize %[[X]] block [1, 16] global_scale(%[[GX]] : tensor<f32>) : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
// NVFP4: %[[AW:.+]] = blockscale.amax
// NVFP4: %[[GW:.+]] = blockscale.global_scale %[[AW]] nonzero_amax : tensor<f32>
// NVFP4: %[[B:.+]], %[[SB:.+]] = blockscale.quantize %{{.+}} block [1, 16] global_scale(%[[GW]] : tensor<f32>)
// NVFP4: blockscale.scaled_mm %[[A]], %[[B]] scales(%[[SA]], %[[SB]]) block [1, 16] global_scale_a(%[[GX]] : tensor<f32>) global_scale_b(%[[GW]] : tensor<f32>)
// REMARK: remark: [Passed] quantized | Category:quantize-products{{.*}}mxfp8 by option format
func.func @linear(%x: tensor<48x64xbf16>) -> tensor<48x40xf32> {
  %w = arith.constant dense<1.5> : tensor<40x64xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<48x40xf32>) -> tensor<48x40xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A weight [K, N], in an argument that is said to be one: blocks run down its columns, and
// data are written transposed. Zeros may be a constant.
// CHECK-LABEL: func.func @argument
// CHECK-SAME: %[[X:.+]]: tensor<48x64xf32>, %[[W:.+]]: tensor<64x40xf32>
// CHECK: blockscale.quantize %[[X]] block [1, 32] : tensor<48x64xf32>
// CHECK: %[[B:.+]], %[[SB:.+]] = blockscale.quantize %[[W]] block [32, 1] transposed : tensor<64x40xf32> -> tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU>
// CHECK: blockscale.scaled_mm %{{.+}}, %[[B]]
func.func @argument(%x: tensor<48x64xf32>, %w: tensor<64x40xf32> {blockscale.weight}) -> tensor<48x40xf32> {
  %zeros = arith.constant dense<0.0> : tensor<48x40xf32>
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32>, tensor<64x40xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// Both operands the other way round, and the weight first. A result of f16.
// CHECK-LABEL: func.func @transposed
// CHECK: blockscale.quantize %{{.+}} block [32, 1] transposed : tensor<64x40xf16> -> tensor<40x64xf8E4M3FN>, tensor<40x2xf8E8M0FNU>
// CHECK: blockscale.quantize %{{.+}} block [1, 32] : tensor<48x64xf16>
// CHECK: blockscale.scaled_mm {{.*}} -> tensor<40x48xf16>
func.func @transposed(%x: tensor<48x64xf16>, %w: tensor<64x40xf16> {blockscale.weight}) -> tensor<40x48xf16> {
  %zeros = arith.constant dense<0.0> : tensor<40x48xf16>
  %y = linalg.matmul indexing_maps = [#km, #nk, #mn] ins(%w, %x : tensor<64x40xf16>, tensor<48x64xf16>) outs(%zeros : tensor<40x48xf16>) -> tensor<40x48xf16>
  return %y : tensor<40x48xf16>
}

// A result of rows of N: the operands change places.
// CHECK-LABEL: func.func @transposed_result
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xbf16>
// CHECK: %[[A:.+]], %{{.+}} = blockscale.quantize %[[W]]
// CHECK: %[[B:.+]], %{{.+}} = blockscale.quantize %[[X]]
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[A]], %[[B]] {{.*}} -> tensor<40x48xf32>
// CHECK-NEXT: return %[[Y]]
func.func @transposed_result(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16> {blockscale.weight}) -> tensor<40x48xf32> {
  %zeros = arith.constant dense<0.0> : tensor<40x48xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #nm] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<40x48xf32>) -> tensor<40x48xf32>
  return %y : tensor<40x48xf32>
}

// A transposition and an extension before the product change no number: the quantizer
// reads what is before them.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: %[[X:.+]]: tensor<48x64xbf16>, %[[W:.+]]: tensor<40x64xbf16>
// CHECK-DAG: blockscale.quantize %[[X]] block [1, 32] : tensor<48x64xbf16>
// CHECK-DAG: blockscale.quantize %[[W]] block [1, 32] : tensor<40x64xbf16>
func.func @moved(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16> {blockscale.weight}) -> tensor<48x40xf32> {
  %zeros = arith.constant dense<0.0> : tensor<48x40xf32>
  %e = tensor.empty() : tensor<64x40xbf16>
  %wt = linalg.transpose ins(%w : tensor<40x64xbf16>) outs(%e : tensor<64x40xbf16>) permutation = [1, 0]
  %wide = arith.extf %wt : tensor<64x40xbf16> to tensor<64x40xf32>
  %xwide = arith.extf %x : tensor<48x64xbf16> to tensor<48x64xf32>
  %y = linalg.matmul ins(%xwide, %wide : tensor<48x64xf32>, tensor<64x40xf32>) outs(%zeros : tensor<48x40xf32>) -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A weight for each matrix of a batch: each has a global scale.
// NVFP4-LABEL: func.func @batch
// NVFP4: blockscale.amax %{{.+}} : tensor<3x48x64xbf16> -> tensor<3xf32>
// NVFP4: blockscale.amax %{{.+}} : tensor<3x64x40xbf16> -> tensor<3xf32>
// NVFP4: blockscale.quantize %{{.+}} block [16, 1] transposed global_scale(%{{.+}} : tensor<3xf32>) : tensor<3x64x40xbf16> -> tensor<3x40x64xf4E2M1FN>, tensor<3x40x4xf8E4M3FN>
// NVFP4: blockscale.scaled_mm {{.*}} global_scale_a(%{{.+}} : tensor<3xf32>) global_scale_b(%{{.+}} : tensor<3xf32>) {{.*}} -> tensor<3x48x40xf32>
func.func @batch(%x: tensor<3x48x64xbf16>, %w: tensor<3x64x40xbf16> {blockscale.weight}) -> tensor<3x48x40xf32> {
  %zeros = arith.constant dense<0.0> : tensor<3x48x40xf32>
  %y = linalg.batch_matmul ins(%x, %w : tensor<3x48x64xbf16>, tensor<3x64x40xbf16>) outs(%zeros : tensor<3x48x40xf32>) -> tensor<3x48x40xf32>
  return %y : tensor<3x48x40xf32>
}

// A weight for all matrices of a batch: one product with more rows, which are expanded again.
// CHECK-LABEL: func.func @shared
// CHECK: %[[X:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : tensor<3x?x64xbf16> into tensor<?x64xbf16>
// CHECK: blockscale.quantize %[[X]]
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.*}} -> tensor<?x40xf32>
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [3, %{{.+}}, 40] : tensor<?x40xf32> into tensor<3x?x40xf32>
func.func @shared(%x: tensor<3x?x64xbf16>, %w: tensor<64x40xbf16> {blockscale.weight}) -> tensor<3x?x40xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %size = tensor.dim %x, %c1 : tensor<3x?x64xbf16>
  %e = tensor.empty(%size) : tensor<3x?x40xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<3x?x40xf32>) -> tensor<3x?x40xf32>
  %y = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%x, %w : tensor<3x?x64xbf16>, tensor<64x40xbf16>) outs(%zeros : tensor<3x?x40xf32>) -> tensor<3x?x40xf32>
  return %y : tensor<3x?x40xf32>
}

// The same, where rows become two dynamic sizes.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[E:.+]] = linalg.fill {{.*}} -> tensor<?x?x40xbf16>
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.*}} -> tensor<?x40xbf16>
// CHECK: %[[M0:.+]] = tensor.dim %[[E]], %c0
// CHECK: %[[M1:.+]] = tensor.dim %[[E]], %c1
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [%[[M0]], %[[M1]], 40] : tensor<?x40xbf16> into tensor<?x?x40xbf16>
func.func @dynamic(%x: tensor<?x?x64xbf16>, %w: tensor<40x64xbf16> {blockscale.weight}) -> tensor<?x?x40xbf16> {
  %zero = arith.constant 0.0 : bf16
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x64xbf16>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x64xbf16>
  %e = tensor.empty(%d0, %d1) : tensor<?x?x40xbf16>
  %zeros = linalg.fill ins(%zero : bf16) outs(%e : tensor<?x?x40xbf16>) -> tensor<?x?x40xbf16>
  %y = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%x, %w : tensor<?x?x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<?x?x40xbf16>) -> tensor<?x?x40xbf16>
  return %y : tensor<?x?x40xbf16>
}

// A size that the type of one operand alone knows.
// CHECK-LABEL: func.func @half_known
// CHECK: blockscale.scaled_mm {{.*}} -> tensor<48x40xf32>
// CHECK: tensor.cast %{{.+}} : tensor<48x40xf32> to tensor<?x?xf32>
func.func @half_known(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16> {blockscale.weight}, %e: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%zeros : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// The output projection of attention as one op: two loops of K, which the heads part.
// The activations are transposed, as no quantizer reads this order.
// CHECK-LABEL: func.func @heads
// CHECK: %[[T:.+]] = linalg.transpose ins(%{{.+}} : tensor<4x48x16xbf16>) outs(%{{.+}} : tensor<48x4x16xbf16>) permutation = [1, 0, 2]
// CHECK: tensor.collapse_shape %[[T]] {{\[\[}}0], [1, 2]] : tensor<48x4x16xbf16> into tensor<48x64xbf16>
// CHECK: %[[W:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : tensor<4x16x40xbf16> into tensor<64x40xbf16>
// CHECK: blockscale.quantize %[[W]] block [32, 1] transposed
// CHECK: blockscale.scaled_mm {{.*}} -> tensor<48x40xf32>
func.func @heads(%x: tensor<4x48x16xbf16>, %w: tensor<4x16x40xbf16> {blockscale.weight}) -> tensor<48x40xf32> {
  %zeros = arith.constant dense<0.0> : tensor<48x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, h, d) -> (h, m, d)>, affine_map<(m, n, h, d) -> (h, d, n)>, affine_map<(m, n, h, d) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<4x48x16xbf16>, tensor<4x16x40xbf16>) outs(%zeros : tensor<48x40xf32>) {
  ^bb0(%a: bf16, %b: bf16, %sum: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %1, %0 : f32
    %3 = arith.addf %2, %sum : f32
    linalg.yield %3 : f32
  } -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// A convolution by a point, channels last: the filter is a matrix [K, N].
// CHECK-LABEL: func.func @point
// CHECK: %[[X:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1, 2], [3]] : tensor<2x6x8x64xbf16> into tensor<96x64xbf16>
// CHECK: blockscale.quantize %[[X]] block [1, 32]
// CHECK: %[[W:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0, 1, 2], [3]] : tensor<1x1x64x40xbf16> into tensor<64x40xbf16>
// CHECK: blockscale.quantize %[[W]] block [32, 1] transposed
// CHECK: tensor.expand_shape %{{.+}} {{\[\[}}0, 1, 2], [3]] output_shape [2, 6, 8, 40]
func.func @point(%x: tensor<2x6x8x64xbf16>, %w: tensor<1x1x64x40xbf16> {blockscale.weight}) -> tensor<2x6x8x40xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x6x8x40xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<[3, 2]> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<2x6x8x64xbf16>, tensor<1x1x64x40xbf16>) outs(%zeros : tensor<2x6x8x40xf32>) -> tensor<2x6x8x40xf32>
  return %y : tensor<2x6x8x40xf32>
}

// Channels first: the input and the result are transposed.
// CHECK-LABEL: func.func @point_channels_first
// CHECK: linalg.transpose ins(%{{.+}} : tensor<2x64x6x8xbf16>) outs(%{{.+}} : tensor<2x6x8x64xbf16>) permutation = [0, 2, 3, 1]
// CHECK: %[[W:.+]] = tensor.collapse_shape %{{.+}} {{\[\[}}0], [1, 2, 3]] : tensor<40x64x1x1xbf16> into tensor<40x64xbf16>
// CHECK: blockscale.quantize %[[W]] block [1, 32]
// CHECK: linalg.transpose ins(%{{.+}} : tensor<2x6x8x40xf32>) outs(%{{.+}} : tensor<2x40x6x8xf32>) permutation = [0, 3, 1, 2]
func.func @point_channels_first(%x: tensor<2x64x6x8xbf16>, %w: tensor<40x64x1x1xbf16> {blockscale.weight}) -> tensor<2x40x6x8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x40x6x8xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<2x64x6x8xbf16>, tensor<40x64x1x1xbf16>) outs(%zeros : tensor<2x40x6x8xf32>) -> tensor<2x40x6x8xf32>
  return %y : tensor<2x40x6x8xf32>
}

// A sum that begins with a bias: the product is f32, the bias is added, and the sum is
// rounded once.
// CHECK-LABEL: func.func @bias
// CHECK-SAME: %[[BIAS:[^ ]+]]: tensor<48x40xbf16>
// CHECK: %[[P:.+]] = blockscale.scaled_mm {{.*}} -> tensor<48x40xf32>
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[BIAS]] : tensor<48x40xf32>, tensor<48x40xbf16>)
// CHECK-NEXT: ^bb0(%[[SUM:.+]]: f32, %[[B:.+]]: bf16, %{{.+}}: bf16):
// CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[B]] : bf16 to f32
// CHECK-NEXT: %[[TOTAL:.+]] = arith.addf %[[SUM]], %[[WIDE]] : f32
// CHECK-NEXT: arith.truncf %[[TOTAL]] : f32 to bf16
func.func @bias(%x: tensor<48x64xbf16>, %w: tensor<40x64xbf16> {blockscale.weight}, %bias: tensor<48x40xbf16>) -> tensor<48x40xbf16> {
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w : tensor<48x64xbf16>, tensor<40x64xbf16>) outs(%bias : tensor<48x40xbf16>) -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// Several products: the second reads what is made of the first. The third needs both and is
// needed by none: it is the last projection, which is left.
// CHECK-LABEL: func.func @layers
// CHECK: %[[Y:.+]] = blockscale.scaled_mm
// CHECK: blockscale.quantize %[[Y]]
// CHECK: blockscale.scaled_mm
// CHECK: linalg.matmul
// CHECK-NOT: blockscale.scaled_mm
// CHECK: return
func.func @layers(%x: tensor<48x64xf32>, %w: tensor<64x64xf32> {blockscale.weight}) -> tensor<48x64xf32> {
  %zeros = arith.constant dense<0.0> : tensor<48x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<48x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<48x64xf32>) -> tensor<48x64xf32>
  %z = linalg.matmul ins(%y, %w : tensor<48x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<48x64xf32>) -> tensor<48x64xf32>
  %s = arith.addf %y, %z : tensor<48x64xf32>
  %l = linalg.matmul ins(%s, %w : tensor<48x64xf32>, tensor<64x64xf32>) outs(%zeros : tensor<48x64xf32>) -> tensor<48x64xf32>
  return %l : tensor<48x64xf32>
}
