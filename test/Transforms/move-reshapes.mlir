// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-move-reshapes))' -split-input-file | FileCheck %s

#id = affine_map<(i, j, k) -> (i, j, k)>
#rows = affine_map<(i, j, k) -> (i, j)>
#cols = affine_map<(i, j, k) -> (k)>

// An elementwise op takes the matrix that the product makes, and the other operands so, too.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: %[[X:.+]]: tensor<128x32xbf16>, %[[W:.+]]: tensor<96x32xbf16>, %[[Z:.+]]: tensor<2x64x96xbf16>, %[[R:.+]]: tensor<2x64xf32>, %[[C:.+]]: tensor<96xf32>
// CHECK-DAG: %[[Y:.+]] = blockscale.scaled_mm %[[X]], %[[W]]
// CHECK-DAG: %[[FZ:.+]] = tensor.collapse_shape %[[Z]] {{\[}}[0, 1], [2]]
// CHECK-DAG: %[[FR:.+]] = tensor.collapse_shape %[[R]] {{\[}}[0, 1]]
// CHECK: %[[G:.+]] = linalg.generic {{.*}} ins(%[[Y]], %[[FZ]], %[[FR]], %[[C]] : tensor<128x96xf32>, tensor<128x96xbf16>, tensor<128xf32>, tensor<96xf32>)
// CHECK: %[[E:.+]] = tensor.expand_shape %[[G]] {{\[}}[0, 1], [2]] output_shape [2, 64, 96]
// CHECK: return %[[E]]
func.func @elementwise(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>, %z: tensor<2x64x96xbf16>, %r: tensor<2x64xf32>, %c: tensor<96xf32>) -> tensor<2x64x96xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xf32>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xf32> into tensor<2x64x96xf32>
  %e = tensor.empty() : tensor<2x64x96xbf16>
  %g = linalg.generic {indexing_maps = [#id, #id, #rows, #cols, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %z, %r, %c : tensor<2x64x96xf32>, tensor<2x64x96xbf16>, tensor<2x64xf32>, tensor<96xf32>) outs(%e : tensor<2x64x96xbf16>) {
  ^bb0(%p: f32, %q: bf16, %t: f32, %u: f32, %o: bf16):
    %0 = arith.extf %q : bf16 to f32
    %1 = arith.addf %p, %0 : f32
    %2 = arith.mulf %1, %t : f32
    %3 = arith.mulf %2, %u : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16
  } -> tensor<2x64x96xbf16>
  return %g : tensor<2x64x96xbf16>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#id3 = affine_map<(i, j, k) -> (i, j, k)>

// Behind one op the next one follows, of dynamic sizes, and the quantization of its rows; what
// takes the codes as a matrix again finds no reshape.
// CHECK-LABEL: func.func @quantized
// CHECK-SAME: %[[X:.+]]: tensor<?x32xbf16>, %[[W:.+]]: tensor<96x32xbf16>
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[X]], %[[W]]
// CHECK: %[[F:.+]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<?x96xf32>)
// CHECK: %[[G:.+]] = linalg.generic {{.*}} ins(%[[F]] : tensor<?x96xbf16>)
// CHECK: %[[D:.+]], %[[S:.+]] = blockscale.quantize %[[G]] block [1, 32] : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
// CHECK: %[[T:.+]] = tensor.expand_shape %[[S]] {{\[}}[0, 1], [2]] output_shape [2, %{{.+}}, 3]
// CHECK: return %[[D]], %[[T]]
func.func @quantized(%x: tensor<?x32xbf16>, %w: tensor<96x32xbf16>, %n: index) -> (tensor<?x96xf8E4M3FN>, tensor<2x?x3xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<?x32xbf16>, tensor<96x32xbf16> -> tensor<?x96xf32>
  %m = tensor.dim %x, %c0 : tensor<?x32xbf16>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %f = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x96xf32>) outs(%e : tensor<?x96xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %0 = arith.truncf %p : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x96xbf16>
  %s = tensor.expand_shape %f [[0, 1], [2]] output_shape [2, %n, 96] : tensor<?x96xbf16> into tensor<2x?x96xbf16>
  %e3 = tensor.empty(%n) : tensor<2x?x96xbf16>
  %g = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x?x96xbf16>) outs(%e3 : tensor<2x?x96xbf16>) {
  ^bb0(%p: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<2x?x96xbf16>
  %q, %t = blockscale.quantize %g block [1, 32] : tensor<2x?x96xbf16> -> tensor<2x?x96xf8E4M3FN>, tensor<2x?x3xf8E8M0FNU>
  %c = tensor.collapse_shape %q [[0, 1], [2]] : tensor<2x?x96xf8E4M3FN> into tensor<?x96xf8E4M3FN>
  return %c, %t : tensor<?x96xf8E4M3FN>, tensor<2x?x3xf8E8M0FNU>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#id2 = affine_map<(i, j) -> (i, j)>

// The matrices of a batch that are made one come behind what follows, too; and of two products
// that an op takes, other ops may need the results.
// CHECK-LABEL: func.func @joined
// CHECK: %[[Y:.+]] = blockscale.scaled_mm
// CHECK: %[[Z:.+]] = blockscale.scaled_mm
// CHECK: %[[G:.+]] = linalg.generic {{.*}} ins(%[[Y]], %[[Z]] : tensor<2x64x96xf32>, tensor<2x64x96xf32>)
// CHECK: tensor.collapse_shape %[[G]] {{\[}}[0, 1], [2]]
func.func @joined(%x: tensor<2x64x32xbf16>, %w: tensor<2x96x32xbf16>, %v: tensor<2x96x32xbf16>) -> (tensor<128x96xf32>, tensor<128x96xf32>) {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<2x64x32xbf16>, tensor<2x96x32xbf16> -> tensor<2x64x96xf32>
  %z = blockscale.scaled_mm %x, %v scales(none, none) block [1, 16] : tensor<2x64x32xbf16>, tensor<2x96x32xbf16> -> tensor<2x64x96xf32>
  %s = tensor.collapse_shape %y [[0, 1], [2]] : tensor<2x64x96xf32> into tensor<128x96xf32>
  %t = tensor.collapse_shape %z [[0, 1], [2]] : tensor<2x64x96xf32> into tensor<128x96xf32>
  %e = tensor.empty() : tensor<128x96xf32>
  %g = linalg.generic {indexing_maps = [#id2, #id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%s, %t : tensor<128x96xf32>, tensor<128x96xf32>) outs(%e : tensor<128x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<128x96xf32>
  return %g, %s : tensor<128x96xf32>, tensor<128x96xf32>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j)>

// What a norm begins with is computed by its kernel, so that it stays with it; and so does what
// others need beside it.
// CHECK-LABEL: func.func @norm
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.*}} ins(%[[E]] : tensor<2x64x96xf32>)
// CHECK-LABEL: func.func @shared
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.*}} ins(%[[E]] : tensor<2x64x96xf32>)
func.func @norm(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>, %f: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xf32>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xf32> into tensor<2x64x96xf32>
  %e = tensor.empty() : tensor<2x64x96xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x64x96xf32>) outs(%e : tensor<2x64x96xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.mulf %p, %p : f32
    linalg.yield %0 : f32
  } -> tensor<2x64x96xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g : tensor<2x64x96xf32>) outs(%f : tensor<2x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %p, %o : f32
    linalg.yield %0 : f32
  } -> tensor<2x64xf32>
  return %r : tensor<2x64xf32>
}
func.func @shared(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>) -> (tensor<2x64x96xf32>, tensor<2x64x96xf32>) {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xf32>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xf32> into tensor<2x64x96xf32>
  %e = tensor.empty() : tensor<2x64x96xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x64x96xf32>) outs(%e : tensor<2x64x96xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.mulf %p, %p : f32
    linalg.yield %0 : f32
  } -> tensor<2x64x96xf32>
  return %g, %s : tensor<2x64x96xf32>, tensor<2x64x96xf32>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>

