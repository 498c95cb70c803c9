// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

// CHECK-DAG: #[[FLOOR:.+]] = affine_map<()[s0] -> (s0 floordiv 128)>
// CHECK-DAG: #[[CEIL:.+]] = affine_map<()[s0] -> (s0 ceildiv 128)>
#swizzled = #blockscale.layout<swizzle_128x4>

// Row tiles of 128, the last one shorter, written in parallel.
// CHECK-LABEL: func.func @scf_forall
func.func @scf_forall(%s: tensor<200x5xf8E4M3FN, #swizzled>, %d: tensor<200x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled> {
  // CHECK: scf.forall (%[[I:.+]]) = (0) to (200) step (128) shared_outs(%[[O:.+]] = %{{.+}}) -> (tensor<2x2x32x4x4xf8E4M3FN>)
  %r = scf.forall (%i) = (0) to (200) step (128) shared_outs(%o = %d) -> tensor<200x5xf8E4M3FN, #swizzled> {
    // CHECK: %[[N:.+]] = affine.min
    %n = affine.min affine_map<(d0) -> (128, 200 - d0)>(%i)
    // CHECK-DAG: %[[TN:.+]] = affine.apply #[[CEIL]]()[%[[N]]]
    // CHECK-DAG: %[[TI:.+]] = affine.apply #[[FLOOR]]()[%[[I]]]
    // CHECK: %[[TILE:.+]] = tensor.extract_slice %{{.+}}[%[[TI]], 0, 0, 0, 0] [%[[TN]], 2, 32, 4, 4] [1, 1, 1, 1, 1]
    %t = tensor.extract_slice %s[%i, 0] [%n, 5] [1, 1] : tensor<200x5xf8E4M3FN, #swizzled> to tensor<?x5xf8E4M3FN, #swizzled>
    // CHECK-DAG: %[[TN2:.+]] = affine.apply #[[CEIL]]()[%[[N]]]
    // CHECK-DAG: %[[TI2:.+]] = affine.apply #[[FLOOR]]()[%[[I]]]
    // CHECK: scf.forall.in_parallel
    scf.forall.in_parallel {
      // CHECK-NEXT: tensor.parallel_insert_slice %[[TILE]] into %[[O]][%[[TI2]], 0, 0, 0, 0] [%[[TN2]], 2, 32, 4, 4] [1, 1, 1, 1, 1] : tensor<?x2x32x4x4xf8E4M3FN> into tensor<2x2x32x4x4xf8E4M3FN>
      tensor.parallel_insert_slice %t into %o[%i, 0] [%n, 5] [1, 1] : tensor<?x5xf8E4M3FN, #swizzled> into tensor<200x5xf8E4M3FN, #swizzled>
    }
  // CHECK: {mapping = [#gpu.block<x>]}
  } {mapping = [#gpu.block<x>]}
  return %r : tensor<200x5xf8E4M3FN, #swizzled>
}

// Sizes that only the tensors know: rows of a dynamic tensor in steps of 256,
// and pairs of columns of packed data.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4x?xi8>, %[[ROWS:[a-z0-9]+]]: index
func.func @dynamic(%q: tensor<4x?xf4E2M1FN>, %rows: index) -> tensor<?x8xf8E4M3FN, #swizzled> {
  %d = tensor.empty(%rows) : tensor<?x8xf8E4M3FN, #swizzled>
  // CHECK: scf.forall (%[[I:.+]]) = (0) to (%[[ROWS]]) step (256) shared_outs(%[[O:.+]] = %{{.+}}) -> (tensor<?x2x32x4x4xf8E4M3FN>)
  %r = scf.forall (%i) = (0) to (%rows) step (256) shared_outs(%o = %d) -> tensor<?x8xf8E4M3FN, #swizzled> {
    %n = affine.min affine_map<(d0)[s0] -> (256, s0 - d0)>(%i)[%rows]
    // CHECK: tensor.extract_slice %[[O]][%{{.+}}, 1, 0, 0, 0] [%{{.+}}, 1, 32, 4, 4] [1, 1, 1, 1, 1]
    %t = tensor.extract_slice %o[%i, 4] [%n, 4] [1, 1] : tensor<?x8xf8E4M3FN, #swizzled> to tensor<?x4xf8E4M3FN, #swizzled>
    scf.forall.in_parallel {
      // CHECK: tensor.parallel_insert_slice %{{.+}} into %[[O]][%{{.+}}, 0, 0, 0, 0] [%{{.+}}, 1, 32, 4, 4] [1, 1, 1, 1, 1]
      tensor.parallel_insert_slice %t into %o[%i, 0] [%n, 4] [1, 1] : tensor<?x4xf8E4M3FN, #swizzled> into tensor<?x8xf8E4M3FN, #swizzled>
    }
  }
  return %r : tensor<?x8xf8E4M3FN, #swizzled>
}
