// RUN: blockscale-opt %s --blockscale-raise-quantizers --split-input-file --verify-diagnostics | FileCheck %s

// Products of elements and scales that are no dequantize stay, with a remark that names
// the clause of RaiseQuantizers.h.
// CHECK-NOT: blockscale.dequantize

// decoder_c1: a scale that need be no power of two.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @wide_scale(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8x2xf32>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  // expected-remark @below {{is not dequantize (decoder_c1): expected scales of f8E8M0FNU, as arith.scaling_extf takes the exponent alone of others, but got f32 beside f4E2M1FN}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8x2xf32>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f32, %o: f32):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f32 to f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// decoder_c1: an NVFP4 scale, of which the exponent alone would be left.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @nvfp4_scale(%q: tensor<8x2x16xf4E2M1FN>, %s: tensor<8x2xf8E4M3FN>, %e: tensor<8x2x16xf32>) -> tensor<8x2x16xf32> {
  // expected-remark @below {{is not dequantize (decoder_c1): expected scales of f8E8M0FNU, as arith.scaling_extf takes the exponent alone of others, but got f8E4M3FN beside f4E2M1FN}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x16xf4E2M1FN>, tensor<8x2xf8E4M3FN>) outs(%e : tensor<8x2x16xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E4M3FN, %o: f32):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f8E4M3FN to f32
    linalg.yield %t : f32
  } -> tensor<8x2x16xf32>
  return %w : tensor<8x2x16xf32>
}

// -----

// decoder_c1: no format has these elements and scales.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @e4m3_beside_f8(%q: tensor<8x2x32xf8E5M2>, %s: tensor<8x2xf8E4M3FN>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  // expected-remark @below {{is not dequantize (decoder_c1): expected scales of f8E8M0FNU, or of f8E4M3FN beside f4E2M1FN, but got f8E4M3FN beside f8E5M2}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf8E5M2>, tensor<8x2xf8E4M3FN>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f8E5M2, %c: f8E4M3FN, %o: f32):
    %0 = arith.extf %i : f8E5M2 to f32
    %1 = arith.extf %c : f8E4M3FN to f32
    %t = arith.mulf %0, %1 : f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// decoder_c1: blocks of another size.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @blocks_of_16(%q: tensor<8x2x16xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %e: tensor<8x2x16xf32>) -> tensor<8x2x16xf32> {
  // expected-remark @below {{is not dequantize (decoder_c1): expected a tensor of one f8E8M0FNU for 32 neighbours, but got one for 16}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x16xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x16xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %t : f32
  } -> tensor<8x2x16xf32>
  return %w : tensor<8x2x16xf32>
}

// -----

// decoder_c1: one scale for a row.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @rows(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8xf8E8M0FNU>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  // expected-remark @below {{is not dequantize (decoder_c1): expected a tensor of one f8E8M0FNU for 32 neighbours, but got one for 64}}
  %w = linalg.generic {indexing_maps = [#e, affine_map<(m, k, b) -> (m)>, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8xf8E8M0FNU>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// decoder_c2: products in f16, where 2^127 is infinite.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @halves(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %e: tensor<8x2x32xf16>) -> tensor<8x2x32xf16> {
  // expected-remark @below {{is not dequantize (decoder_c2): expected products in f32 or bf16, but got f16}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf16>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f16):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f16
    linalg.yield %t : f16
  } -> tensor<8x2x32xf16>
  return %w : tensor<8x2x32xf16>
}

// -----

// decoder_c2: values that are quantized again, which no dequantize gives.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @codes(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %e: tensor<8x2x32xf8E4M3FN>) -> tensor<8x2x32xf8E4M3FN> {
  // expected-remark @below {{is not dequantize (decoder_c2): expected values of f32, bf16 or f16, but got f8E4M3FN}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf8E4M3FN>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f8E4M3FN):
    %0 = arith.extf %i : f4E2M1FN to f32
    %1 = arith.extf %c : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %t = arith.truncf %2 : f32 to f8E4M3FN
    linalg.yield %t : f8E4M3FN
  } -> tensor<8x2x32xf8E4M3FN>
  return %w : tensor<8x2x32xf8E4M3FN>
}