// Reshapes of the last dimension, of what no product makes, and before ops that are not
// elementwise stay.
// CHECK-LABEL: func.func @last_dimension
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.*}} ins(%[[E]] : tensor<128x2x48xf32>)
// CHECK-LABEL: func.func @no_product
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: linalg.generic {{.*}} ins(%[[E]] : tensor<2x64x96xf32>)
// CHECK-LABEL: func.func @moved
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: linalg.transpose ins(%[[E]] : tensor<2x64x96xf32>)
func.func @last_dimension(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>) -> tensor<128x2x48xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xf32>
  %s = tensor.expand_shape %y [[0], [1, 2]] output_shape [128, 2, 48] : tensor<128x96xf32> into tensor<128x2x48xf32>
  %e = tensor.empty() : tensor<128x2x48xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<128x2x48xf32>) outs(%e : tensor<128x2x48xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.mulf %p, %p : f32
    linalg.yield %0 : f32
  } -> tensor<128x2x48xf32>
  return %g : tensor<128x2x48xf32>
}
func.func @no_product(%y: tensor<128x96xf32>) -> tensor<2x64x96xf32> {
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xf32> into tensor<2x64x96xf32>
  %e = tensor.empty() : tensor<2x64x96xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x64x96xf32>) outs(%e : tensor<2x64x96xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.mulf %p, %p : f32
    linalg.yield %0 : f32
  } -> tensor<2x64x96xf32>
  return %g : tensor<2x64x96xf32>
}
func.func @moved(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>) -> tensor<64x2x96xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xf32>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xf32> into tensor<2x64x96xf32>
  %e = tensor.empty() : tensor<64x2x96xf32>
  %g = linalg.transpose ins(%s : tensor<2x64x96xf32>) outs(%e : tensor<64x2x96xf32>) permutation = [1, 0, 2]
  return %g : tensor<64x2x96xf32>
}

