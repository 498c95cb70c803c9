// RUN: blockscale-opt %s -blockscale-bufferize -canonicalize -cse | FileCheck %s
// RUN: blockscale-opt %s -blockscale-bufferize -blockscale-bufferize -canonicalize -cse | FileCheck %s

// Amaxes are reduced where they are.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: %[[A:.+]]: memref<f32
// CHECK-NOT: memref.alloc
// CHECK: blockscale.amax_over_ranks %[[A]] : memref<f32
// CHECK: return %[[A]]
func.func @in_place(%a: tensor<f32> {bufferization.writable = true}) -> tensor<f32> {
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  return %r : tensor<f32>
}

// An argument that is not given away is reduced in a copy, and so is an amax that is
// read later.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: %[[A:.+]]: memref<f32
// CHECK: %[[COPY:.+]] = memref.alloc()
// CHECK: memref.copy %[[A]], %[[COPY]]
// CHECK: blockscale.amax_over_ranks %[[COPY]] : memref<f32>
// CHECK: return %[[COPY]]
func.func @kept(%a: tensor<f32> {bufferization.writable = false}) -> tensor<f32> {
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @read_later
// CHECK: %[[A:.+]] = memref.alloc() {{.*}}: memref<3xf32>
// CHECK: linalg.fill {{.*}} outs(%[[A]] :
// CHECK: %[[R:.+]] = memref.alloc() {{.*}}: memref<3xf32>
// CHECK: memref.copy %[[A]], %[[R]]
// CHECK: blockscale.amax_over_ranks %[[R]] : memref<3xf32>
// CHECK: return %[[A]], %[[R]]
func.func @read_later(%v: f32) -> (tensor<3xf32>, tensor<3xf32>) {
  %e = tensor.empty() : tensor<3xf32>
  %a = linalg.fill ins(%v : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %r = blockscale.amax_over_ranks %a : tensor<3xf32> -> tensor<3xf32>
  return %a, %r : tensor<3xf32>, tensor<3xf32>
}

// The host takes memory without gaps: others are reduced in a copy.
// CHECK-LABEL: func.func @gaps
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4x8xf32
// CHECK: %[[COLUMN:.+]] = memref.subview %[[A]]
// CHECK: %[[COPY:.+]] = memref.alloc() {{.*}}: memref<4xf32>
// CHECK: memref.copy %[[COLUMN]], %[[COPY]]
// CHECK: blockscale.amax_over_ranks %[[COPY]] : memref<4xf32>
// CHECK: memref.copy %[[COPY]], %[[COLUMN]]
func.func @gaps(%a: tensor<4x8xf32> {bufferization.writable = true}) -> tensor<4x8xf32> {
  %c = tensor.extract_slice %a[0, 2] [4, 1] [1, 1] : tensor<4x8xf32> to tensor<4xf32>
  %r = blockscale.amax_over_ranks %c : tensor<4xf32> -> tensor<4xf32>
  %b = tensor.insert_slice %r into %a[0, 2] [4, 1] [1, 1] : tensor<4xf32> into tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}
