// RUN: blockscale-opt %s -split-input-file -blockscale-report-asserts | FileCheck %s

// An assertion that compares a number reports that number, and leaves the function.
// CHECK: llvm.mlir.global internal constant @[[MESSAGE:.+]]("index must be smaller\00")
// CHECK-LABEL: func.func @compared
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32, %[[A:.+]]: memref<f32>, %[[F:.+]]: f32
// CHECK: %[[HOLDS:.+]] = arith.cmpi slt, %[[N]]
// CHECK: cf.cond_br %[[HOLDS]], ^[[NEXT:.+]], ^[[FAIL:.+]]
// CHECK: ^[[FAIL]]:
// CHECK: %[[WIDE:.+]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[TEXT:.+]] = llvm.mlir.addressof @[[MESSAGE]]
// CHECK: llvm.call @blockscale_report_error(%[[TEXT]], %[[WIDE]])
// CHECK: return
// CHECK: ^[[NEXT]]:
// CHECK: memref.store
// CHECK: return
func.func @compared(%n: i32, %a: memref<f32>, %f: f32) {
  %c = arith.constant 8 : i32
  %holds = arith.cmpi slt, %n, %c : i32
  cf.assert %holds, "index must be smaller"
  memref.store %f, %a[] : memref<f32>
  return
}

// -----

// Of a constant and a number it is the number. A function that returns numbers returns zeros.
// CHECK-LABEL: func.func @reversed
// CHECK-SAME: %[[N:.+]]: index
// CHECK: %[[WIDE:.+]] = arith.index_cast %[[N]] : index to i64
// CHECK: llvm.call @blockscale_report_error(%{{.+}}, %[[WIDE]])
// CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: return %[[ZERO]] : f32
func.func @reversed(%n: index, %f: f32) -> f32 {
  %c = arith.constant 8 : index
  %holds = arith.cmpi sgt, %c, %n : index
  cf.assert %holds, "too large"
  return %f : f32
}

// -----

// Other conditions have no number: two assertions, of which each has a message.
// CHECK-DAG: "expected the assertion \22one\22 to hold\00"
// CHECK-DAG: "expected the assertion \22other\22 to hold\00"
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: llvm.call @blockscale_report_error
func.func @others(%a: i1, %x: f32, %y: f32) {
  cf.assert %a, "one"
  %b = arith.cmpf olt, %x, %y : f32
  cf.assert %b, "other"
  return
}

// -----

// What is compared without a sign is reported without one.
// CHECK-LABEL: func.func @unsigned
// CHECK: arith.extui %{{.+}} : i8 to i64
// CHECK: llvm.call @blockscale_report_error
func.func @unsigned(%n: i8) {
  %c = arith.constant 8 : i8
  %holds = arith.cmpi ult, %n, %c : i8
  cf.assert %holds, "too large"
  return
}

// -----

// A function that is called says whether all has held, and its caller leaves.
// CHECK-LABEL: func.func private @called
// CHECK-SAME: %[[A:.+]]: i1) -> (f32, i1)
// CHECK: cf.cond_br %[[A]], ^[[NEXT:.+]], ^[[FAIL:.+]]
// CHECK: ^[[FAIL]]:
// CHECK: llvm.call @blockscale_report_error
// CHECK: return %{{.+}}, %false{{.*}} : f32, i1
// CHECK: ^[[NEXT]]:
// CHECK: return %{{.+}}, %true{{.*}} : f32, i1
// CHECK-LABEL: func.func @caller
// CHECK: %[[TOLD:.+]]:2 = call @called(%{{.+}}) : (i1) -> (f32, i1)
// CHECK: cf.cond_br %[[TOLD]]#1, ^[[NEXT:.+]], ^[[FAIL:.+]]
// CHECK: ^[[FAIL]]:
// CHECK-NOT: llvm.call
// CHECK: return
// CHECK: ^[[NEXT]]:
// CHECK: memref.store %[[TOLD]]#0
func.func private @called(%a: i1) -> f32 {
  cf.assert %a, "inside"
  %x = arith.constant 1.0 : f32
  return %x : f32
}
func.func @caller(%a: i1, %m: memref<f32>) {
  %x = call @called(%a) : (i1) -> f32
  memref.store %x, %m[] : memref<f32>
  return
}

// -----

// What is freed later is freed before the function is left; what is freed already, or
// allocated later, is not.
// CHECK-LABEL: func.func @freed
// CHECK: %[[FIRST:.+]] = memref.alloc
// CHECK: %[[SECOND:.+]] = memref.alloc
// CHECK: memref.dealloc %[[FIRST]]
// CHECK: llvm.call @blockscale_report_error
// CHECK-NEXT: memref.dealloc %[[SECOND]]
// CHECK-NEXT: return
// CHECK: memref.alloc
func.func @freed(%a: i1) {
  %x = memref.alloc() : memref<4xf32>
  %y = memref.alloc() : memref<4xf32>
  memref.dealloc %x : memref<4xf32>
  cf.assert %a, "between"
  %z = memref.alloc() : memref<4xf32>
  memref.dealloc %y : memref<4xf32>
  memref.dealloc %z : memref<4xf32>
  return
}

// -----

// An assertion in a region stays. A function that returns memory returns none that there is.
// CHECK-LABEL: func.func @stays
// CHECK: scf.if
// CHECK: cf.assert
// CHECK-LABEL: func.func @memory
// CHECK: %[[NONE:.+]] = ub.poison : memref<4xf32>
// CHECK: return %[[NONE]]
func.func @stays(%a: i1, %b: i1) {
  scf.if %a {
    cf.assert %b, "inside"
  }
  return
}
func.func @memory(%a: i1, %m: memref<4xf32>) -> memref<4xf32> {
  cf.assert %a, "before"
  return %m : memref<4xf32>
}