// -----

// Tiles of scales are those of the matrices that are quantized, and values of each matrix belong
// to these.
// CHECK-LABEL: func.func @tiles
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: blockscale.quantize %[[E]]
// CHECK-LABEL: func.func @globals
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: blockscale.quantize %[[E]]
// CHECK-LABEL: func.func @tall
// CHECK: %[[E:.+]] = tensor.expand_shape
// CHECK: blockscale.quantize %[[E]]
func.func @tiles(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>) -> (tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>) {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xbf16>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xbf16> into tensor<2x64x96xbf16>
  %q, %t = blockscale.quantize %s block [1, 32] : tensor<2x64x96xbf16> -> tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
  return %q, %t : tensor<2x64x96xf8E4M3FN>, tensor<2x64x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
}
func.func @globals(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>, %g: tensor<2xf32>) -> (tensor<2x64x96xf4E2M1FN>, tensor<2x64x6xf8E4M3FN>) {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xbf16>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xbf16> into tensor<2x64x96xbf16>
  %q, %t = blockscale.quantize %s block [1, 16] global_scale(%g : tensor<2xf32>) : tensor<2x64x96xbf16> -> tensor<2x64x96xf4E2M1FN>, tensor<2x64x6xf8E4M3FN>
  return %q, %t : tensor<2x64x96xf4E2M1FN>, tensor<2x64x6xf8E4M3FN>
}
func.func @tall(%x: tensor<128x32xbf16>, %w: tensor<96x32xbf16>) -> (tensor<2x64x96xf8E4M3FN>, tensor<2x2x96xf8E8M0FNU>) {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<128x32xbf16>, tensor<96x32xbf16> -> tensor<128x96xbf16>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 64, 96] : tensor<128x96xbf16> into tensor<2x64x96xbf16>
  %q, %t = blockscale.quantize %s block [32, 1] : tensor<2x64x96xbf16> -> tensor<2x64x96xf8E4M3FN>, tensor<2x2x96xf8E8M0FNU>
  return %q, %t : tensor<2x64x96xf8E4M3FN>, tensor<2x2x96xf8E8M0FNU>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>

