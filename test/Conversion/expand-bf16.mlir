// RUN: blockscale-opt %s -blockscale-expand-bf16 | FileCheck %s

// To the nearest, ties to even, by a carry into the high half; NaN has the bits that a GPU
// gives it.
// CHECK-LABEL: func.func @round
// CHECK-SAME: %[[X:.+]]: f32
// CHECK-DAG: %[[NAN:.+]] = arith.constant 2147418112 : i32
// CHECK-DAG: %[[IS_NAN:.+]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[X_BITS:.+]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[BITS:.+]] = arith.select %[[IS_NAN]], %[[NAN]], %[[X_BITS]]
// CHECK: %[[ODD:.+]] = arith.andi
// CHECK: %[[HALF:.+]] = arith.addi %[[BITS]], %c32767_i32
// CHECK: %[[SUM:.+]] = arith.addi %[[HALF]], %[[ODD]]
// CHECK: %[[SHIFTED:.+]] = arith.shrui %[[SUM]], %c16_i32
// CHECK: %[[HIGH:.+]] = arith.trunci %[[SHIFTED]] : i32 to i16
// CHECK: arith.bitcast %[[HIGH]] : i16 to bf16
func.func @round(%x: f32) -> bf16 {
  %y = arith.truncf %x : f32 to bf16
  return %y : bf16
}

// CHECK-LABEL: func.func @vector
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.+}} : vector<4xi16> to vector<4xbf16>
func.func @vector(%x: vector<4xf32>) -> vector<4xbf16> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xbf16>
  return %y : vector<4xbf16>
}

// A bf16 is the high half of its f32.
// CHECK-LABEL: func.func @widen
// CHECK-SAME: %[[X:.+]]: vector<4xbf16>
// CHECK: %[[HALF:.+]] = arith.bitcast %[[X]] : vector<4xbf16> to vector<4xi16>
// CHECK: %[[WORD:.+]] = arith.extui %[[HALF]] : vector<4xi16> to vector<4xi32>
// CHECK: %[[BITS:.+]] = arith.shli %[[WORD]], %{{.+}}
// CHECK: arith.bitcast %[[BITS]] : vector<4xi32> to vector<4xf32>
func.func @widen(%x: vector<4xbf16>) -> vector<4xf32> {
  %y = arith.extf %x : vector<4xbf16> to vector<4xf32>
  return %y : vector<4xf32>
}

// An f64 becomes an f32 first: what f32 does not have, the neighbour with an odd last bit.
// CHECK-LABEL: func.func @from_f64
// CHECK-SAME: %[[X:.+]]: f64
// CHECK: %[[NEAR:.+]] = arith.truncf %[[X]] : f64 to f32
// CHECK: %[[BACK:.+]] = arith.extf %[[NEAR]] : f32 to f64
// CHECK: arith.cmpf oeq, %[[BACK]], %[[X]]
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.+}} : i16 to bf16
func.func @from_f64(%x: f64) -> bf16 {
  %y = arith.truncf %x : f64 to bf16
  return %y : bf16
}

// Other types and directions are not its own.
// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.+}} : f32 to f16
// CHECK: arith.truncf %{{.+}} toward_zero : f32 to bf16
// CHECK: arith.extf %{{.+}} : bf16 to f64
func.func @others(%x: f32, %b: bf16) -> (f16, bf16, f64) {
  %y = arith.truncf %x : f32 to f16
  %z = arith.truncf %x toward_zero : f32 to bf16
  %d = arith.extf %b : bf16 to f64
  return %y, %z, %d : f16, bf16, f64
}

// Integers become bf16 through f32: upstream folds the rounding into the conversion.
// CHECK-LABEL: func.func @from_integers
// CHECK-SAME: %[[X:.+]]: i64, %[[Y:.+]]: i1, %[[Z:.+]]: i32
// CHECK: arith.sitofp %[[X]] : i64 to f32
// CHECK: arith.bitcast %{{.+}} : i16 to bf16
// CHECK: arith.uitofp %[[Y]] : i1 to f32
// CHECK: arith.bitcast %{{.+}} : i16 to bf16
// CHECK: arith.sitofp %[[Z]] : i32 to f16
func.func @from_integers(%x: i64, %y: i1, %z: i32) -> (bf16, bf16, f16) {
  %0 = arith.sitofp %x : i64 to bf16
  %1 = arith.uitofp %y : i1 to bf16
  // f16 is left.
  %2 = arith.sitofp %z : i32 to f16
  return %0, %1, %2 : bf16, bf16, f16
}

// CHECK-LABEL: func.func @to_integers
// CHECK: arith.shli
// CHECK: arith.fptosi %{{.+}} : f32 to i64
// CHECK: arith.fptoui %{{.+}} : vector<4xf32> to vector<4xi8>
func.func @to_integers(%x: bf16, %y: vector<4xbf16>) -> (i64, vector<4xi8>) {
  %0 = arith.fptosi %x : bf16 to i64
  %1 = arith.fptoui %y : vector<4xbf16> to vector<4xi8>
  return %0, %1 : i64, vector<4xi8>
}
