// RUN: blockscale-opt %s --blockscale-raise-quantizers --split-input-file --verify-diagnostics | FileCheck %s

// Casts that are no quantize stay, with a remark that names the clause of
// RaiseQuantizers.h and what differs.
// CHECK-NOT: blockscale.quantize

// quantizer_c1: a maximum that drops NaN.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @maxnum(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maxnumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c1): expected a maximum that keeps NaN, arith.maximumf, but got arith.maxnumf}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c1: a maximum from a number above 0.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @floor_of_amax(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 1.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c1): expected a maximum from a constant that is not above 0, but got 1.000000e+00 : bf16}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c1: a maximum of signed elements.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @signed(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %in, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c1): expected a maximum of math.absf, but got another one}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c1: blocks of 16.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @blocks_of_16(%x: tensor<?x2x16xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x16xf4E2M1FN>) -> (tensor<?x2x16xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x16xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c7 = arith.constant 7 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %narrow = arith.trunci %exponent : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c1): expected one maximum for 32 neighbours, but got one for 16}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x16xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x16xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x16xf4E2M1FN>
  return %q, %s : tensor<?x2x16xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c1: a maximum of what the same body computes.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @computed_x(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %w = arith.mulf %in, %in : bf16
    %0 = math.absf %w : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c7 = arith.constant 7 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %narrow = arith.trunci %exponent : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c1): expected a maximum of a tensor's elements, but got one of what a body computes}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c2: an x of more values than are tried.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f32(%x: tensor<?x2x32xf32>, %z: tensor<?x2xf32>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : f32
  %m = linalg.fill ins(%first : f32) outs(%z : tensor<?x2xf32>) -> tensor<?x2xf32>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xf32>) outs(%m : tensor<?x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.absf %in : f32
    %1 = arith.maximumf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<?x2xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xf32>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: f32, %out: f8E8M0FNU):
    %bits = arith.bitcast %in : f32 to i32
    %c23 = arith.constant 23 : i32
    %e = arith.shrui %bits, %c23 : i32
    %narrow = arith.trunci %e : i32 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c2): expected x of bf16 or f16, of which each amax is tried, but got f32}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xf32>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: f32, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : f32, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c2: an x with an encoding.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @encoded_x(%x: tensor<?x2x32xbf16, "mine">, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16, "mine">) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c7 = arith.constant 7 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %narrow = arith.trunci %exponent : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c2): expected an x without an encoding, but got tensor<?x2x32xbf16, "mine">}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16, "mine">, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c2: a vector.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @vector(%x: tensor<128xbf16>, %z: tensor<2x2xbf16>, %se: tensor<2x2xf8E8M0FNU>, %qe: tensor<2x2x32xf4E2M1FN>) -> (tensor<2x2x32xf4E2M1FN>, tensor<2x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %xb = tensor.expand_shape %x [[0, 1, 2]] output_shape [2, 2, 32] : tensor<128xbf16> into tensor<2x2x32xbf16>
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xb : tensor<2x2x32xbf16>) outs(%m : tensor<2x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<2x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<2x2xbf16>) outs(%se : tensor<2x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c7 = arith.constant 7 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %narrow = arith.trunci %exponent : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<2x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c2): expected matrices with a last dimension of a static multiple of 32, but got tensor<128xbf16>}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%xb, %s : tensor<2x2x32xbf16>, tensor<2x2xf8E8M0FNU>) outs(%qe : tensor<2x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<2x2x32xf4E2M1FN>
  return %q, %s : tensor<2x2x32xf4E2M1FN>, tensor<2x2xf8E8M0FNU>
}

// -----