// Dimensions of size 1 that stand with the last one are those of the rows as well. Where the
// dimension before the last one is not 1, a reshape cuts rows, and stays.
// CHECK-LABEL: func.func @units
// CHECK: %[[Y:.+]] = blockscale.scaled_mm
// CHECK: %[[G:.+]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<1x96xf32>)
// CHECK: tensor.expand_shape %[[G]] {{\[}}[0, 1], [2]] output_shape [1, 1, 96]
// CHECK-LABEL: func.func @cut
// CHECK: tensor.expand_shape %{{.+}} {{\[}}[0], [1, 2]] output_shape [1, 2, 48]
// CHECK: linalg.generic {{.*}} ins(%{{.+}} : tensor<1x2x48xf32>)
func.func @units(%x: tensor<1x32xbf16>, %w: tensor<96x32xbf16>) -> tensor<1x1x96xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<1x32xbf16>, tensor<96x32xbf16> -> tensor<1x96xf32>
  %s = tensor.expand_shape %y [[0], [1, 2]] output_shape [1, 1, 96] : tensor<1x96xf32> into tensor<1x1x96xf32>
  %e = tensor.empty() : tensor<1x1x96xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<1x1x96xf32>) outs(%e : tensor<1x1x96xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<1x1x96xf32>
  return %g : tensor<1x1x96xf32>
}
func.func @cut(%x: tensor<1x32xbf16>, %w: tensor<96x32xbf16>) -> tensor<1x2x48xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<1x32xbf16>, tensor<96x32xbf16> -> tensor<1x96xf32>
  %s = tensor.expand_shape %y [[0], [1, 2]] output_shape [1, 2, 48] : tensor<1x96xf32> into tensor<1x2x48xf32>
  %e = tensor.empty() : tensor<1x2x48xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<1x2x48xf32>) outs(%e : tensor<1x2x48xf32>) {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.negf %p : f32
    linalg.yield %0 : f32
  } -> tensor<1x2x48xf32>
  return %g : tensor<1x2x48xf32>
}

// -----

