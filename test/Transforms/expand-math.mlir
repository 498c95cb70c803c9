// RUN: blockscale-opt %s -blockscale-expand-math -split-input-file | FileCheck %s

// The exponent is in the low bits of a sum; the fraction goes through a polynomial of
// fused multiply-adds. What bounds x keeps NaN.
// CHECK-LABEL: func.func @exp
// CHECK-SAME: %[[X:.+]]: f32
// CHECK: %[[LOW:.+]] = arith.maximumf %[[X]], %{{.+}} : f32
// CHECK: %[[Y:.+]] = arith.minimumf %[[LOW]], %{{.+}} : f32
// CHECK: %[[SUM:.+]] = math.fma %[[Y]]
// CHECK: %[[N:.+]] = arith.subf %[[SUM]]
// CHECK: math.fma %[[N]], %{{.+}}, %[[Y]]
// CHECK-COUNT-7: math.fma
// CHECK: arith.shli
// CHECK: %[[SCALE:.+]] = arith.bitcast %{{.+}} : i32 to f32
// CHECK: %[[E:.+]] = arith.mulf %{{.+}}, %[[SCALE]]
// CHECK-NEXT: return %[[E]]
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// -----

// The division of the logistic function is two steps from a guess, and 1 is
// added where exp would be rounded.
// CHECK-LABEL: func.func @logistic
// CHECK-SAME: %[[X:.+]]: f32, %[[N:.+]]: f32
// CHECK-NOT: arith.divf
// CHECK-COUNT-7: math.fma
// CHECK: %[[D:.+]] = math.fma
// CHECK: %[[BITS:.+]] = arith.bitcast %[[D]] : f32 to i32
// CHECK: arith.subi %{{.+}}, %[[BITS]]
// CHECK: math.fma
// CHECK: arith.mulf
// CHECK-COUNT-3: math.fma
// CHECK: %[[R:.+]] = arith.negf
// CHECK-NEXT: %[[Q:.+]] = arith.mulf %[[N]], %[[R]]
// CHECK-NEXT: return %[[Q]]
func.func @logistic(%x: f32, %n: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %e = math.exp %x : f32
  %d = arith.addf %one, %e : f32
  %q = arith.divf %n, %d : f32
  return %q : f32
}

// -----

// Other divisions and square roots are IEEE's on every target, and stay.
// CHECK-LABEL: func.func @kept
// CHECK: arith.addf %{{.+}}, %cst
// CHECK: arith.divf
// CHECK: math.sqrt
// CHECK-NOT: math.rsqrt
// CHECK: arith.divf
func.func @kept(%x: f32, %n: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %e = math.exp %x : f32
  %d = arith.addf %e, %two : f32
  %q = arith.divf %n, %d : f32
  %r = math.rsqrt %q : f32
  return %r : f32
}

// -----

// bf16 goes through f32, with one rounding.
// CHECK-LABEL: func.func @bf16
// CHECK-SAME: %[[X:.+]]: bf16
// CHECK: %[[W:.+]] = arith.extf %[[X]] : bf16 to f32
// CHECK-NOT: math.tanh
// CHECK: %[[Y:.+]] = arith.truncf %{{.+}} : f32 to bf16
// CHECK-NEXT: return %[[Y]]
func.func @bf16(%x: bf16) -> bf16 {
  %y = math.tanh %x : bf16
  return %y : bf16
}

// -----

// Of a number and NaN the number, and of two zeros the defined one.
// CHECK-LABEL: func.func @number_of
// CHECK-SAME: %[[X:.+]]: f32, %[[Y:.+]]: f32
// CHECK-DAG: %[[M:.+]] = arith.maximumf %[[X]], %[[Y]]
// CHECK-DAG: %[[NY:.+]] = arith.cmpf uno, %[[Y]], %[[Y]]
// CHECK-DAG: %[[S:.+]] = arith.select %[[NY]], %[[X]], %[[M]]
// CHECK-DAG: %[[NX:.+]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[R:.+]] = arith.select %[[NX]], %[[Y]], %[[S]]
// CHECK: return %[[R]]
func.func @number_of(%x: f32, %y: f32) -> f32 {
  %m = arith.maxnumf %x, %y : f32
  return %m : f32
}