// quantizer_c2: rows of a length that is known at run time.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @dynamic_columns(%x: tensor<4x?xbf16>, %n: index, %z: tensor<4x?xbf16>, %se: tensor<4x?xf8E8M0FNU>, %qe: tensor<4x?x32xf4E2M1FN>) -> (tensor<4x?x32xf4E2M1FN>, tensor<4x?xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %xb = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, %n, 32] : tensor<4x?xbf16> into tensor<4x?x32xbf16>
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<4x?xbf16>) -> tensor<4x?xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xb : tensor<4x?x32xbf16>) outs(%m : tensor<4x?xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<4x?xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<4x?xbf16>) outs(%se : tensor<4x?xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c7 = arith.constant 7 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %narrow = arith.trunci %exponent : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<4x?xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c2): expected matrices with a last dimension of a static multiple of 32, but got tensor<4x?xbf16>}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%xb, %s : tensor<4x?x32xbf16>, tensor<4x?xf8E8M0FNU>) outs(%qe : tensor<4x?x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<4x?x32xf4E2M1FN>
  return %q, %s : tensor<4x?x32xf4E2M1FN>, tensor<4x?xf8E8M0FNU>
}

// -----

// quantizer_c2: data of a number of rows that is known at run time, in another shape than x.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @dynamic_data(%x: tensor<?x64xbf16>, %n: index, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %xb = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xbf16> into tensor<?x2x32xbf16>
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xb : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c7 = arith.constant 7 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %narrow = arith.trunci %exponent : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c2): expected data of the shape of x, but got tensor<?x2x32xf4E2M1FN>}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%xb, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c3: exponents that are not bounded below.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @unbounded(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.addi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c3): expected the byte 0 of rceil for an amax of 0, but got 254}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c3: infinity that does not make a block NaN.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @infinity(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %least, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c3): expected the byte 255 of ceil for an amax of +Inf, but got 253}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c3: a scale that is no power of two.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @not_a_power(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %wide = arith.extf %in : bf16 to f32
    %scale = arith.truncf %wide : f32 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c3): expected a power of two or NaN as the scale of an amax of 0, the same on all targets, but got arith.truncf}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c3: factors of f32, and no tensor of scales.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @no_scales(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf32>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf32>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<?x2xf32>
  // expected-remark @below {{is not quantize (quantizer_c3): expected a tensor of scales of f8E8M0FNU or i8, but got none}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf32>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f32, %out: f4E2M1FN):
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %scale : f32
    %code = arith.truncf %y : f32 to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf32>
}

// -----

