// RUN: blockscale-opt %s --blockscale-plain-to-loops --remarks-filter-analyse=gpu-launch -split-input-file -verify-diagnostics | FileCheck %s

// An element of the result is an iteration. Sizes come from the buffers.
// CHECK-LABEL: func.func @transpose
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x8xf32>, %[[Y:[a-z0-9]+]]: memref<8x?xf32>
// CHECK: %[[M:.+]] = memref.dim %[[X]], %{{.+}} : memref<?x8xf32>
// CHECK: scf.parallel (%[[I:.+]], %[[J:.+]]) = (%{{.+}}, %{{.+}}) to (%c8, %[[M]])
// CHECK: %[[V:.+]] = memref.load %[[X]][%[[J]], %[[I]]]
// CHECK-NEXT: memref.store %[[V]], %[[Y]][%[[I]], %[[J]]]
// CHECK: } {blockscale.plain = "transpose_f32"}
func.func @transpose(%x: memref<?x8xf32>, %y: memref<8x?xf32>) {
  // expected-remark @below {{'linalg.transpose' has a plain kernel: a thread computes an element of the result"}}
  linalg.transpose ins(%x : memref<?x8xf32>) outs(%y : memref<8x?xf32>) permutation = [1, 0]
  return
}

// -----

#a = affine_map<(k, m, n) -> (k, m)>
#b = affine_map<(k, m, n) -> (k, n)>
#c = affine_map<(k, m, n) -> (m, n)>