// -----

// A scale of f32 for blocks is none of a format, and gets no remark.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @per_tensor(%q: tensor<8x2x32xf8E4M3FN>, %s: tensor<8x2xf32>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf8E4M3FN>, tensor<8x2xf32>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f8E4M3FN, %c: f32, %o: f32):
    %0 = arith.extf %i : f8E4M3FN to f32
    %t = arith.mulf %0, %c : f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// Scales that others than neighbours share.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @strided(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<2x32xf8E8M0FNU>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  %w = linalg.generic {indexing_maps = [#e, affine_map<(m, k, b) -> (k, b)>, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<2x32xf8E8M0FNU>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// decoder_c4: a global scale beside powers of two.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @global(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %g: f32, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  // expected-remark @below {{is not dequantize (decoder_c4): expected no global scale beside f8E8M0FNU, but got one}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %0 = arith.extf %i : f4E2M1FN to f32
    %1 = arith.extf %c : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %t = arith.mulf %2, %g : f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// decoder_c3: one row without a second dimension, and scales in a layout.
#swizzled = #blockscale.layout<swizzle_128x4>
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @vector(%q: tensor<2x32xf4E2M1FN>, %s: tensor<2xf8E8M0FNU>, %v: tensor<64xf4E2M1FN>, %r: tensor<8x2x32xf4E2M1FN>, %t: tensor<8x2xf8E8M0FNU, #swizzled>, %e: tensor<8x2x32xf32>) -> (tensor<64xf32>, tensor<8x2x32xf32>) {
  %b = tensor.empty() : tensor<2x32xf8E8M0FNU>
  %l = linalg.broadcast ins(%s : tensor<2xf8E8M0FNU>) outs(%b : tensor<2x32xf8E8M0FNU>) dimensions = [1]
  %c = tensor.collapse_shape %l [[0, 1]] : tensor<2x32xf8E8M0FNU> into tensor<64xf8E8M0FNU>
  // expected-remark @below {{is not dequantize (decoder_c3): expected matrices with a last dimension of a static multiple of 32, but got tensor<64xf4E2M1FN>}}
  %w = arith.scaling_extf %v, %c : tensor<64xf4E2M1FN>, tensor<64xf8E8M0FNU> to tensor<64xf32>
  // expected-remark @below {{is not dequantize (decoder_c3): expected tensors without an encoding, but got tensor<8x2xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>}}
  %x = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r, %t : tensor<8x2x32xf4E2M1FN>, tensor<8x2xf8E8M0FNU, #swizzled>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %k: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %i, %k : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %0 : f32
  } -> tensor<8x2x32xf32>
  return %w, %x : tensor<64xf32>, tensor<8x2x32xf32>
}

// -----

// decoder_c3: scales, and a result, of a number of rows that is known at run time, in another
// shape than the data.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @dynamic(%q: tensor<?x64xf4E2M1FN>, %s: tensor<?xf8E8M0FNU>, %t: tensor<?x2xf8E8M0FNU>, %n: index, %e: tensor<?x2x32xf32>) -> (tensor<?x2x32xf32>, tensor<?x2x32xf32>) {
  %b = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xf4E2M1FN> into tensor<?x2x32xf4E2M1FN>
  %p = tensor.expand_shape %s [[0, 1]] output_shape [%n, 2] : tensor<?xf8E8M0FNU> into tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not dequantize (decoder_c3): expected scales of the shape of the blocks, but got tensor<?xf8E8M0FNU>}}
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b, %p : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) outs(%e : tensor<?x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %0 : f32
  } -> tensor<?x2x32xf32>
  // expected-remark @below {{is not dequantize (decoder_c3): expected a result of the shape of the data, but got tensor<?x2x32xf32>}}
  %x = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b, %t : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) outs(%e : tensor<?x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %0 = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %0 : f32
  } -> tensor<?x2x32xf32>
  return %w, %x : tensor<?x2x32xf32>, tensor<?x2x32xf32>
}

