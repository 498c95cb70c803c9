// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-check-sizes),canonicalize,cse)' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(blockscale-check-sizes{device=true}),canonicalize,cse)' | FileCheck %s --check-prefix=DEVICE

// A size that the type of the result says is asserted of the argument, at the begin of the
// function: the tensor in between has the argument's sizes.
// CHECK-LABEL: func.func @cast
// CHECK-SAME: %[[X:.+]]: tensor<?x?xf32>
// CHECK: %[[N:.+]] = tensor.dim %[[X]], %c0
// CHECK: %[[HOLDS:.+]] = arith.cmpi eq, %[[N]], %c4 : index
// CHECK: cf.assert %[[HOLDS]], "tensor.cast at check-sizes.mlir:[[#@LINE+5]]:8: expected dimension 0 of the source to be 4"
// CHECK: arith.addf
// CHECK-NOT: cf.assert
func.func @cast(%x: tensor<?x?xf32>) -> tensor<4x?xf32> {
  %y = arith.addf %x, %x : tensor<?x?xf32>
  %z = tensor.cast %y : tensor<?x?xf32> to tensor<4x?xf32>
  return %z : tensor<4x?xf32>
}

// -----

// Static sizes, sizes of the same argument, and arithmetic that proves a part to fit.
// CHECK-LABEL: func.func @proved
// CHECK-NOT: cf.assert
// CHECK: return
func.func @proved(%x: tensor<8xf32>, %y: tensor<?xf32>) -> (tensor<4xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %b = linalg.exp ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = arith.addf %b, %y : tensor<?xf32>
  %p = tensor.pad %s low[1] high[2] {
  ^bb0(%i: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  %m = arith.addi %n, %c1 : index
  %c = tensor.extract_slice %p[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
  return %a, %s, %c : tensor<4xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// What a loop computes is asserted in the loop.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for %[[I:.+]] = %c0 to %{{.+}} step %c1
// CHECK: cf.assert %{{.+}}, "tensor.extract_slice at {{.+}}: expected offset 0 to be at most dimension 0 of the source without the part"
// CHECK: tensor.extract_slice
func.func @loop(%x: tensor<?xf32>, %n: index) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<2xf32>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%t = %e) -> tensor<2xf32> {
    %s = tensor.extract_slice %x[%i] [2] [1] : tensor<?xf32> to tensor<2xf32>
    scf.yield %s : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// -----

// An offset that is data: the host of a device does not know it, so that the kernel asserts it,
// and the nearest part takes its place.
// CHECK-LABEL: func.func @data
// CHECK-COUNT-2: cf.assert
// CHECK-NOT: arith.minsi
// CHECK: return
// DEVICE-LABEL: func.func @data
// DEVICE: %[[AT:.+]] = tensor.extract %
// DEVICE-COUNT-2: cf.assert
// DEVICE: %[[LEAST:.+]] = arith.minsi %[[AT]], %
// DEVICE: %[[NEAR:.+]] = arith.maxsi %[[LEAST]], %
// DEVICE: tensor.extract_slice %{{.+}}[%[[NEAR]]] [2] [1]
func.func @data(%x: tensor<8xf32>, %o: tensor<index>) -> tensor<2xf32> {
  %i = tensor.extract %o[] : tensor<index>
  %s = tensor.extract_slice %x[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// The same where a part is inserted at such an offset.
// DEVICE-LABEL: func.func @inserted
// DEVICE-SAME:      %[[PART:[a-z0-9]+]]: tensor<2xf32>, %[[X:[a-z0-9]+]]: tensor<8xf32>
// DEVICE-DAG: %[[C0:.+]] = arith.constant 0 : index
// DEVICE-DAG: %[[C6:.+]] = arith.constant 6 : index
// DEVICE: %[[AT:.+]] = tensor.extract
// DEVICE: %[[LOW:.+]] = arith.cmpi sge, %[[AT]], %[[C0]]
// DEVICE: cf.assert %[[LOW]], "tensor.insert_slice at {{.*}}: expected offset 0 to be at least 0"
// DEVICE: %[[HIGH:.+]] = arith.cmpi sle, %[[AT]], %[[C6]]
// DEVICE: cf.assert %[[HIGH]], "tensor.insert_slice at {{.*}}: expected offset 0 to be at most 6"
// DEVICE: %[[LEAST:.+]] = arith.minsi %[[AT]], %[[C6]]
// DEVICE: %[[NEAR:.+]] = arith.maxsi %[[LEAST]], %[[C0]]
// DEVICE: tensor.insert_slice %[[PART]] into %[[X]][%[[NEAR]]] [2] [1]
// CHECK-LABEL: func.func @inserted
// CHECK-NOT: arith.minsi
// CHECK: return
func.func @inserted(%part: tensor<2xf32>, %x: tensor<8xf32>, %at: tensor<index>) -> tensor<8xf32> {
  %i = tensor.extract %at[] : tensor<index>
  %y = tensor.insert_slice %part into %x[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// So it is for a part of a buffer, which kernels may write to.
// DEVICE-LABEL: func.func @buffer
// DEVICE: %[[AT:.+]] = memref.load
// DEVICE-COUNT-2: cf.assert
// DEVICE: %[[LEAST:.+]] = arith.minsi %[[AT]],
// DEVICE: %[[NEAR:.+]] = arith.maxsi %[[LEAST]],
// DEVICE: memref.subview %{{.+}}[%[[NEAR]]] [2] [1]
func.func @buffer(%x: memref<8xf32>, %at: memref<index>) -> memref<2xf32, strided<[1], offset: ?>> {
  %i = memref.load %at[] : memref<index>
  %y = memref.subview %x[%i] [2] [1] : memref<8xf32> to memref<2xf32, strided<[1], offset: ?>>
  return %y : memref<2xf32, strided<[1], offset: ?>>
}

// -----

// One condition chooses one of two tensors as it is, and these may differ in size. A condition
// for each element chooses elements, at the same places of tensors of one size.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: cf.assert
// CHECK: return
// CHECK-LABEL: func.func @elements
// CHECK-COUNT-2: cf.assert
func.func @whole(%is: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = arith.select %is, %x, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}
func.func @elements(%is: tensor<?xi1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = arith.select %is, %x, %y : tensor<?xi1>, tensor<?xf32>
  return %z : tensor<?xf32>
}
