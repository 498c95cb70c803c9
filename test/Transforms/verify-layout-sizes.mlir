// RUN: blockscale-opt %s -split-input-file -verify-diagnostics -blockscale-verify-layout

// 2^62 elements of one byte and 2^61 of two fit, whatever is dynamic.
func.func @largest(%a: tensor<1073741824x4294967296xf8E4M3FN>, %b: tensor<?x2305843009213693952xbf16>) {
  return
}

// -----

// expected-error @below {{expected tensors of less than 2^63 bytes, but got 'tensor<4611686018427387904x4611686018427387904xbf16>'}}
func.func private @product(tensor<4611686018427387904x4611686018427387904xbf16>)

// -----

// The elements would fit, their bytes do not.
// expected-error @below {{expected tensors of less than 2^63 bytes, but got 'tensor<4611686018427387904xbf16>'}}
func.func private @bytes(tensor<4611686018427387904xbf16>)

// -----

// Strides of an empty tensor are computed too.
// expected-error @below {{expected tensors of less than 2^63 bytes, but got 'tensor<0x4294967296x4294967296xf32>'}}
func.func private @empty(tensor<0x4294967296x4294967296xf32>)

// -----

// The padding of the last tile does not fit.
// expected-error @below {{expected tensors of less than 2^63 bytes, but got 'tensor<9223372036854775807x1xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
func.func private @padding(tensor<9223372036854775807x1xf8E4M3FN, #blockscale.layout<swizzle_128x4>>)

// -----

// Each group is padded.
#many = #blockscale.layout<swizzle_128x4, groups = 4611686018427387904, dim = 0>
// expected-error @below {{expected tensors of less than 2^63 bytes, but got 'tensor<?x?xf8E4M3FN,}}
func.func private @groups(tensor<?x?xf8E4M3FN, #many>)

// -----

// Types of results count as those of arguments.
func.func @result(%x: tensor<?x?xbf16>) {
  // expected-error @below {{expected tensors of less than 2^63 bytes, but got 'tensor<4611686018427387904x32xbf16>'}}
  %0 = tensor.cast %x : tensor<?x?xbf16> to tensor<4611686018427387904x32xbf16>
  return
}
