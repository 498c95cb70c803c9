// RUN: blockscale-opt %s --blockscale-raise-quantizers | FileCheck %s

// Products of elements and scales become dequantize.

#e3 = affine_map<(m, k, b) -> (m, k, b)>
#s3 = affine_map<(m, k, b) -> (m, k)>
#e2 = affine_map<(m, k) -> (m, k)>
#none = affine_map<(m, k) -> ()>
// Elements of a block as a dimension, as arith.scaling_extf wants them.
// CHECK-LABEL: func.func @scaling
// CHECK-SAME: %[[Q:.+]]: tensor<40x2x32xf4E2M1FN>, %[[S:.+]]: tensor<40x2xf8E8M0FNU>
// CHECK-NEXT: %[[D:.+]] = tensor.collapse_shape %[[Q]] {{\[\[}}0], [1, 2]] : {{.*}} into tensor<40x64xf4E2M1FN>
// CHECK-NEXT: %[[V:.+]] = blockscale.dequantize %[[D]], %[[S]] block [1, 32] : {{.*}} -> tensor<40x64xbf16>
// CHECK-NEXT: %[[W:.+]] = tensor.expand_shape %[[V]] {{\[\[}}0], [1, 2]] output_shape [40, 2, 32]
// CHECK-NEXT: return %[[W]]
func.func @scaling(%q: tensor<40x2x32xf4E2M1FN>, %s: tensor<40x2xf8E8M0FNU>, %e: tensor<40x2x32xbf16>) -> tensor<40x2x32xbf16> {
  %w = linalg.generic {indexing_maps = [#e3, #s3, #e3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<40x2x32xf4E2M1FN>, tensor<40x2xf8E8M0FNU>) outs(%e : tensor<40x2x32xbf16>) {
  ^bb0(%in: f4E2M1FN, %scale: f8E8M0FNU, %out: bf16):
    %0 = arith.scaling_extf %in, %scale : f4E2M1FN, f8E8M0FNU to bf16
    linalg.yield %0 : bf16
  } -> tensor<40x2x32xbf16>
  return %w : tensor<40x2x32xbf16>
}
// Ops on tensors, with scales repeated by a broadcast and a reshape.
// CHECK-LABEL: func.func @tensors
// CHECK-SAME: %[[Q:.+]]: tensor<?x64xf8E4M3FN>, %[[S:.+]]: tensor<?x2xf8E8M0FNU>
// CHECK-NEXT: %[[V:.+]] = blockscale.dequantize %[[Q]], %[[S]] block [1, 32] : {{.*}} -> tensor<?x64xf32>
// CHECK-NEXT: return %[[V]]
func.func @tensors(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>, %e: tensor<?x2x32xf8E8M0FNU>) -> tensor<?x64xf32> {
  %r = linalg.broadcast ins(%s : tensor<?x2xf8E8M0FNU>) outs(%e : tensor<?x2x32xf8E8M0FNU>) dimensions = [2]
  %c = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x2x32xf8E8M0FNU> into tensor<?x64xf8E8M0FNU>
  %w = arith.scaling_extf %q, %c : tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU> to tensor<?x64xf32>
  return %w : tensor<?x64xf32>
}
// NVFP4 by hand, with a global scale that multiplies the scale first, or the product last.
// CHECK-LABEL: func.func @nvfp4
// CHECK-SAME: %[[Q:.+]]: tensor<8x4x16xf4E2M1FN>, %[[S:.+]]: tensor<8x4x1xf8E4M3FN>, %[[G:.+]]: tensor<f32>
// CHECK: blockscale.dequantize %{{.+}}, %{{.+}} block [1, 16] global_scale(%[[G]] : tensor<f32>) : tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN> -> tensor<8x64xf32>
// CHECK: blockscale.dequantize %{{.+}}, %{{.+}} block [1, 16] recipe modelopt global_scale(%[[G]] : tensor<f32>)
// CHECK-NOT: linalg.generic
func.func @nvfp4(%q: tensor<8x4x16xf4E2M1FN>, %s: tensor<8x4x1xf8E4M3FN>, %g: tensor<f32>, %e: tensor<8x4x16xf32>) -> (tensor<8x4x16xf32>, tensor<8x4x16xf32>) {
  %w = linalg.generic {indexing_maps = [#e3, affine_map<(m, k, b) -> (m, k, 0)>, affine_map<(m, k, b) -> ()>, #e3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s, %g : tensor<8x4x16xf4E2M1FN>, tensor<8x4x1xf8E4M3FN>, tensor<f32>) outs(%e : tensor<8x4x16xf32>) {
  ^bb0(%in: f4E2M1FN, %scale: f8E4M3FN, %n: f32, %out: f32):
    %0 = arith.extf %scale : f8E4M3FN to f32
    %1 = arith.mulf %0, %n : f32
    %2 = arith.extf %in : f4E2M1FN to f32
    %3 = arith.mulf %2, %1 : f32
    linalg.yield %3 : f32
  } -> tensor<8x4x16xf32>
  %v = linalg.generic {indexing_maps = [#e3, affine_map<(m, k, b) -> (m, k, 0)>, affine_map<(m, k, b) -> ()>, #e3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s, %g : tensor<8x4x16xf4E2M1FN>, tensor<8x4x1xf8E4M3FN>, tensor<f32>) outs(%e : tensor<8x4x16xf32>) {
  ^bb0(%in: f4E2M1FN, %scale: f8E4M3FN, %n: f32, %out: f32):
    %0 = arith.extf %scale : f8E4M3FN to f32
    %2 = arith.extf %in : f4E2M1FN to f32
    %3 = arith.mulf %2, %0 : f32
    %4 = arith.mulf %3, %n : f32
    linalg.yield %4 : f32
  } -> tensor<8x4x16xf32>
  return %w, %v : tensor<8x4x16xf32>, tensor<8x4x16xf32>
}
// One block for each row, rounded to f16 behind the product.
// CHECK-LABEL: func.func @one_block
// CHECK-NEXT: blockscale.dequantize %{{.+}}, %{{.+}} block [1, 32] : tensor<8x32xf6E3M2FN>, tensor<8x1xf8E8M0FNU> -> tensor<8x32xf16>
func.func @one_block(%q: tensor<8x32xf6E3M2FN>, %s: tensor<8x1xf8E8M0FNU>, %e: tensor<8x32xf32>, %t: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %w = linalg.generic {indexing_maps = [#e2, affine_map<(m, k) -> (m, 0)>, #e2], iterator_types = ["parallel", "parallel"]} ins(%q, %s : tensor<8x32xf6E3M2FN>, tensor<8x1xf8E8M0FNU>) outs(%t : tensor<8x32xf16>) {
  ^bb0(%in: f6E3M2FN, %scale: f8E8M0FNU, %out: f16):
    %0 = arith.extf %in : f6E3M2FN to f32
    %1 = arith.extf %scale : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<8x32xf16>
  return %w : tensor<8x32xf16>
}

// Blocks of an unknown number.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[Q:.+]]: tensor<?x?x32xf8E5M2>, %[[S:.+]]: tensor<?x?xf8E8M0FNU>
// CHECK: %[[D:.+]] = tensor.collapse_shape %[[Q]] {{\[\[}}0], [1, 2]] : {{.*}} into tensor<?x?xf8E5M2>
// CHECK: %[[V:.+]] = blockscale.dequantize %[[D]], %[[S]] block [1, 32] : {{.*}} -> tensor<?x?xbf16>
// CHECK: tensor.expand_shape %[[V]] {{\[\[}}0], [1, 2]] output_shape [%{{.+}}, %{{.+}}, 32]
func.func @dynamic(%q: tensor<?x?x32xf8E5M2>, %s: tensor<?x?xf8E8M0FNU>, %e: tensor<?x?x32xbf16>) -> tensor<?x?x32xbf16> {
  %w = linalg.generic {indexing_maps = [#e3, #s3, #e3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<?x?x32xf8E5M2>, tensor<?x?xf8E8M0FNU>) outs(%e : tensor<?x?x32xbf16>) {
  ^bb0(%in: f8E5M2, %scale: f8E8M0FNU, %out: bf16):
    %0 = arith.extf %in : f8E5M2 to bf16
    %1 = arith.extf %scale : f8E8M0FNU to bf16
    %2 = arith.mulf %0, %1 : bf16
    linalg.yield %2 : bf16
  } -> tensor<?x?x32xbf16>
  return %w : tensor<?x?x32xbf16>
}
