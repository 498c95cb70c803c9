// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-check-elements),canonicalize,cse)' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-check-elements{device=true}),canonicalize,cse)' | FileCheck %s --check-prefix=DEVICE

// An index that is data is asserted where it is read; a device reads the nearest element.
// CHECK-LABEL: func.func @gather
// CHECK: linalg.generic
// CHECK: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be at least 0"
// CHECK: cf.assert %{{.+}}, "tensor.extract at {{.+}}: expected index 0 to be below 3"
// CHECK: tensor.extract
// DEVICE-LABEL: func.func @gather
// DEVICE: linalg.generic
// DEVICE-NOT: cf.assert
// DEVICE: %[[LOW:.+]] = arith.maxsi %{{.+}}, %c0 : index
// DEVICE: %[[PLACE:.+]] = arith.minsi %[[LOW]], %c2 : index
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
