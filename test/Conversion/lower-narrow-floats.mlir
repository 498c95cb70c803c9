// RUN: blockscale-opt %s --blockscale-lower-narrow-floats --canonicalize | FileCheck %s

// The value of a code of E8M0 is its byte in the place of f32's exponent; byte 0 and NaN have
// bits of their own.
// CHECK-LABEL: func.func @extension
// CHECK-SAME: %[[X:.+]]: f8E8M0FNU
// CHECK-DAG: %[[NAN:.+]] = arith.constant 2143289344 : i32
// CHECK-DAG: %[[SMALLEST:.+]] = arith.constant 4194304 : i32
// CHECK: %[[CODE:.+]] = arith.bitcast %[[X]] : f8E8M0FNU to i8
// CHECK: %[[BYTE:.+]] = arith.extui %[[CODE]] : i8 to i32
// CHECK: %[[SHIFTED:.+]] = arith.shli %[[BYTE]], %{{.+}} : i32
// CHECK: %[[IS_ZERO:.+]] = arith.cmpi eq, %[[BYTE]], %{{.+}} : i32
// CHECK: %[[BITS:.+]] = arith.select %[[IS_ZERO]], %[[SMALLEST]], %[[SHIFTED]] : i32
// CHECK: %[[IS_NAN:.+]] = arith.cmpi eq, %[[BYTE]], %{{.+}} : i32
// CHECK: %[[CHOSEN:.+]] = arith.select %[[IS_NAN]], %[[NAN]], %[[BITS]] : i32
// CHECK: %[[Y:.+]] = arith.bitcast %[[CHOSEN]] : i32 to f32
// CHECK: return %[[Y]]
func.func @extension(%x: f8E8M0FNU) -> f32 {
  %y = arith.extf %x : f8E8M0FNU to f32
  return %y : f32
}

// What MLIR folds to code 0 of f4 and f6, and to -4.0 of a type without a sign.
// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[SIX:.+]] = arith.constant -6.000000e+00 : f4E2M1FN
// CHECK-DAG: %[[LARGEST:.+]] = arith.constant 7.500000e+00 : f6E2M3FN
// CHECK-DAG: %[[NAN:.+]] = arith.constant 0xFF : f8E8M0FNU
// CHECK-DAG: %[[FOUR:.+]] = arith.constant 4.000000e+00 : f8E8M0FNU
// CHECK: return %[[SIX]], %[[LARGEST]], %[[NAN]], %[[FOUR]]
func.func @constants() -> (f4E2M1FN, f6E2M3FN, f8E8M0FNU, f8E8M0FNU) {
  %infinity = arith.constant 0xFF800000 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %negative = arith.constant -4.0 : f32
  %three = arith.constant 3.0 : f32
  %a = arith.truncf %infinity : f32 to f4E2M1FN
  %b = arith.truncf %nan : f32 to f6E2M3FN
  %c = arith.truncf %negative : f32 to f8E8M0FNU
  %d = arith.truncf %three : f32 to f8E8M0FNU
  return %a, %b, %c, %d : f4E2M1FN, f6E2M3FN, f8E8M0FNU, f8E8M0FNU
}

// Arithmetic is done in f32, without flags that let targets differ.
// CHECK-LABEL: func.func @sum
// CHECK-NOT: fastmath
// CHECK: %[[SUM:.+]] = arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: %[[BYTE:.+]] = arith.trunci %{{.+}} : i32 to i8
// CHECK: %[[Y:.+]] = arith.bitcast %[[BYTE]] : i8 to f8E5M2
// CHECK: return %[[Y]]
func.func @sum(%a: f8E5M2, %b: f8E5M2) -> f8E5M2 {
  %y = arith.addf %a, %b fastmath<fast> : f8E5M2
  return %y : f8E5M2
}

// Vectors of several dimensions are computed as vectors of one.
// CHECK-LABEL: func.func @vector
// CHECK: vector.shape_cast %{{.+}} : vector<2x4xf8E4M3FN> to vector<8xf8E4M3FN>
// CHECK: vector.shape_cast %{{.+}} : vector<8xf32> to vector<2x4xf32>
func.func @vector(%x: vector<2x4xf8E4M3FN>) -> vector<2x4xf32> {
  %y = arith.extf %x : vector<2x4xf8E4M3FN> to vector<2x4xf32>
  return %y : vector<2x4xf32>
}

