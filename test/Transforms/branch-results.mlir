// RUN: blockscale-opt %s -blockscale-results-to-out-params -canonicalize -cse | FileCheck %s --check-prefix=SIZES
// RUN: blockscale-opt %s -blockscale-results-to-out-params -canonicalize -cse -blockscale-bufferize -canonicalize -cse | FileCheck %s --implicit-check-not=memref.copy

// A branch whose ways compute new tensors of one size has that size before the
// branch, and both write to one place.

// The result of a function is written by each way. Its size is known without
// the branch, also where each way asks for it by a tensor of its own.
// SIZES-LABEL: func.func @result__result_sizes(
// SIZES-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>
// SIZES-NOT:     scf.if
// SIZES:         %[[M:.+]] = tensor.dim %[[X]], %{{.+}} : tensor<?x8xf32>
// SIZES:         %[[SIZE:.+]] = arith.index_cast %[[M]]
// SIZES:         memref.store %[[SIZE]]
// SIZES-NEXT:    return

// CHECK-LABEL: func.func @result(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8xf32>, %{{[a-z0-9]+}}: i1, %[[OUT:[a-z0-9]+]]: memref<?x8xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         scf.if
// CHECK-NEXT:      linalg.exp ins(%[[X]] : memref<?x8xf32>) outs(%[[OUT]] : memref<?x8xf32>)
// CHECK-NEXT:    } else {
// CHECK:           %[[T:.+]] = memref.alloc
// CHECK-NEXT:      linalg.exp ins(%[[X]] : memref<?x8xf32>) outs(%[[T]] : memref<?x8xf32>)
// CHECK-NEXT:      linalg.log ins(%[[T]] : memref<?x8xf32>) outs(%[[OUT]] : memref<?x8xf32>)
func.func @result(%x: tensor<?x8xf32>, %c: i1) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %y = scf.if %c -> tensor<?x8xf32> {
    %m = tensor.dim %x, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %a = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %a : tensor<?x8xf32>
  } else {
    %m = tensor.dim %x, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %a = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    %n = tensor.dim %a, %c0 : tensor<?x8xf32>
    %f = tensor.empty(%n) : tensor<?x8xf32>
    %b = linalg.log ins(%a : tensor<?x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %b : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// Who asks for its size does not read it.
// CHECK-LABEL: func.func @asked(
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<?x8xf32>, %{{[a-z0-9]+}}: memref<?xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.fill ins(%{{.+}} : f32) outs(%[[OUT]] : memref<?x8xf32>)
// CHECK:         linalg.fill ins(%{{.+}} : f32) outs(%[[OUT]] : memref<?x8xf32>)
func.func @asked(%m: index, %c: i1, %p: f32, %q: f32) -> (tensor<?x8xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %y = scf.if %c -> tensor<?x8xf32> {
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %a = linalg.fill ins(%p : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %a : tensor<?x8xf32>
  } else {
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %a = linalg.fill ins(%q : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %a : tensor<?x8xf32>
  }
  %n = tensor.dim %y, %c0 : tensor<?x8xf32>
  %f = tensor.empty(%n) : tensor<?xf32>
  %z = linalg.fill ins(%p : f32) outs(%f : tensor<?xf32>) -> tensor<?xf32>
  return %y, %z : tensor<?x8xf32>, tensor<?xf32>
}

// A tensor that others read has memory before the branch; so does one of a
// branch in a branch, and a size that is computed.
// CHECK-LABEL: func.func @between(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8xf32>, {{.*}}, %[[OUT:[a-z0-9]+]]: memref<?x4xf32>)
// CHECK:         %[[M:.+]] = memref.dim %[[X]]
// CHECK:         %[[N:.+]] = affine.apply {{.*}}[%[[M]]]
// CHECK:         %[[PLACE:.+]] = memref.alloc(%[[N]]) {{.*}} : memref<?x4xf32>
// CHECK:         scf.if
// CHECK-NEXT:      linalg.fill ins(%{{.+}} : f32) outs(%[[PLACE]] : memref<?x4xf32>)
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        linalg.fill ins(%{{.+}} : f32) outs(%[[PLACE]] : memref<?x4xf32>)
// CHECK-NEXT:      } else {
// CHECK-NEXT:        linalg.fill ins(%{{.+}} : f32) outs(%[[PLACE]] : memref<?x4xf32>)
// CHECK:         linalg.exp ins(%[[PLACE]] : memref<?x4xf32>) outs(%[[OUT]] : memref<?x4xf32>)
func.func @between(%x: tensor<?x8xf32>, %c: i1, %d: i1, %p: f32, %q: f32, %r: f32) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %y = scf.if %c -> tensor<?x4xf32> {
    %m = tensor.dim %x, %c0 : tensor<?x8xf32>
    %n = affine.apply affine_map<()[s] -> (s ceildiv 32)>()[%m]
    %e = tensor.empty(%n) : tensor<?x4xf32>
    %a = linalg.fill ins(%p : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
    scf.yield %a : tensor<?x4xf32>
  } else {
    %m = tensor.dim %x, %c0 : tensor<?x8xf32>
    %n = affine.apply affine_map<()[s] -> (s ceildiv 32)>()[%m]
    %e = tensor.empty(%n) : tensor<?x4xf32>
    %b = scf.if %d -> tensor<?x4xf32> {
      %a = linalg.fill ins(%q : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
      scf.yield %a : tensor<?x4xf32>
    } else {
      %a = linalg.fill ins(%r : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
      scf.yield %a : tensor<?x4xf32>
    }
    scf.yield %b : tensor<?x4xf32>
  }
  %m = tensor.dim %y, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %z = linalg.exp ins(%y : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}