// -----

// One column of several of the scales for all blocks of a row, which gets no remark.
#e = affine_map<(m, k, b) -> (m, k, b)>
func.func @column(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8x4xf8E8M0FNU>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  %w = linalg.generic {indexing_maps = [#e, affine_map<(m, k, b) -> (m, 0)>, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8x4xf8E8M0FNU>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %t = arith.scaling_extf %i, %c : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// A scale by an op without loops, for all blocks, which gets a remark as any other does.
#e = affine_map<(m, k, b) -> (m, k, b)>
func.func @without_loops(%q: tensor<8x2x32xf4E2M1FN>, %c: f8E8M0FNU, %s: tensor<1xf8E8M0FNU>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  %one = linalg.generic {indexing_maps = [affine_map<() -> (0)>], iterator_types = []} outs(%s : tensor<1xf8E8M0FNU>) {
  ^bb0(%o: f8E8M0FNU):
    linalg.yield %c : f8E8M0FNU
  } -> tensor<1xf8E8M0FNU>
  // expected-remark @below {{is not dequantize (decoder_c1): expected a tensor of one f8E8M0FNU for 32 neighbours, but got one for 0}}
  %w = linalg.generic {indexing_maps = [#e, affine_map<(m, k, b) -> (0)>, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %one : tensor<8x2x32xf4E2M1FN>, tensor<1xf8E8M0FNU>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %j: f8E8M0FNU, %o: f32):
    %t = arith.scaling_extf %i, %j : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// Scales that f16 rounds on the way to f32, which gets no remark.
#e = affine_map<(m, k, b) -> (m, k, b)>
#s = affine_map<(m, k, b) -> (m, k)>
func.func @through_f16(%q: tensor<8x2x32xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>, %e: tensor<8x2x32xf32>) -> tensor<8x2x32xf32> {
  %w = linalg.generic {indexing_maps = [#e, #s, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %s : tensor<8x2x32xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E8M0FNU, %o: f32):
    %0 = arith.extf %i : f4E2M1FN to f32
    %1 = arith.extf %c : f8E8M0FNU to f16
    %2 = arith.extf %1 : f16 to f32
    %t = arith.mulf %0, %2 : f32
    linalg.yield %t : f32
  } -> tensor<8x2x32xf32>
  return %w : tensor<8x2x32xf32>
}

// -----

// A factor of more neighbours than 64 bits count is not one of all elements. It gets no remark.
func.func @many_neighbours(%q: tensor<2x8x4294967296x4294967296x16xf4E2M1FN>, %s: tensor<2x8x4294967296x4294967296xf8E4M3FN>, %g: tensor<2xf32>, %e: tensor<2x8x4294967296x4294967296x16xf32>) -> tensor<2x8x4294967296x4294967296x16xf32> {
  %w = linalg.generic {indexing_maps = [affine_map<(a, m, n, k, b) -> (a, m, n, k, b)>, affine_map<(a, m, n, k, b) -> (a, m, n, k)>, affine_map<(a, m, n, k, b) -> (a)>, affine_map<(a, m, n, k, b) -> (a, m, n, k, b)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%q, %s, %g : tensor<2x8x4294967296x4294967296x16xf4E2M1FN>, tensor<2x8x4294967296x4294967296xf8E4M3FN>, tensor<2xf32>) outs(%e : tensor<2x8x4294967296x4294967296x16xf32>) {
  ^bb0(%i: f4E2M1FN, %c: f8E4M3FN, %j: f32, %o: f32):
    %0 = arith.extf %i : f4E2M1FN to f32
    %1 = arith.extf %c : f8E4M3FN to f32
    %2 = arith.mulf %j, %1 : f32
    %3 = arith.mulf %0, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x8x4294967296x4294967296x16xf32>
  return %w : tensor<2x8x4294967296x4294967296x16xf32>
}
