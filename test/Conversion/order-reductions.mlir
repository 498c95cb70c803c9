// RUN: blockscale-opt %s -blockscale-order-reductions | FileCheck %s

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// The elements of a row go to a buffer, neutral ones behind them. Leaves of 32 are folded
// in halves, three of them become a tree: two are combined, then the third, and the
// initial value comes last.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x70xf32>, %[[S:[a-z0-9]+]]: memref<?xf32>
// CHECK: %[[BUFFER:.+]] = memref.alloc() {{.*}}: memref<96xf32>
// CHECK: %[[NONE:.+]] = arith.constant -0.000000e+00 : f32
// CHECK: %[[M:.+]] = memref.dim %[[X]]
// CHECK: scf.for %[[I:.+]] = %{{.+}} to %[[M]]
// CHECK-COUNT-26: memref.store %[[NONE]], %[[BUFFER]]
// CHECK: scf.for %[[J:.+]] = %{{.+}} to %c70
// CHECK: %[[V:.+]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK: arith.mulf %[[V]], %[[V]]
// CHECK: scf.for %{{.+}} to %c3
// CHECK: arith.addi %{{.+}}, %c16
// CHECK: arith.addi %{{.+}}, %c8
// CHECK: arith.addi %{{.+}}, %c4
// CHECK: arith.addi %{{.+}}, %c2
// CHECK: arith.addi %{{.+}}, %c1
// CHECK: scf.for %{{.+}} to %c1
// CHECK: memref.load %[[BUFFER]][%c2
// CHECK: memref.store %{{.+}}, %[[BUFFER]][%c1
// CHECK: scf.for %{{.+}} to %c1
// CHECK: %[[INITIAL:.+]] = memref.load %[[S]][%[[I]]]
// CHECK: %[[ALL:.+]] = memref.load %[[BUFFER]][%c0
// CHECK: %[[SUM:.+]] = arith.addf %[[INITIAL]], %[[ALL]]
// CHECK: memref.store %[[SUM]], %[[S]][%[[I]]]
// CHECK: memref.dealloc %[[BUFFER]]
func.func @sums(%x: memref<?x70xf32>, %s: memref<?xf32>) {
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x70xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %r, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Columns, rows of a length that is known at run time, integers, and a body that reads
// what it adds to twice stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.for
// CHECK-COUNT-4: linalg.generic
func.func @others(%x: memref<32x?xf32>, %y: memref<32x64xf32>, %i: memref<32x64xi32>, %s: memref<32xf32>, %t: memref<64xf32>, %u: memref<32xi32>) {
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<32x?xf32>) outs(%s : memref<32xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#element, #column], iterator_types = ["reduction", "parallel"]} ins(%y : memref<32x64xf32>) outs(%t : memref<64xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%i : memref<32x64xi32>) outs(%u : memref<32xi32>) {
  ^bb0(%a: i32, %r: i32):
    %0 = arith.addi %r, %a : i32
    linalg.yield %0 : i32
  }
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%y : memref<32x64xf32>) outs(%s : memref<32xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.mulf %r, %a : f32
    %1 = arith.addf %r, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
