// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// [128i, 4j] becomes [i, j, 0, 0, 0]; the ragged end keeps its padded tile.
// CHECK-LABEL: func.func @swizzled
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x2x32x4x4xf8E4M3FN>, %[[D:[a-z0-9]+]]: tensor<2x2x32x4x4xf8E4M3FN>
func.func @swizzled(%s: tensor<200x5xf8E4M3FN, #swizzled>, %d: tensor<200x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled> {
  // CHECK: %[[T:.+]] = tensor.extract_slice %[[S]][1, 1, 0, 0, 0] [1, 1, 32, 4, 4] [1, 1, 1, 1, 1] : tensor<2x2x32x4x4xf8E4M3FN> to tensor<1x1x32x4x4xf8E4M3FN>
  %0 = tensor.extract_slice %s[128, 4] [72, 1] [1, 1] : tensor<200x5xf8E4M3FN, #swizzled> to tensor<72x1xf8E4M3FN, #swizzled>
  // CHECK: tensor.insert_slice %[[T]] into %[[D]][1, 1, 0, 0, 0] [1, 1, 32, 4, 4] [1, 1, 1, 1, 1] : tensor<1x1x32x4x4xf8E4M3FN> into tensor<2x2x32x4x4xf8E4M3FN>
  %1 = tensor.insert_slice %0 into %d[128, 4] [72, 1] [1, 1] : tensor<72x1xf8E4M3FN, #swizzled> into tensor<200x5xf8E4M3FN, #swizzled>
  return %1 : tensor<200x5xf8E4M3FN, #swizzled>
}

// Batch elements are sliced, strided and dropped freely.
// CHECK-LABEL: func.func @batch
// CHECK-SAME: %[[S:.+]]: tensor<8x2x2x32x4x4xf8E4M3FN>, %[[Q:.+]]: tensor<8x4x8xi8>, %[[I:.+]]: index
func.func @batch(%s: tensor<8x200x5xf8E4M3FN, #swizzled>, %q: tensor<8x4x16xf4E2M1FN>, %i: index)
    -> (tensor<200x5xf8E4M3FN, #swizzled>, tensor<4x200x5xf8E4M3FN, #swizzled>, tensor<4x16xf4E2M1FN>) {
  // CHECK: tensor.extract_slice %[[S]][%{{.+}}, 0, 0, 0, 0, 0] [1, 2, 2, 32, 4, 4] [1, 1, 1, 1, 1, 1] : tensor<8x2x2x32x4x4xf8E4M3FN> to tensor<2x2x32x4x4xf8E4M3FN>
  %0 = tensor.extract_slice %s[%i, 0, 0] [1, 200, 5] [1, 1, 1] : tensor<8x200x5xf8E4M3FN, #swizzled> to tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK: tensor.extract_slice %[[S]][1, 0, 0, 0, 0, 0] [4, 2, 2, 32, 4, 4] [2, 1, 1, 1, 1, 1]
  %1 = tensor.extract_slice %s[1, 0, 0] [4, 200, 5] [2, 1, 1] : tensor<8x200x5xf8E4M3FN, #swizzled> to tensor<4x200x5xf8E4M3FN, #swizzled>
  // CHECK: tensor.extract_slice %[[Q]][%{{.+}}, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<8x4x8xi8> to tensor<4x8xi8>
  %2 = tensor.extract_slice %q[%i, 0, 0] [1, 4, 16] [1, 1, 1] : tensor<8x4x16xf4E2M1FN> to tensor<4x16xf4E2M1FN>
  return %0, %1, %2 : tensor<200x5xf8E4M3FN, #swizzled>, tensor<4x200x5xf8E4M3FN, #swizzled>, tensor<4x16xf4E2M1FN>
}

// Rows of packed data anywhere, columns in pairs; an odd end is a whole byte.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[Q:.+]]: tensor<?x5xi8>, %[[I:.+]]: index, %[[N:.+]]: index
func.func @packed(%q: tensor<?x9xf4E2M1FN>, %i: index, %n: index) -> (tensor<?x4xf4E2M1FN>, tensor<?x3xf4E2M1FN>) {
  // CHECK: tensor.extract_slice %[[Q]][%{{.+}}, 1] [%[[N]], 2] [3, 1] : tensor<?x5xi8> to tensor<?x2xi8>
  %0 = tensor.extract_slice %q[%i, 2] [%n, 4] [3, 1] : tensor<?x9xf4E2M1FN> to tensor<?x4xf4E2M1FN>
  // CHECK: tensor.extract_slice %[[Q]][%{{.+}}, 3] [%[[N]], 2] [1, 1] : tensor<?x5xi8> to tensor<?x2xi8>
  %1 = tensor.extract_slice %q[%i, 6] [%n, 3] [1, 1] : tensor<?x9xf4E2M1FN> to tensor<?x3xf4E2M1FN>
  return %0, %1 : tensor<?x4xf4E2M1FN>, tensor<?x3xf4E2M1FN>
}

// Offsets that arithmetic shows to be aligned, dynamic sizes that are whole.
// CHECK-LABEL: func.func @aligned
func.func @aligned(%s: tensor<?x?xf8E4M3FN, #swizzled>, %i: index, %n: index) -> tensor<?x4xf8E4M3FN, #swizzled> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  // CHECK: %[[ROW:.+]] = affine.apply
  %row = affine.apply affine_map<(d0) -> (d0 * 256 + 128)>(%i)
  // CHECK: %[[N32:.+]] = arith.muli
  %n32 = arith.muli %n, %c32 : index
  // CHECK: %[[N128:.+]] = arith.muli %[[N32]]
  %n128 = arith.muli %n32, %c4 : index
  // CHECK: scf.for %[[J:.+]] =
  %r = scf.for %j = %c4 to %n step %c4 iter_args(%b = %s) -> tensor<?x?xf8E4M3FN, #swizzled> {
    // CHECK: tensor.extract_slice %{{.+}}[%{{.+}}, %{{.+}}, 0, 0, 0] [%{{.+}}, 1, 32, 4, 4] [1, 1, 1, 1, 1] : tensor<?x?x32x4x4xf8E4M3FN> to tensor<?x1x32x4x4xf8E4M3FN>
    %0 = tensor.extract_slice %b[%row, %j] [%n128, 4] [1, 1] : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x4xf8E4M3FN, #swizzled>
    // CHECK: tensor.insert_slice %{{.+}} into %{{.+}}[0, 0, 0, 0, 0] [%{{.+}}, 1, 32, 4, 4] [1, 1, 1, 1, 1]
    %1 = tensor.insert_slice %0 into %b[0, 0] [%n128, 4] [1, 1] : tensor<?x4xf8E4M3FN, #swizzled> into tensor<?x?xf8E4M3FN, #swizzled>
    scf.yield %1 : tensor<?x?xf8E4M3FN, #swizzled>
  }
  // A constant that the type does not know of gives a dynamic size as well.
  %c128 = arith.constant 128 : index
  // CHECK: tensor.extract_slice %{{.+}}[0, 0, 0, 0, 0] [%{{.+}}, 1, 32, 4, 4] [1, 1, 1, 1, 1] : tensor<?x?x32x4x4xf8E4M3FN> to tensor<?x1x32x4x4xf8E4M3FN>
  %2 = tensor.extract_slice %r[0, 0] [%c128, 4] [1, 1] : tensor<?x?xf8E4M3FN, #swizzled> to tensor<?x4xf8E4M3FN, #swizzled>
  return %2 : tensor<?x4xf8E4M3FN, #swizzled>
}