// The loop that is summed over goes inside, with the sum in a register.
// CHECK-LABEL: func.func @contraction
// CHECK: scf.parallel (%[[I:.+]], %[[J:.+]]) = {{.*}} to (%c3, %c4)
// CHECK: %[[FIRST:.+]] = memref.load %{{.+}}[%[[I]], %[[J]]]
// CHECK: %[[SUM:.+]] = scf.for %[[K:.+]] = {{.+}} to %c20 {{.+}} iter_args(%[[S:.+]] = %[[FIRST]])
// CHECK: memref.load %{{.+}}[%[[K]], %[[I]]]
// CHECK: memref.load %{{.+}}[%[[K]], %[[J]]]
// CHECK: memref.store %[[SUM]], %{{.+}}[%[[I]], %[[J]]]
func.func @contraction(%a: memref<20x3xf32>, %b: memref<20x4xf32>, %c: memref<3x4xf32>) {
  // expected-remark @below {{'linalg.generic' has a plain kernel: a thread computes an element of the result, and all that it reduces for it"}}
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["reduction", "parallel", "parallel"]} ins(%a, %b : memref<20x3xf32>, memref<20x4xf32>) outs(%c : memref<3x4xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %v = arith.addf %s, %p : f32
    linalg.yield %v : f32
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// Rows that other targets reduce in a tree: three leaves of 32 elements and one of 4, the
// last of which is combined with the values that two levels hold.
// CHECK-LABEL: func.func @tree
// CHECK: scf.parallel
// CHECK: %[[INITIAL:.+]] = memref.load
// CHECK: %[[LEVELS:.+]]:2 = scf.for %[[LEAF:.+]] = {{.+}} to %c3 {{.+}} iter_args
// CHECK-COUNT-32: memref.load
// CHECK-NOT: memref.load
// CHECK: arith.andi %[[LEAF]], %{{.+}} : index
// CHECK: scf.yield
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
// CHECK: %[[FIRST:.+]] = arith.addf %[[LEVELS]]#0, %{{.+}} : f32
// CHECK: %[[ALL:.+]] = arith.addf %[[LEVELS]]#1, %[[FIRST]] : f32
// CHECK: %[[SUM:.+]] = arith.addf %[[INITIAL]], %[[ALL]] : f32
// CHECK: memref.store %[[SUM]]
func.func @tree(%x: memref<5x100xf32>, %s: memref<5xf32>) {
  // expected-remark @below {{'linalg.generic' has a plain kernel}}
  linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<5x100xf32>) outs(%s : memref<5xf32>) {
  ^bb0(%a: f32, %r: f32):
    %0 = arith.addf %r, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// A loop is called parallel, but its iterations write one element: it stays in order.
// CHECK-LABEL: func.func @overwritten
// CHECK: scf.parallel (%[[J:.+]]) = (%{{.+}}) to (%c5)
// CHECK: scf.for %[[I:.+]] = {{.+}} to %c6
// CHECK: memref.load %{{.+}}[%[[I]], %[[J]]]
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[J]]]
func.func @overwritten(%x: memref<6x5xf32>, %y: memref<5xf32>) {
  // expected-remark @below {{'linalg.generic' has a plain kernel}}
  linalg.generic {indexing_maps = [#element, #column], iterator_types = ["parallel", "parallel"]} ins(%x : memref<6x5xf32>) outs(%y : memref<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// What the host would load, compute and store is one iteration; what a loop behind it reads
// of that is in a buffer. A function of sizes is for the host, and asserts nothing of elements.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>, %[[S:[a-z0-9]+]]: memref<f32>, %[[I:[a-z0-9]+]]: index
// CHECK: %[[BUFFER:.+]] = memref.alloc() : memref<f32>
// CHECK: scf.parallel
// CHECK-NEXT: %[[A:.+]] = memref.load %[[X]][%[[I]]]
// CHECK-NEXT: %[[Q:.+]] = arith.mulf %[[A]], %[[A]]
// CHECK-NEXT: memref.store %[[Q]], %[[S]][]
// CHECK-NEXT: memref.store %[[Q]], %[[BUFFER]][]
// CHECK: } {blockscale.plain = "scalars"}
// CHECK: scf.parallel
// CHECK: %[[V:.+]] = memref.load %[[BUFFER]][]
// CHECK: memref.store %[[V]], %[[Y]]
// CHECK: } {blockscale.plain = "fill_f32"}
func.func @scalars(%x: memref<8xf32>, %y: memref<4xf32>, %s: memref<f32>, %i: index) {
  %a = memref.load %x[%i] : memref<8xf32>
  %q = arith.mulf %a, %a : f32
  memref.store %q, %s[] : memref<f32>
  // expected-remark @below {{'linalg.fill' has a plain kernel}}
  linalg.fill ins(%q : f32) outs(%y : memref<4xf32>)
  return
}
// CHECK-LABEL: func.func @f__result_sizes
// CHECK-NOT: scf.parallel
// CHECK-NOT: "of an element"
// CHECK: cf.assert %{{.+}}, "of a size"
// CHECK: memref.store
func.func @f__result_sizes(%x: memref<?xf32>, %k: memref<1xindex>, %sizes: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %j = memref.load %k[%c0] : memref<1xindex>
  %isElement = arith.cmpi slt, %j, %n : index
  cf.assert %isElement, "of an element"
  %isSome = arith.cmpi sgt, %n, %c0 : index
  cf.assert %isSome, "of a size"
  %i = arith.index_cast %n : index to i64
  memref.store %i, %sizes[%c0] : memref<1xi64>
  return
}

// -----

// Assertions about what is loaded go into the loop with it, also behind a launch, with what
// they compare. One that the host decides stays.
// CHECK-LABEL: func.func @asserted
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8xi32>, %[[Y:[a-z0-9]+]]: memref<4xi32>, %{{.+}}: index
// CHECK: cf.assert %{{.+}}, "the host"
// CHECK: scf.parallel
// CHECK: %[[A:.+]] = memref.load %[[X]][%c0]
// CHECK: %[[HOLDS:.+]] = arith.cmpi sge, %[[A]]
// CHECK: cf.assert %[[HOLDS]], "before"
// CHECK: } {blockscale.plain = "scalars"}
// CHECK: } {blockscale.plain = "fill_i32"}
// CHECK: scf.parallel
// CHECK: %[[AGAIN:.+]] = memref.load %{{.+}}[] : memref<i32>
// CHECK: %[[HOLDSTOO:.+]] = arith.cmpi ne, %[[AGAIN]]
// CHECK: cf.assert %[[HOLDSTOO]], "behind"
// CHECK: } {blockscale.plain = "scalars"}
func.func @asserted(%x: memref<8xi32>, %y: memref<4xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %isSome = arith.cmpi sgt, %n, %c0 : index
  cf.assert %isSome, "the host"
  %a = memref.load %x[%c0] : memref<8xi32>
  %holdsToo = arith.cmpi ne, %a, %z : i32
  %holds = arith.cmpi sge, %a, %z : i32
  cf.assert %holds, "before"
  // expected-remark @below {{'linalg.fill' has a plain kernel}}
  linalg.fill ins(%z : i32) outs(%y : memref<4xi32>)
  cf.assert %holdsToo, "behind"
  return
}

// -----

// A size that the device computes.
func.func @size(%x: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %n = memref.load %x[%c0] : memref<1xindex>
  // expected-error @below {{'memref.alloc' op expected operand 0 to be known to the host before anything runs, as constants, sizes and integer arguments are, but got a value that the device computes from an element of memory}}
  %y = memref.alloc(%n) : memref<?xf32>
  %f = arith.constant 0.0 : f32
  memref.store %f, %y[%c0] : memref<?xf32>
  return
}

// -----

// A condition, and a bound of a loop.
func.func @condition(%x: memref<1xi1>, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %b = memref.load %x[%c0] : memref<1xi1>
  // expected-error @below {{'scf.if' op expected operand 0 to be known to the host before anything runs}}
  scf.if %b {
    %f = arith.constant 0.0 : f32
    memref.store %f, %y[%c0] : memref<1xf32>
  }
  return
}

// -----

func.func @tensors(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'linalg.copy' op expected operands that are memrefs (run one-shot-bufferize), but got tensors}}
  %r = linalg.copy ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// An scf.forall on buffers, whose terminator has an empty region, is kept, and its body's store
// is an iteration of its own.
// CHECK-LABEL: func.func @forall
// CHECK: scf.forall
// CHECK: scf.parallel
// CHECK-NEXT: memref.store
func.func @forall(%m: memref<4xf32>, %v: f32) {
  scf.forall (%i) in (4) {
    memref.store %v, %m[%i] : memref<4xf32>
  }
  return
}
