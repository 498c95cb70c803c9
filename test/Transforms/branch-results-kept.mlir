// RUN: blockscale-opt %s -blockscale-results-to-out-params -canonicalize -cse | FileCheck %s --check-prefix=SIZES
// RUN: blockscale-opt %s -blockscale-results-to-out-params -canonicalize -cse -blockscale-bufferize -canonicalize -cse | FileCheck %s

// Branches that decide about the size or the memory of a tensor.

// Ways with other sizes: the branch says which.
// SIZES-LABEL: func.func @sizes__result_sizes(
// SIZES:         %[[Y:.+]] = scf.if
// SIZES:         tensor.dim %[[Y]]
// CHECK-LABEL: func.func @sizes(
// CHECK:         %[[Y:.+]] = scf.if %{{.+}} -> (memref<?x8xf32
// CHECK:         memref.copy %[[Y]]
func.func @sizes(%x: tensor<?x8xf32>, %z: tensor<?x8xf32>, %c: i1) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %y = scf.if %c -> tensor<?x8xf32> {
    %m = tensor.dim %x, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %a = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %a : tensor<?x8xf32>
  } else {
    %m = tensor.dim %z, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %a = linalg.exp ins(%z : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %a : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// A way that gives a tensor from before the branch has it where it is: a place
// of its own would be one more copy.
// CHECK-LABEL: func.func @before(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x8xf32>
// CHECK:         scf.if %{{.+}} -> (memref<4x8xf32>) {
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %[[X]]
func.func @before(%x: tensor<4x8xf32> {bufferization.writable = true}, %p: tensor<2x8xf32>, %c: i1) -> tensor<4x8xf32> {
  %y = scf.if %c -> tensor<4x8xf32> {
    %a = tensor.insert_slice %p into %x[1, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<4x8xf32>
    scf.yield %a : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// An assertion in a branch whose sizes are known is left to the function; the
// sizes are computed without it. One in a branch with other sizes is kept.
// SIZES-LABEL: func.func @asserts__result_sizes(
// SIZES-NOT:     cf.assert
// SIZES:         return
// CHECK-LABEL: func.func @asserts(
// CHECK:         cf.assert
func.func @asserts(%x: tensor<?xf32>, %c: i1, %holds: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %y = scf.if %c -> tensor<?xf32> {
    cf.assert %holds, "holds"
    %e = tensor.empty(%m) : tensor<?xf32>
    %a = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  } else {
    %e = tensor.empty(%m) : tensor<?xf32>
    %a = linalg.log ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
