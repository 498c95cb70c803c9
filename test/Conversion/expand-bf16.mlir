// RUN: blockscale-opt %s -blockscale-expand-bf16 | FileCheck %s

// To the nearest, ties to even, by a carry into the high half; NaN has the bits that a GPU
// gives it.
// CHECK-LABEL: func.func @round
// CHECK-SAME: %[[X:.+]]: f32
// CHECK-DAG: %[[NAN:.+]] = arith.constant 32767 : i16
// CHECK-DAG: %[[BITS:.+]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[ODD:.+]] = arith.andi
// CHECK: %[[HALF:.+]] = arith.addi %[[BITS]], %c32767_i32
// CHECK: %[[SUM:.+]] = arith.addi %[[HALF]], %[[ODD]]
// CHECK: %[[SHIFTED:.+]] = arith.shrui %[[SUM]], %c16_i32
// CHECK: %[[HIGH:.+]] = arith.trunci %[[SHIFTED]] : i32 to i16
// CHECK: %[[IS_NAN:.+]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[R:.+]] = arith.select %[[IS_NAN]], %[[NAN]], %[[HIGH]]
// CHECK: arith.bitcast %[[R]] : i16 to bf16
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

// Other types and directions are not its own.
// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.+}} : f32 to f16
// CHECK: arith.truncf %{{.+}} toward_zero : f32 to bf16
func.func @others(%x: f32) -> (f16, bf16) {
  %y = arith.truncf %x : f32 to f16
  %z = arith.truncf %x toward_zero : f32 to bf16
  return %y, %z : f16, bf16
}
