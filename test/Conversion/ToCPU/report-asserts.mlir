// RUN: blockscale-opt %s -split-input-file -blockscale-report-asserts | FileCheck %s

// An assertion that compares a number reports that number, and leaves the function.
// CHECK: llvm.mlir.global internal constant @[[MESSAGE:.+]]("index must be smaller\00")
// CHECK-LABEL: func.func @compared
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32, %[[A:.+]]: memref<f32>, %[[F:.+]]: f32
// CHECK: %[[HOLDS:.+]] = arith.cmpi slt, %[[N]]
// CHECK: cf.cond_br %[[HOLDS]], ^[[NEXT:.+]], ^[[FAIL:.+]]
// CHECK: ^[[FAIL]]:
// CHECK: %[[TEXT:.+]] = llvm.mlir.addressof @[[MESSAGE]]
// CHECK: %[[WIDE:.+]] = arith.extsi %[[N]] : i32 to i64
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

// In a function that is called, whose caller would go on, an assertion stays.
// CHECK-LABEL: func.func private @called
// CHECK: cf.assert
func.func private @called(%a: i1) {
  cf.assert %a, "inside"
  return
}
func.func @caller(%a: i1) {
  call @called(%a) : (i1) -> ()
  return
}

// -----

// An assertion in a region, and one of a function that returns memory, stay.
// CHECK-LABEL: func.func @stays
// CHECK: scf.if
// CHECK: cf.assert
// CHECK-LABEL: func.func @memory
// CHECK: cf.assert
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