// quantizer_c3: a function that a library decides.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @library(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %wide = arith.extf %in : bf16 to f32
    %log = math.log2 %wide : f32
    %up = math.ceil %log : f32
    %power = math.exp2 %up : f32
    %scale = arith.truncf %power : f32 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c3): expected a power of two or NaN as the scale of an amax of 0, the same on all targets, but got}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c4: elements of f16, in which scales overflow, are not widened.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @halves(%x: tensor<?x2x32xf16>, %z: tensor<?x2xf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : f16
  %m = linalg.fill ins(%first : f16) outs(%z : tensor<?x2xf16>) -> tensor<?x2xf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xf16>) outs(%m : tensor<?x2xf16>) {
  ^bb0(%in: f16, %out: f16):
    %0 = math.absf %in : f16
    %1 = arith.maximumf %0, %out : f16
    linalg.yield %1 : f16
  } -> tensor<?x2xf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: f16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %wide = arith.extf %in : f16 to f32
    %full = arith.bitcast %wide : f32 to i32
    %c16 = arith.constant 16 : i32
    %upper = arith.shrui %full, %c16 : i32
    %bits = arith.trunci %upper : i32 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c4): expected elements of bf16 or f32, as a scale overflows f16, but got f16}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: f16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : f16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c4: a factor that differs from the scale for byte 0, as in torchao 0.18.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @byte_zero(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c4): expected a divisor of 5.87747175E-39 for an amax of 0, whose scale is 0 by ceil, but got 1}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %least = arith.constant 0x00400000 : f32
    %one = arith.constant 1.0 : f32
    %is = arith.cmpf oeq, %f, %least : f32
    %g = arith.select %is, %one, %f : f32
    %y = arith.divf %w, %g : f32
    %code = arith.truncf %y : f32 to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c4: another function of x than a product.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @shifted(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c4): expected x times or over a factor, but got another function of x}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %f : f32
    %sum = arith.addf %y, %w : f32
    %code = arith.truncf %sum : f32 to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c4: an op behind the scaling that is no clamp.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @negated(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c4): expected clamps between scaling and cast, but got other ops}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %f : f32
    %n = arith.negf %y : f32
    %code = arith.truncf %n : f32 to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c4: another rounding.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @toward_zero(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf4E2M1FN>) -> (tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 2 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %up, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c4): expected rounding to nearest even, but got another rounding mode}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %f : f32
    %code = arith.truncf %y toward_zero : f32 to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<?x2x32xf4E2M1FN>
  return %q, %s : tensor<?x2x32xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c5: the largest elements of `floor` become NaN in a cast to E4M3.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @overflow(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf8E4M3FN>) -> (tensor<?x2x32xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 8 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %down, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c5): expected elements clamped to 448, as recipe floor leaves some up to 510, but got none}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf8E4M3FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f8E4M3FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %f : f32
    %code = arith.truncf %y : f32 to f8E4M3FN
    linalg.yield %code : f8E4M3FN
  } -> tensor<?x2x32xf8E4M3FN>
  return %q, %s : tensor<?x2x32xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c5: a clamp that is too narrow.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @clamp(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf8E4M3FN>) -> (tensor<?x2x32xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 8 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %down, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c5): expected elements clamped to 448, as recipe floor leaves some up to 510, but got another clamp}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf8E4M3FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f8E4M3FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %f : f32
    %h = arith.constant 384.0 : f32
    %l = arith.constant -448.0 : f32
    %y1 = arith.minimumf %y, %h : f32
    %y2 = arith.maximumf %y1, %l : f32
    %code = arith.truncf %y2 : f32 to f8E4M3FN
    linalg.yield %code : f8E4M3FN
  } -> tensor<?x2x32xf8E4M3FN>
  return %q, %s : tensor<?x2x32xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// quantizer_c5: many ops that each use the one before twice.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @twice(%x: tensor<?x2x32xbf16>, %z: tensor<?x2xbf16>, %se: tensor<?x2xf8E8M0FNU>, %qe: tensor<?x2x32xf8E4M3FN>) -> (tensor<?x2x32xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %first = arith.constant 0.0 : bf16
  %m = linalg.fill ins(%first : bf16) outs(%z : tensor<?x2xbf16>) -> tensor<?x2xbf16>
  %amax = linalg.generic {indexing_maps = [#b, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x32xbf16>) outs(%m : tensor<?x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %0 = math.absf %in : bf16
    %1 = arith.maximumf %0, %out : bf16
    linalg.yield %1 : bf16
  } -> tensor<?x2xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%amax : tensor<?x2xbf16>) outs(%se : tensor<?x2xf8E8M0FNU>) {
  ^bb0(%in: bf16, %out: f8E8M0FNU):
    %c0 = arith.constant 0 : i16
    %pow = arith.constant 8 : i16
    %c7 = arith.constant 7 : i16
    %low = arith.constant 127 : i16
    %end = arith.constant 255 : i16
    %bits = arith.bitcast %in : bf16 to i16
    %exponent = arith.shrui %bits, %c7 : i16
    %mantissa = arith.andi %bits, %low : i16
    %isNotPower = arith.cmpi ne, %mantissa, %c0 : i16
    %one = arith.extui %isNotPower : i1 to i16
    %down = arith.subi %exponent, %pow : i16
    %up = arith.addi %down, %one : i16
    %least = arith.maxsi %down, %c0 : i16
    %isEnd = arith.cmpi eq, %exponent, %end : i16
    %byte = arith.select %isEnd, %end, %least : i16
    %narrow = arith.trunci %byte : i16 to i8
    %scale = arith.bitcast %narrow : i8 to f8E8M0FNU
    linalg.yield %scale : f8E8M0FNU
  } -> tensor<?x2xf8E8M0FNU>
  // expected-remark @below {{is not quantize (quantizer_c5): expected elements clamped to 448, as recipe floor leaves some up to 510, but got another clamp}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<?x2x32xbf16>, tensor<?x2xf8E8M0FNU>) outs(%qe : tensor<?x2x32xf8E4M3FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f8E4M3FN):
    %f = arith.extf %scale : f8E8M0FNU to f32
    %w = arith.extf %in : bf16 to f32
    %y = arith.divf %w, %f : f32
    %n0 = arith.maximumf %y, %y : f32
    %n1 = arith.maximumf %n0, %n0 : f32
    %n2 = arith.maximumf %n1, %n1 : f32
    %n3 = arith.maximumf %n2, %n2 : f32
    %n4 = arith.maximumf %n3, %n3 : f32
    %n5 = arith.maximumf %n4, %n4 : f32
    %n6 = arith.maximumf %n5, %n5 : f32
    %n7 = arith.maximumf %n6, %n6 : f32
    %n8 = arith.maximumf %n7, %n7 : f32
    %n9 = arith.maximumf %n8, %n8 : f32
    %n10 = arith.maximumf %n9, %n9 : f32
    %n11 = arith.maximumf %n10, %n10 : f32
    %n12 = arith.maximumf %n11, %n11 : f32
    %n13 = arith.maximumf %n12, %n12 : f32
    %n14 = arith.maximumf %n13, %n13 : f32
    %n15 = arith.maximumf %n14, %n14 : f32
    %n16 = arith.maximumf %n15, %n15 : f32
    %n17 = arith.maximumf %n16, %n16 : f32
    %n18 = arith.maximumf %n17, %n17 : f32
    %n19 = arith.maximumf %n18, %n18 : f32
    %n20 = arith.maximumf %n19, %n19 : f32
    %n21 = arith.maximumf %n20, %n20 : f32
    %n22 = arith.maximumf %n21, %n21 : f32
    %n23 = arith.maximumf %n22, %n22 : f32
    %n24 = arith.maximumf %n23, %n23 : f32
    %n25 = arith.maximumf %n24, %n24 : f32
    %n26 = arith.maximumf %n25, %n25 : f32
    %n27 = arith.maximumf %n26, %n26 : f32
    %n28 = arith.maximumf %n27, %n27 : f32
    %n29 = arith.maximumf %n28, %n28 : f32
    %n30 = arith.maximumf %n29, %n29 : f32
    %n31 = arith.maximumf %n30, %n30 : f32
    %n32 = arith.maximumf %n31, %n31 : f32
    %n33 = arith.maximumf %n32, %n32 : f32
    %n34 = arith.maximumf %n33, %n33 : f32
    %n35 = arith.maximumf %n34, %n34 : f32
    %n36 = arith.maximumf %n35, %n35 : f32
    %n37 = arith.maximumf %n36, %n36 : f32
    %n38 = arith.maximumf %n37, %n37 : f32
    %n39 = arith.maximumf %n38, %n38 : f32
    %code = arith.truncf %n39 : f32 to f8E4M3FN
    linalg.yield %code : f8E4M3FN
  } -> tensor<?x2x32xf8E4M3FN>
  return %q, %s : tensor<?x2x32xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// A scale that was not computed from x.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @given(%x: tensor<8x2x32xbf16>, %s: tensor<8x2xf8E8M0FNU>, %e: tensor<8x2x32xf4E2M1FN>) -> tensor<8x2x32xf4E2M1FN> {
  // expected-remark @below {{is not quantize (quantizer_c1): expected scales from one maximum, but got 0}}
  %q = linalg.generic {indexing_maps = [#b, #r, #b], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %s : tensor<8x2x32xbf16>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf4E2M1FN>) {
  ^bb0(%in: bf16, %scale: f8E8M0FNU, %out: f4E2M1FN):
    %code = arith.scaling_truncf %in, %scale : bf16, f8E8M0FNU to f4E2M1FN
    linalg.yield %code : f4E2M1FN
  } -> tensor<8x2x32xf4E2M1FN>
  return %q : tensor<8x2x32xf4E2M1FN>
}

// -----

// A cast without scales is none, and gets no remark.
#b = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#r = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @plain(%x: tensor<8x64xf32>) -> tensor<8x64xf8E4M3FN> {
  %q = arith.truncf %x : tensor<8x64xf32> to tensor<8x64xf8E4M3FN>
  return %q : tensor<8x64xf8E4M3FN>
}