// A product of narrow matrices is not the one of its name's body anymore; one of f32 is.
// CHECK-LABEL: func.func @products
// CHECK: linalg.generic
// CHECK: linalg.matmul
func.func @products(%a: tensor<2x4xf8E4M3FN>, %b: tensor<4x2xf8E4M3FN>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = linalg.matmul ins(%a, %b : tensor<2x4xf8E4M3FN>, tensor<4x2xf8E4M3FN>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = linalg.matmul ins(%y, %c : tensor<2x2xf32>, tensor<2x2xf32>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// Elements of f4 are read from pairs of codes, and put together in pairs; a row of an odd size
// ends with half a byte.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[X:.+]]: tensor<3x5xf4E2M1FN>
// CHECK: %[[BYTES:.+]] = builtin.unrealized_conversion_cast %[[X]] : tensor<3x5xf4E2M1FN> to tensor<3x3xi8>
// CHECK: %[[CODES:.+]] = linalg.generic {{.*}} ins(%[[BYTES]] : tensor<3x3xi8>) outs(%{{.+}} : tensor<3x5xi8>)
// CHECK: %[[NEGATED:.+]] = linalg.generic {{.*}} ins(%[[CODES]] : tensor<3x5xi8>) outs(%{{.+}} : tensor<3x5xi8>)
// CHECK: %[[PACKED:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<3x3xi8>)
// CHECK: tensor.extract %[[NEGATED]]
// CHECK: tensor.extract %[[NEGATED]]
// CHECK: %[[Y:.+]] = builtin.unrealized_conversion_cast %[[PACKED]] : tensor<3x3xi8> to tensor<3x5xf4E2M1FN>
// CHECK: return %[[Y]]
func.func @packed(%x: tensor<3x5xf4E2M1FN>) -> tensor<3x5xf4E2M1FN> {
  %y = arith.negf %x : tensor<3x5xf4E2M1FN>
  return %y : tensor<3x5xf4E2M1FN>
}

// Ops that move elements of f8, and ops on scales with a layout, which
// blockscale-verify-layout refuses, are kept.
// CHECK-LABEL: func.func @kept
// CHECK: arith.select %{{.+}}, %{{.+}}, %{{.+}} : f8E4M3FN
// CHECK: linalg.transpose ins(%{{.+}} : tensor<2x3xf8E4M3FN>)
// CHECK: arith.negf %{{.+}} : tensor<8x4xf8E4M3FN, #swizzled>
func.func @kept(%c: i1, %a: f8E4M3FN, %b: f8E4M3FN, %x: tensor<2x3xf8E4M3FN>, %o: tensor<3x2xf8E4M3FN>,
                %s: tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>)
    -> (f8E4M3FN, tensor<3x2xf8E4M3FN>, tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>) {
  %y = arith.select %c, %a, %b : f8E4M3FN
  %t = linalg.transpose ins(%x : tensor<2x3xf8E4M3FN>) outs(%o : tensor<3x2xf8E4M3FN>) permutation = [1, 0]
  %n = arith.negf %s : tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  return %y, %t, %n : f8E4M3FN, tensor<3x2xf8E4M3FN>, tensor<8x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
}

// To bf16, f16 or f32 in a direction: the nearest number, or its neighbour where it lies on the
// wrong side.
// CHECK-LABEL: func.func @toward_zero
// CHECK-SAME: %[[X:.+]]: f32
// CHECK: %[[NEAR:.+]] = arith.truncf %[[X]] : f32 to bf16
// CHECK: %[[BACK:.+]] = arith.extf %[[NEAR]] : bf16 to f32
// CHECK: %[[BITS:.+]] = arith.bitcast %[[NEAR]] : bf16 to i16
// CHECK: %[[SMALLER:.+]] = arith.subi %[[BITS]], %{{.+}} : i16
// CHECK-DAG: %[[WANTED:.+]] = math.absf %[[X]] : f32
// CHECK-DAG: %[[FOUND:.+]] = math.absf %[[BACK]] : f32
// CHECK: %[[IS_WRONG:.+]] = arith.cmpf olt, %[[WANTED]], %[[FOUND]] : f32
// CHECK: %[[CHOSEN:.+]] = arith.select %[[IS_WRONG]], %[[SMALLER]], %[[BITS]] : i16
// CHECK: %[[Y:.+]] = arith.bitcast %[[CHOSEN]] : i16 to bf16
// CHECK: return %[[Y]]
func.func @toward_zero(%x: f32) -> bf16 {
  %y = arith.truncf %x toward_zero : f32 to bf16
  return %y : bf16
}

// Elements of tensors and lanes of vectors, too. To the nearest even number is what targets do.
// CHECK-LABEL: func.func @directions
// CHECK-NOT: upward
// CHECK: linalg.generic
// CHECK: arith.truncf %{{.+}} : f64 to f16
// CHECK: linalg.yield
// CHECK: arith.truncf %{{.+}} : vector<4xf64> to vector<4xf32>
// CHECK: arith.bitcast %{{.+}} : vector<4xi32> to vector<4xf32>
// CHECK: %[[EVEN:.+]] = arith.truncf %{{.+}} to_nearest_even : f32 to f16
// CHECK: return %{{.+}}, %{{.+}}, %[[EVEN]]
func.func @directions(%x: tensor<?xf64>, %v: vector<4xf64>, %s: f32) -> (tensor<?xf16>, vector<4xf32>, f16) {
  %y = arith.truncf %x upward : tensor<?xf64> to tensor<?xf16>
  %w = arith.truncf %v downward : vector<4xf64> to vector<4xf32>
  %t = arith.truncf %s to_nearest_even : f32 to f16
  return %y, %w, %t : tensor<?xf16>, vector<4xf32>, f16
}
