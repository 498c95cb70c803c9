// Constants are packed and laid out when compiled. Each function is compared with
// numpy on logical arrays.
//
// RUN: mkdir -p %t && %python %S/Inputs/storage_constants.py %s %t | FileCheck %s
// CHECK: {{^}}10 passed, 0 failed

#swizzled = #blockscale.layout<swizzle_128x4>

// Elements 1 to 15 of an odd width.
func.func @packed() -> tensor<3x5xf4E2M1FN> {
  %0 = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F"> : tensor<3x5xf4E2M1FN>
  return %0 : tensor<3x5xf4E2M1FN>
}

// One value; the high half of each row's last byte is not an element.
func.func @packed_splat() -> (tensor<2x3x5xf4E2M1FN>, tensor<3x4xf4E2M1FN>) {
  %0 = arith.constant dense<-6.0> : tensor<2x3x5xf4E2M1FN>
  %1 = arith.constant dense<0.5> : tensor<3x4xf4E2M1FN>
  return %0, %1 : tensor<2x3x5xf4E2M1FN>, tensor<3x4xf4E2M1FN>
}

func.func @packed_row() -> tensor<3xf4E2M1FN> {
  %0 = arith.constant dense<[0.5, -0.0, 6.0]> : tensor<3xf4E2M1FN>
  return %0 : tensor<3xf4E2M1FN>
}

// Bytes in a resource.
func.func @resources() -> (tensor<4x6xf4E2M1FN>, tensor<2x3x4xf8E8M0FNU, #swizzled>, tensor<4x6xf8E4M3FN>) {
  %0 = arith.constant dense_resource<codes> : tensor<4x6xf4E2M1FN>
  %1 = arith.constant dense_resource<codes> : tensor<2x3x4xf8E8M0FNU, #swizzled>
  %2 = arith.constant dense_resource<codes> : tensor<4x6xf8E4M3FN>
  return %0, %1, %2 : tensor<4x6xf4E2M1FN>, tensor<2x3x4xf8E8M0FNU, #swizzled>, tensor<4x6xf8E4M3FN>
}

// Scales 1 to 30, in tiles of each batch element.
func.func @swizzled() -> tensor<2x3x5xf8E4M3FN, #swizzled> {
  %0 = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E"> : tensor<2x3x5xf8E4M3FN, #swizzled>
  return %0 : tensor<2x3x5xf8E4M3FN, #swizzled>
}

// A splat is not one of the storage: the padding is zero. 1.0 is 0x38 and 0x7F.
func.func @swizzled_splat() -> (tensor<130x5xf8E4M3FN, #swizzled>, tensor<128x4xf8E8M0FNU, #swizzled>) {
  %0 = arith.constant dense<1.0> : tensor<130x5xf8E4M3FN, #swizzled>
  %1 = arith.constant dense<1.0> : tensor<128x4xf8E8M0FNU, #swizzled>
  return %0, %1 : tensor<130x5xf8E4M3FN, #swizzled>, tensor<128x4xf8E8M0FNU, #swizzled>
}

// Nothing.
func.func @empty() -> (tensor<0x5xf4E2M1FN>, tensor<4x0xf4E2M1FN>, tensor<0x5xf8E4M3FN, #swizzled>) {
  %0 = arith.constant dense<0.0> : tensor<0x5xf4E2M1FN>
  %1 = arith.constant dense<0.0> : tensor<4x0xf4E2M1FN>
  %2 = arith.constant dense<0.0> : tensor<0x5xf8E4M3FN, #swizzled>
  return %0, %1, %2 : tensor<0x5xf4E2M1FN>, tensor<4x0xf4E2M1FN>, tensor<0x5xf8E4M3FN, #swizzled>
}

// As operands of kernels and slices.
func.func @operands() -> (tensor<3x32xf32>, tensor<1x2xf4E2M1FN>, tensor<2x1xf8E4M3FN, #swizzled>) {
  %q = arith.constant dense<3.0> : tensor<3x32xf4E2M1FN>
  %s = arith.constant dense<[[1.0, 2.0], [0.5, 4.0], [0.25, 8.0]]> : tensor<3x2xf8E4M3FN, #swizzled>
  %y = blockscale.dequantize %q, %s block [1, 16]
      : tensor<3x32xf4E2M1FN>, tensor<3x2xf8E4M3FN, #swizzled> -> tensor<3x32xf32>
  %p = arith.constant dense<[[0.5, 1.0, 1.5, 2.0], [3.0, 4.0, 6.0, -0.5]]> : tensor<2x4xf4E2M1FN>
  %r = tensor.extract_slice %p[1, 2] [1, 2] [1, 1] : tensor<2x4xf4E2M1FN> to tensor<1x2xf4E2M1FN>
  %t = arith.constant dense<0.5> : tensor<130x5xf8E4M3FN, #swizzled>
  %u = tensor.extract_slice %t[128, 4] [2, 1] [1, 1]
      : tensor<130x5xf8E4M3FN, #swizzled> to tensor<2x1xf8E4M3FN, #swizzled>
  return %y, %r, %u : tensor<3x32xf32>, tensor<1x2xf4E2M1FN>, tensor<2x1xf8E4M3FN, #swizzled>
}

// Changed in one call, a constant is what it was in the next.
func.func @changed(%t: tensor<128x4xf8E4M3FN, #swizzled>) -> tensor<130x5xf8E4M3FN, #swizzled> {
  %s = arith.constant dense<1.0> : tensor<130x5xf8E4M3FN, #swizzled>
  %0 = tensor.insert_slice %t into %s[0, 0] [128, 4] [1, 1]
      : tensor<128x4xf8E4M3FN, #swizzled> into tensor<130x5xf8E4M3FN, #swizzled>
  return %0 : tensor<130x5xf8E4M3FN, #swizzled>
}

{-# dialect_resources: { builtin: {
  codes: "0x01000000000102030405060708090A0B0C0D0E0F0F0E0D0C0B0A0908"
} } #-}
