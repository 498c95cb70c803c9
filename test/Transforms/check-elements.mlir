// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-check-elements),canonicalize,cse)' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-check-elements{device=true}),canonicalize,cse)' | FileCheck %s --check-prefix=DEVICE

// An index that is data is asserted where it is read. The kernel of a device goes on with the
// nearest element.
// CHECK-LABEL: func.func @gather
// CHECK: linalg.generic
// CHECK: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be at least 0"
// CHECK: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be below 3"
// CHECK: tensor.extract
// DEVICE-LABEL: func.func @gather
// DEVICE: linalg.generic
// DEVICE: ^bb0(%[[K:.+]]: index, %{{.+}}: f32):
// DEVICE: %[[LOW:.+]] = arith.maxsi %[[K]], %c0 : index
// DEVICE: %[[PLACE:.+]] = arith.minsi %[[LOW]], %c2 : index
// DEVICE: %[[FROM:.+]] = arith.cmpi sge, %[[K]], %c0 : index
// DEVICE: cf.assert %[[FROM]], "tensor.extract at {{.+}}: expected index 0 to be at least 0"
// DEVICE: %[[BELOW:.+]] = arith.cmpi slt, %[[K]], %c3 : index
// DEVICE: cf.assert %[[BELOW]], "tensor.extract at {{.+}}: expected index 0 to be below 3"
// DEVICE: tensor.extract %{{.+}}[%[[PLACE]]]
#row = affine_map<(i) -> (i)>
func.func @gather(%i: tensor<4xindex>, %x: tensor<3xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%i : tensor<4xindex>) outs(%e : tensor<4xf32>) {
  ^bb0(%k: index, %o: f32):
    %v = tensor.extract %x[%k] : tensor<3xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// An index that is clamped to a static size needs no check, on either.
// CHECK-LABEL: func.func @clamped
// CHECK-NOT: cf.assert
// DEVICE-LABEL: func.func @clamped
// DEVICE-NOT: cf.assert
// DEVICE: arith.minsi
// DEVICE-NOT: arith.minsi
#row = affine_map<(i) -> (i)>
func.func @clamped(%i: tensor<4xindex>, %x: tensor<3xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%i : tensor<4xindex>) outs(%e : tensor<4xf32>) {
  ^bb0(%k: index, %o: f32):
    %low = arith.maxsi %k, %c0 : index
    %place = arith.minsi %low, %c2 : index
    %v = tensor.extract %x[%place] : tensor<3xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// An index that a loop moves is asserted once, before the op, unless the loop is empty.
// CHECK-LABEL: func.func @moved
// CHECK: arith.select
// CHECK: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be below 3"
// CHECK: linalg.generic
// CHECK-NOT: cf.assert
#row = affine_map<(i) -> (i)>
func.func @moved(%e: tensor<?xf32>, %x: tensor<3xf32>) -> tensor<?xf32> {
  %y = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%e : tensor<?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i] : tensor<3xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Divisors: of a constant nothing is asserted, nor of one that was made another one than 0.
// CHECK-LABEL: func.func @divisors
// CHECK: %[[ZERO:.+]] = arith.cmpi ne, %[[B:.+]], %c0_i32
// CHECK: cf.assert %[[ZERO]], "arith.divui at {{.+}}: expected another divisor than 0"
// CHECK-NOT: cf.assert
// What the host of a device knows it asserts, so that the division stays.
// DEVICE-LABEL: func.func @divisors
// DEVICE-SAME: %[[A:.+]]: i32, %[[B:[a-z0-9]+]]: i32
// DEVICE: cf.assert
// DEVICE-NOT: cf.assert
// DEVICE: arith.divui %[[A]], %[[B]] : i32
func.func @divisors(%a: i32, %b: i32) -> (i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %x = arith.divui %a, %b : i32
  %y = arith.divsi %a, %c7 : i32
  %is = arith.cmpi eq, %b, %c0 : i32
  %d = arith.select %is, %c1, %b : i32
  %z = arith.remui %a, %d : i32
  return %x, %y, %z : i32, i32, i32
}

// -----

// Divisors that are data: the kernel of a device divides by 1 where it has asserted another one.
// CHECK-LABEL: func.func @data
// CHECK: ^bb0(%[[A:.+]]: i32, %[[B:.+]]: i32, %{{.+}}: i32):
// CHECK: cf.assert %{{.+}}, "arith.divsi at {{.+}}: expected another divisor than 0"
// CHECK: cf.assert %{{.+}}, "arith.divsi at {{.+}}: expected another divisor of the smallest number than -1"
// CHECK: arith.divsi %[[A]], %[[B]] : i32
// DEVICE-LABEL: func.func @data
// DEVICE: ^bb0(%[[A:.+]]: i32, %[[B:.+]]: i32, %{{.+}}: i32):
// DEVICE: %[[NOTZERO:.+]] = arith.cmpi ne, %[[B]], %c0_i32 : i32
// DEVICE: cf.assert %[[NOTZERO]], "arith.divsi at {{.+}}: expected another divisor than 0"
// DEVICE: %[[D:.+]] = arith.select %{{.+}}, %c1_i32, %[[B]] : i32
// DEVICE: %[[LEAST:.+]] = arith.cmpi eq, %[[A]], %c-2147483648_i32 : i32
// DEVICE: %[[FOUND:.+]] = arith.select %[[LEAST]], %[[D]], %c1_i32 : i32
// DEVICE: %[[FITS:.+]] = arith.cmpi ne, %[[FOUND]], %c-1_i32 : i32
// DEVICE: cf.assert %[[FITS]], "arith.divsi at {{.+}}: expected another divisor of the smallest number than -1"
// DEVICE: %[[SAFE:.+]] = arith.select %{{.+}}, %c1_i32, %[[D]] : i32
// DEVICE: arith.divsi %[[A]], %[[SAFE]] : i32
#row = affine_map<(i) -> (i)>
func.func @data(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %y = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%n: i32, %d: i32, %o: i32):
    %q = arith.divsi %n, %d : i32
    linalg.yield %q : i32
  } -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// A divisor from outside is asserted once, before the op, unless the op has no iterations.
// CHECK-LABEL: func.func @outside
// CHECK-SAME: %{{.+}}: tensor<?xindex>, %[[D:.+]]: index
// CHECK: %[[FOUND:.+]] = arith.select %{{.+}}, %c-1, %[[D]] : index
// CHECK: %[[HOLDS:.+]] = arith.cmpi ne, %[[FOUND]], %c0 : index
// CHECK: cf.assert %[[HOLDS]], "arith.divui at {{.+}}: expected another divisor than 0"
// CHECK: linalg.generic
// CHECK-NOT: cf.assert
// DEVICE-LABEL: func.func @outside
// DEVICE: cf.assert
// DEVICE: linalg.generic
// DEVICE-NOT: cf.assert
// DEVICE-NOT: arith.select
#row = affine_map<(i) -> (i)>
func.func @outside(%a: tensor<?xindex>, %d: index) -> tensor<?xindex> {
  %y = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%a : tensor<?xindex>) {
  ^bb0(%n: index):
    %q = arith.divui %n, %d : index
    linalg.yield %q : index
  } -> tensor<?xindex>
  return %y : tensor<?xindex>
}

