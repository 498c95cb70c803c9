// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Codes 2, 7, A and 1, 0, 4: the even element in the low nibble, the last high
// nibble of an odd row zero.
// CHECK-LABEL: func.func @packed
// CHECK: arith.constant dense<{{\[\[}}114, 10], [1, 4]]> : tensor<2x2xi8>
func.func @packed() -> tensor<2x3xf4E2M1FN> {
  %0 = arith.constant dense<[[1.0, 6.0, -1.0], [0.5, 0.0, 2.0]]> : tensor<2x3xf4E2M1FN>
  return %0 : tensor<2x3xf4E2M1FN>
}

// A splat stays one where every byte is the same.
// CHECK-LABEL: func.func @packed_splat
// CHECK: arith.constant dense<-86> : tensor<2x2xi8>
// CHECK: arith.constant dense<{{\[\[}}34, 2], [34, 2]]> : tensor<2x2xi8>
// CHECK: arith.constant dense<> : tensor<0x2xi8>
func.func @packed_splat() -> (tensor<2x4xf4E2M1FN>, tensor<2x3xf4E2M1FN>, tensor<0x4xf4E2M1FN>) {
  %0 = arith.constant dense<-1.0> : tensor<2x4xf4E2M1FN>
  %1 = arith.constant dense<1.0> : tensor<2x3xf4E2M1FN>
  %2 = arith.constant dense<1.0> : tensor<0x4xf4E2M1FN>
  return %0, %1, %2 : tensor<2x4xf4E2M1FN>, tensor<2x3xf4E2M1FN>, tensor<0x4xf4E2M1FN>
}

// Rows 0 to 2 begin at bytes 0, 16 and 32 of a tile; column 4 is in the next
// tile; the rest is padding.
// CHECK-LABEL: func.func @columns
// CHECK: arith.constant dense<"0x{{01020304(00){12}06070809(00){12}0B0C0D0E((00){119}){4}05(00){15}0A(00){15}0F((00){239}){2}00}}"> : tensor<1x2x32x4x4xf8E4M3FN>
func.func @columns() -> tensor<3x5xf8E4M3FN, #swizzled> {
  %0 = arith.constant dense<[[0x01, 0x02, 0x03, 0x04, 0x05], [0x06, 0x07, 0x08, 0x09, 0x0A], [0x0B, 0x0C, 0x0D, 0x0E, 0x0F]]> : tensor<3x5xf8E4M3FN, #swizzled>
  return %0 : tensor<3x5xf8E4M3FN, #swizzled>
}

// A tile of 8x4 has rows of four bytes.
// CHECK-LABEL: func.func @few_rows
// CHECK: arith.constant dense<{{\[\[\[}}[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00], [6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00], [1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]], {{\[\[}}5.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.000000e+01, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.500000e+01, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]]]> : tensor<1x2x8x4xf8E4M3FN>
func.func @few_rows() -> tensor<3x5xf8E4M3FN, #blockscale.layout<swizzle_8x4>> {
  %0 = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0], [11.0, 12.0, 13.0, 14.0, 15.0]]> : tensor<3x5xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  return %0 : tensor<3x5xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
}

// Rows 32 and 33 (bytes 21 and 22) lie beside rows 0 and 1.
// CHECK-LABEL: func.func @rows
// CHECK: arith.constant dense<"0x{{01(00){3}21(00){11}02(00){3}22(00){11}03(00){15}04}}
func.func @rows() -> tensor<34x1xf8E8M0FNU, #swizzled> {
  %0 = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122"> : tensor<34x1xf8E8M0FNU, #swizzled>
  return %0 : tensor<34x1xf8E8M0FNU, #swizzled>
}

// Each batch element is padded alone.
// CHECK-LABEL: func.func @batch
// CHECK: arith.constant dense<"0x{{01((00){73}){7}02((00){73}){6}(00)+}}"> : tensor<2x1x1x32x4x4xf8E4M3FN>
func.func @batch() -> tensor<2x1x1xf8E4M3FN, #swizzled> {
  %0 = arith.constant dense<[[[0x01]], [[0x02]]]> : tensor<2x1x1xf8E4M3FN, #swizzled>
  return %0 : tensor<2x1x1xf8E4M3FN, #swizzled>
}

// Without padding, or of zeros, a splat is one in any layout.
// CHECK-LABEL: func.func @swizzled_splat
// CHECK: arith.constant dense<2.000000e+00> : tensor<2x1x32x4x4xf8E4M3FN>
// CHECK: arith.constant dense<0.000000e+00> : tensor<1x2x32x4x4xf8E4M3FN>
func.func @swizzled_splat() -> (tensor<256x4xf8E4M3FN, #swizzled>, tensor<3x5xf8E4M3FN, #swizzled>) {
  %0 = arith.constant dense<2.0> : tensor<256x4xf8E4M3FN, #swizzled>
  %1 = arith.constant dense<0.0> : tensor<3x5xf8E4M3FN, #swizzled>
  return %0, %1 : tensor<256x4xf8E4M3FN, #swizzled>, tensor<3x5xf8E4M3FN, #swizzled>
}

// A resource, one byte an element, stays a resource.
// CHECK-LABEL: func.func @resource
// CHECK: arith.constant dense_resource<[[KEY:.+]]> : tensor<2x2xi8>
func.func @resource() -> tensor<2x4xf4E2M1FN> {
  %0 = arith.constant dense_resource<codes> : tensor<2x4xf4E2M1FN>
  return %0 : tensor<2x4xf4E2M1FN>
}

// CHECK: [[KEY]]: "0x4000000021436587"
{-# dialect_resources: { builtin: { codes: "0x010000000102030405060708" } } #-}
