// RUN: blockscale-opt %s -split-input-file -blockscale-outline-linalg | FileCheck %s
// RUN: blockscale-opt %s -split-input-file -blockscale-outline-linalg | FileCheck %s --check-prefix=MORE

#row = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// Ops that do the same share a function, whatever memory they use. Constants are in it.
// CHECK-LABEL: func.func private @twice_generic_0
// CHECK-SAME: (%[[X:.+]]: memref<?x4xf32>, %[[Y:.+]]: memref<?x4xf32>)
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>, {{(llvm\.)?}}passthrough = ["noinline"]
// CHECK: %[[C:.+]] = arith.constant 2.000000e+00 : f32
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<?x4xf32>) outs(%[[Y]] : memref<?x4xf32>)
// CHECK: arith.mulf %{{.+}}, %[[C]]
// CHECK: return
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x4xf32>, %[[B:[a-z0-9]+]]: memref<?x4xf32>
// CHECK-NEXT: arith.constant
// CHECK-NEXT: arith.constant
// CHECK-NEXT: call @twice_generic_0(%[[A]], %[[B]])
// CHECK-NEXT: call @twice_generic_0(%[[B]], %[[A]])
// CHECK-NEXT: return
func.func @twice(%a: memref<?x4xf32>, %b: memref<?x4xf32>) {
  %c = arith.constant 2.0 : f32
  %d = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%a : memref<?x4xf32>) outs(%b : memref<?x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %c : f32
    linalg.yield %z : f32
  }
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%b : memref<?x4xf32>) outs(%a : memref<?x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %d : f32
    linalg.yield %z : f32
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1, d0)>

// Ops of other constants, of operands in another order, of other maps and of other types
// have functions of their own: five.
// MORE-LABEL: func.func private @others_generic_0
// MORE: arith.constant 2.000000e+00
// MORE-LABEL: func.func private @others_generic_1
// MORE: arith.constant 3.000000e+00
// MORE-LABEL: func.func private @others_generic_2
// MORE: ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32)
// MORE-NEXT: arith.subf %[[X]], %[[Y]]
// MORE-LABEL: func.func private @others_generic_3
// MORE: ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32)
// MORE-NEXT: arith.subf %[[Y]], %[[X]]
// MORE-LABEL: func.func private @others_exp_0({{.*}}memref<4x4xf32>
// MORE-LABEL: func.func private @others_exp_1({{.*}}memref<?x4xf32>
// MORE-LABEL: func.func @others
// MORE-COUNT-6: call
func.func @others(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<?x4xf32>) {
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %two : f32
    linalg.yield %z : f32
  }
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %three : f32
    linalg.yield %z : f32
  }
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.subf %x, %y : f32
    linalg.yield %z : f32
  }
  linalg.generic {indexing_maps = [#column, #row], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.subf %y, %x : f32
    linalg.yield %z : f32
  }
  linalg.exp ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
  linalg.exp ins(%c : memref<?x4xf32>) outs(%c : memref<?x4xf32>)
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// What a body reads of memory and of values around it are arguments.
// CHECK-LABEL: func.func private @captures_generic_0
// CHECK-SAME: (%[[OUT:.+]]: memref<?xf32>, %[[FROM:.+]]: memref<8xf32>, %[[S:.+]]: f32)
// CHECK: %[[INDEX:.+]] = linalg.index 0
// CHECK: %[[LOADED:.+]] = memref.load %[[FROM]][%[[INDEX]]]
// CHECK: arith.addf %[[LOADED]], %[[S]]
// CHECK-LABEL: func.func @captures
// CHECK-SAME: %[[A:.+]]: memref<?xf32>, %[[B:.+]]: memref<8xf32>, %[[C:.+]]: f32
// CHECK-NEXT: call @captures_generic_0(%[[A]], %[[B]], %[[C]])
func.func @captures(%a: memref<?xf32>, %b: memref<8xf32>, %s: f32) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : memref<?xf32>) {
  ^bb0(%y: f32):
    %i = linalg.index 0 : index
    %l = memref.load %b[%i] : memref<8xf32>
    %z = arith.addf %l, %s : f32
    linalg.yield %z : f32
  }
  return
}

// -----

// An op without loops and one on tensors stay.
// CHECK-LABEL: func.func @stays
// CHECK: linalg.generic
// CHECK: linalg.exp
// CHECK-NOT: call
func.func @stays(%a: memref<f32>, %t: tensor<4xf32>) -> tensor<4xf32> {
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%a : memref<f32>) {
  ^bb0(%y: f32):
    %z = arith.addf %y, %y : f32
    linalg.yield %z : f32
  }
  %r = linalg.exp ins(%t : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A loop around an op stays, and a function of the name has the next one.
// CHECK-LABEL: func.func private @in_loop_exp_0()
// CHECK: func.func private @in_loop_exp_0_0(
// CHECK-LABEL: func.func @in_loop
// CHECK: scf.for
// CHECK-NEXT: call @in_loop_exp_0_0
func.func private @in_loop_exp_0()
func.func @in_loop(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    linalg.exp ins(%a : memref<?xf32>) outs(%a : memref<?xf32>)
  }
  return
}

// -----

// An op with an assertion in its body stays, and so do those of a module in the module.
// CHECK-LABEL: func.func @asserts
// CHECK: linalg.generic
// CHECK-LABEL: module @inner
// CHECK-NOT: call
// CHECK: linalg.exp
func.func @asserts(%a: memref<?xf32>, %ok: i1) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%a : memref<?xf32>) {
  ^bb0(%y: f32):
    cf.assert %ok, "no"
    linalg.yield %y : f32
  }
  return
}
module @inner {
  func.func @f(%a: memref<?xf32>) {
    linalg.exp ins(%a : memref<?xf32>) outs(%a : memref<?xf32>)
    return
  }
}