// -----

// Targets would contract what fast-math flags let them.
// CHECK-LABEL: func.func @no_freedom
// CHECK-NOT: fastmath<{{contract|fast}}>
// CHECK: return
func.func @no_freedom(%x: f32, %y: f32) -> f32 {
  %p = arith.mulf %x, %y fastmath<contract> : f32
  %s = arith.addf %p, %y fastmath<fast> : f32
  return %s : f32
}

// -----

// The bits of x choose those of 2/pi; the product of integers is the angle in quarter
// turns, of which two bits choose the polynomial and the sign.
// CHECK-LABEL: func.func @sin
// CHECK-SAME: %[[X:.+]]: f32
// CHECK: %[[BITS:.+]] = arith.bitcast %[[X]] : f32 to i32
// CHECK-COUNT-3: arith.muli %{{.+}}, %{{.+}} : i64
// CHECK: arith.sitofp %{{.+}} : i64 to f64
// CHECK-COUNT-9: math.fma {{.+}} : f64
// CHECK: arith.truncf %{{.+}} : f64 to f32
// CHECK: %[[OWN:.+]] = arith.andi %[[BITS]]
// CHECK: arith.xori %{{.+}}, %[[OWN]] : i32
// CHECK-NOT: math.sin
// CHECK: return
func.func @sin(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}

// -----

// The cosine is the sine of a quarter turn more, and has not the sign of x.
// CHECK-LABEL: func.func @cos
// CHECK-SAME: %[[X:.+]]: f32
// CHECK: %[[BITS:.+]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: arith.andi %[[BITS]]
// CHECK-NOT: %[[BITS]]
// CHECK: return
func.func @cos(%x: f32) -> f32 {
  %y = math.cos %x : f32
  return %y : f32
}

// -----

// The least integer stays as it is.
// CHECK-LABEL: func.func @absi
// CHECK-SAME: %[[X:.+]]: i32
// CHECK: %[[NEGATED:.+]] = arith.subi %{{.+}}, %[[X]] : i32
// CHECK: %[[Y:.+]] = arith.maxsi %[[X]], %[[NEGATED]] : i32
// CHECK: return %[[Y]]
func.func @absi(%x: i32) -> i32 {
  %y = math.absi %x : i32
  return %y : i32
}

// -----

// f64 is left to the host's library.
// CHECK-LABEL: func.func @f64
// CHECK: math.exp
// CHECK: math.sin
func.func @f64(%x: f64) -> f64 {
  %e = math.exp %x : f64
  %y = math.sin %e : f64
  return %y : f64
}

// -----

// Named elementwise ops become generic; others stay.
// CHECK-LABEL: func.func @named
// CHECK: linalg.generic
// CHECK: math.fma
// CHECK: linalg.matmul
func.func @named(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.exp ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = linalg.matmul ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}

// -----

// Not every target has a multiply-add of 16 bits; f32 has.
// CHECK-LABEL: func.func @narrow_fma
// CHECK-COUNT-3: arith.extf
// CHECK: %[[SUM:.+]] = math.fma %{{.+}}, %{{.+}}, %{{.+}} : f32
// CHECK: arith.truncf %[[SUM]] : f32 to bf16
// CHECK-NOT: arith.truncf
// CHECK: math.fma {{.+}} : f32
func.func @narrow_fma(%x: bf16, %y: bf16, %z: f32) -> (bf16, f32) {
  %0 = math.fma %x, %y, %x : bf16
  %1 = math.fma %z, %z, %z : f32
  return %0, %1 : bf16, f32
}