// Where the rows of an operand are gathered, the dimensions that make up the batch stay apart up
// to the product, also those of the other operand and of the result.
// CHECK-LABEL: func.func @gathered
// CHECK-SAME: %[[X:.+]]: tensor<?x70x3x32xbf16>, %[[W:.+]]: tensor<?x64x32xbf16>
// CHECK: %[[A:.+]] = linalg.transpose ins(%[[X]] : tensor<?x70x3x32xbf16>)
// CHECK: %[[B:.+]] = tensor.expand_shape %[[W]] {{\[}}[0, 1], [2], [3]] output_shape [%{{.+}}, 3, 64, 32]
// CHECK: %[[Y:.+]] = blockscale.scaled_mm %[[A]], %[[B]] scales(none, none) block [1, 16] : tensor<?x3x70x32xbf16>, tensor<?x3x64x32xbf16> -> tensor<?x3x70x64xf32>
// CHECK: tensor.collapse_shape %[[Y]] {{\[}}[0, 1], [2], [3]]
func.func @gathered(%x: tensor<?x70x3x32xbf16>, %w: tensor<?x64x32xbf16>, %e: tensor<?x3x70x32xbf16>) -> tensor<?x70x64xf32> {
  %a = linalg.transpose ins(%x : tensor<?x70x3x32xbf16>) outs(%e : tensor<?x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %a [[0, 1], [2], [3]] : tensor<?x3x70x32xbf16> into tensor<?x70x32xbf16>
  %y = blockscale.scaled_mm %c, %w scales(none, none) block [1, 16] : tensor<?x70x32xbf16>, tensor<?x64x32xbf16> -> tensor<?x70x64xf32>
  return %y : tensor<?x70x64xf32>
}

// -----

// The same where the rows of the result are scattered.
// CHECK-LABEL: func.func @scattered
// CHECK: %[[Y:.+]] = blockscale.scaled_mm {{.+}} -> tensor<2x3x70x64xf32>
// CHECK-NEXT: linalg.transpose ins(%[[Y]] : tensor<2x3x70x64xf32>)
func.func @scattered(%x: tensor<6x70x32xbf16>, %w: tensor<6x64x32xbf16>, %e: tensor<2x70x3x64xf32>) -> tensor<2x70x3x64xf32> {
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<6x70x32xbf16>, tensor<6x64x32xbf16> -> tensor<6x70x64xf32>
  %s = tensor.expand_shape %y [[0, 1], [2], [3]] output_shape [2, 3, 70, 64] : tensor<6x70x64xf32> into tensor<2x3x70x64xf32>
  %r = linalg.transpose ins(%s : tensor<2x3x70x64xf32>) outs(%e : tensor<2x70x3x64xf32>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x70x3x64xf32>
}

// -----

// Two sizes of a batch that nobody knows do not follow from their product, which is all that the
// other operand tells; and a matrix that is reshaped, too, is another matrix.
// CHECK-LABEL: func.func @unknown
// CHECK: blockscale.scaled_mm {{.+}} -> tensor<?x70x64xf32>
// CHECK-LABEL: func.func @matrix
// CHECK: blockscale.scaled_mm {{.+}} -> tensor<3x140x64xf32>
func.func @unknown(%x: tensor<?x70x?x32xbf16>, %w: tensor<?x64x32xbf16>, %e: tensor<?x?x70x32xbf16>) -> tensor<?x70x64xf32> {
  %a = linalg.transpose ins(%x : tensor<?x70x?x32xbf16>) outs(%e : tensor<?x?x70x32xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %a [[0, 1], [2], [3]] : tensor<?x?x70x32xbf16> into tensor<?x70x32xbf16>
  %y = blockscale.scaled_mm %c, %w scales(none, none) block [1, 16] : tensor<?x70x32xbf16>, tensor<?x64x32xbf16> -> tensor<?x70x64xf32>
  return %y : tensor<?x70x64xf32>
}
func.func @matrix(%x: tensor<70x3x2x32xbf16>, %w: tensor<3x64x32xbf16>, %e: tensor<3x2x70x32xbf16>) -> tensor<3x140x64xf32> {
  %a = linalg.transpose ins(%x : tensor<70x3x2x32xbf16>) outs(%e : tensor<3x2x70x32xbf16>) permutation = [1, 2, 0, 3]
  %c = tensor.collapse_shape %a [[0], [1, 2], [3]] : tensor<3x2x70x32xbf16> into tensor<3x140x32xbf16>
  %y = blockscale.scaled_mm %c, %w scales(none, none) block [1, 16] : tensor<3x140x32xbf16>, tensor<3x64x32xbf16> -> tensor<3x140x64xf32>
  return %y : tensor<3x140x64xf32>
}

// -----

// One global scale is that of all matrices of every batch. One of each matrix would have to be reshaped
// as well, so its product keeps the batch that it has.
// CHECK-LABEL: func.func @one_scale
// CHECK: blockscale.scaled_mm {{.+}} global_scale_b(%{{.+}} : tensor<f32>) : {{.+}} -> tensor<2x3x70x64xf32>
// CHECK-LABEL: func.func @scales
// CHECK: blockscale.scaled_mm {{.+}} global_scale_b(%{{.+}} : tensor<6xf32>) : {{.+}} -> tensor<6x70x64xf32>
func.func @one_scale(%x: tensor<2x70x3x32xbf16>, %w: tensor<6x64x32xbf16>, %e: tensor<2x3x70x32xbf16>, %g: tensor<f32>) -> tensor<6x70x64xf32> {
  %a = linalg.transpose ins(%x : tensor<2x70x3x32xbf16>) outs(%e : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %a [[0, 1], [2], [3]] : tensor<2x3x70x32xbf16> into tensor<6x70x32xbf16>
  %y = blockscale.scaled_mm %c, %w scales(none, none) block [1, 16] global_scale_b(%g : tensor<f32>) : tensor<6x70x32xbf16>, tensor<6x64x32xbf16> -> tensor<6x70x64xf32>
  return %y : tensor<6x70x64xf32>
}
func.func @scales(%x: tensor<2x70x3x32xbf16>, %w: tensor<6x64x32xbf16>, %e: tensor<2x3x70x32xbf16>, %g: tensor<6xf32>) -> tensor<6x70x64xf32> {
  %a = linalg.transpose ins(%x : tensor<2x70x3x32xbf16>) outs(%e : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %a [[0, 1], [2], [3]] : tensor<2x3x70x32xbf16> into tensor<6x70x32xbf16>
  %y = blockscale.scaled_mm %c, %w scales(none, none) block [1, 16] global_scale_b(%g : tensor<6xf32>) : tensor<6x70x32xbf16>, tensor<6x64x32xbf16> -> tensor<6x70x64xf32>
  return %y : tensor<6x70x64xf32>
}