// -----

// Steps in a body: 1 or more, and what is none is 1 on a device.
// CHECK-LABEL: func.func @steps
// CHECK: cf.assert %{{.+}}, "scf.for at {{.+}}: expected a step to be at least 1"
// DEVICE-LABEL: func.func @steps
// DEVICE: ^bb0(%[[K:.+]]: index):
// DEVICE: cf.assert %{{.+}}, "scf.for at {{.+}}: expected a step to be at least 1"
// DEVICE: %[[STEP:.+]] = arith.{{select %.+, %c1,|maxsi}} %[[K]]{{(, %c1)?}} : index
// DEVICE: scf.for %{{.+}} = %c0 to %c6 step %[[STEP]]
#row = affine_map<(i) -> (i)>
func.func @steps(%a: tensor<4xindex>) -> tensor<4xindex> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %y = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel"]} outs(%a : tensor<4xindex>) {
  ^bb0(%k: index):
    %v = scf.for %j = %c0 to %c6 step %k iter_args(%s = %c0) -> index {
      %t = arith.addi %s, %j : index
      scf.yield %t : index
    }
    linalg.yield %v : index
  } -> tensor<4xindex>
  return %y : tensor<4xindex>
}

// -----

// A scalar that is data, outside of a body.
// CHECK-LABEL: func.func @scalar
// DEVICE-LABEL: func.func @scalar
// DEVICE: %[[I:.+]] = tensor.extract %{{.+}}[%c0] : tensor<1xindex>
// DEVICE: arith.maxsi %[[I]], %c0
// DEVICE: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be at least 0"
// DEVICE: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be below 3"
// DEVICE: tensor.extract
func.func @scalar(%i: tensor<1xindex>, %x: tensor<3xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %k = tensor.extract %i[%c0] : tensor<1xindex>
  %v = tensor.extract %x[%k] : tensor<3xf32>
  return %v : f32
}
