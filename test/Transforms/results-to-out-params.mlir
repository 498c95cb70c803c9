// RUN: blockscale-opt %s -blockscale-results-to-out-params | FileCheck %s

// Each result becomes a trailing buffer, in order, and the function gets a C
// interface.
// CHECK-LABEL: func.func @two_results(
// CHECK-SAME:      [[X:%[a-z0-9]+]]: tensor<4xf32> {bufferization.writable = false},
// CHECK-SAME:      [[Y:%[a-z0-9]+]]: tensor<2x8xi8> {bufferization.writable = false},
// CHECK-SAME:      [[OUT0:%.+]]: memref<2x8xi8>, [[OUT1:%.+]]: memref<4xf32>)
// CHECK-SAME:      attributes {llvm.emit_c_interface} {
// CHECK:         bufferization.materialize_in_destination [[Y]] in restrict writable [[OUT0]]
// CHECK:         bufferization.materialize_in_destination [[X]] in restrict writable [[OUT1]]
// CHECK-NEXT:    return{{$}}
func.func @two_results(%x: tensor<4xf32>, %y: tensor<2x8xi8>) -> (tensor<2x8xi8>, tensor<4xf32>) {
  return %y, %x : tensor<2x8xi8>, tensor<4xf32>
}

// The dynamic sizes of all results, in order, are what the caller must know to
// allocate them. Static results have none.
// CHECK-LABEL: func.func @dynamic__result_sizes(
// CHECK-SAME:      [[X:%[a-z0-9]+]]: tensor<?x4xf32> {{.*}}, [[Y:%[a-z0-9]+]]: tensor<8x?xi8> {{.*}}, {{%.+}}: tensor<2xf32>
// CHECK-SAME:      [[SIZES:%.+]]: memref<2xi64>)
// CHECK-SAME:      attributes {llvm.emit_c_interface} {
// CHECK:         [[DIM0:%.+]] = tensor.dim [[X]], {{%.+}} : tensor<?x4xf32>
// CHECK:         [[SIZE0:%.+]] = arith.index_cast [[DIM0]]
// CHECK:         [[I0:%.+]] = arith.constant 0 : index
// CHECK:         memref.store [[SIZE0]], [[SIZES]][[[I0]]]
// CHECK:         [[DIM1:%.+]] = tensor.dim [[Y]], {{%.+}} : tensor<8x?xi8>
// CHECK:         [[SIZE1:%.+]] = arith.index_cast [[DIM1]]
// CHECK:         [[I1:%.+]] = arith.constant 1 : index
// CHECK:         memref.store [[SIZE1]], [[SIZES]][[[I1]]]
// CHECK-NEXT:    return{{$}}

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:      memref<?x4xf32>, {{%.+}}: memref<2xf32>, {{%.+}}: memref<8x?xi8>)
func.func @dynamic(%x: tensor<?x4xf32>, %y: tensor<8x?xi8>, %z: tensor<2xf32>)
    -> (tensor<?x4xf32>, tensor<2xf32>, tensor<8x?xi8>) {
  return %x, %z, %y : tensor<?x4xf32>, tensor<2xf32>, tensor<8x?xi8>
}

// A scalar result is a buffer of rank 0.
// CHECK-LABEL: func.func @scalar(
// CHECK-SAME:      [[F:%.+]]: f32, [[OUT:%.+]]: memref<f32>)
// CHECK:         [[T:%.+]] = tensor.from_elements [[F]] : tensor<f32>
// CHECK:         bufferization.materialize_in_destination [[T]] in restrict writable [[OUT]]
func.func @scalar(%f: f32) -> f32 {
  return %f : f32
}

// Without results only the C interface is added.
// CHECK-LABEL: func.func @no_results(
// CHECK-SAME:      {{%.+}}: tensor<4xf32> {bufferization.writable = false}) attributes {llvm.emit_c_interface} {
func.func @no_results(%x: tensor<4xf32>) {
  return
}

// A caller that gives up an argument's content says so. The function keeps the
// number, since bufferization drops the mark.
// CHECK-LABEL: func.func @writable(
// CHECK-SAME:      {{%.+}}: tensor<4xf32> {bufferization.writable = false},
// CHECK-SAME:      {{%.+}}: tensor<4xf32> {bufferization.writable = true})
// CHECK-SAME:      attributes {blockscale.writable_arguments = array<i64: 1>, llvm.emit_c_interface}
func.func @writable(%x: tensor<4xf32>, %y: tensor<4xf32> {bufferization.writable = true}) {
  return
}

// What a module says of itself there is not what its arguments are marked with.
// CHECK-LABEL: func.func @not_writable(
// CHECK-SAME:      {{%.+}}: tensor<4xf32> {bufferization.writable = false}) attributes {llvm.emit_c_interface}
func.func @not_writable(%x: tensor<4xf32>)
    attributes {blockscale.writable_arguments = array<i64: 0>, blockscale.result_arguments = array<i64: 3>} {
  return
}

// Arguments that nothing writes which may still run: the function keeps their
// numbers, whatever it said of itself before.
// CHECK-LABEL: func.func @settled(
// CHECK-SAME:      %{{[a-z0-9]+}}: tensor<4xf32> {bufferization.writable = false},
// CHECK-SAME:      %{{[a-z0-9]+}}: tensor<4xf32> {bufferization.writable = false}, %{{[a-z0-9]+}}: f32)
// CHECK-SAME:      attributes {blockscale.settled_arguments = array<i64: 1>, llvm.emit_c_interface}
func.func @settled(%x: tensor<4xf32>, %y: tensor<4xf32> {blockscale.settled},
                   %f: f32 {blockscale.settled})
    attributes {blockscale.settled_arguments = array<i64: 0>} {
  return
}
// CHECK-LABEL: func.func @not_settled(
// CHECK-SAME:      attributes {llvm.emit_c_interface}
func.func @not_settled(%x: tensor<4xf32>)
    attributes {blockscale.settled_arguments = array<i64: 0>} {
  return
}

// Private functions and declarations are not for callers outside.
// CHECK-LABEL: func.func private @private_function(
// CHECK-SAME:      tensor<4xf32>) -> tensor<4xf32> {
func.func private @private_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func private @declared(tensor<4xf32>) -> tensor<4xf32>{{$}}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// Marks of weights, and of settled arguments, end here, since nothing later knows them.
// CHECK-LABEL: func.func @weight(
// CHECK-SAME:      tensor<4xf32> {bufferization.writable = false}, %{{.+}}: memref<4xf32>)
func.func @weight(%w: tensor<4xf32> {blockscale.weight}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// CHECK-LABEL: func.func private @private_weight(
// CHECK-SAME:      %{{.+}}: tensor<4xf32>)
func.func private @private_weight(%w: tensor<4xf32> {blockscale.weight, blockscale.settled}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
