// RUN: blockscale-opt %s -blockscale-expand-reshapes | FileCheck %s
// RUN: blockscale-opt %s -blockscale-expand-reshapes -expand-strided-metadata -o /dev/null

// Sizes are those of the output shape, strides what they add up to.
// CHECK-LABEL: func.func @several
// CHECK-SAME: %[[X:.+]]: memref<?x16xbf16>, %[[M:.+]]: index, %[[N:.+]]: index
// CHECK: %[[BASE:.+]], %{{.+}}, %{{.+}}:2, %{{.+}}:2 = memref.extract_strided_metadata %[[X]]
// CHECK: %[[STRIDE:.+]] = affine.apply #{{.+}}()[%[[N]]]
// CHECK: %[[Y:.+]] = memref.reinterpret_cast %[[BASE]] to offset: [0], sizes: [%[[M]], %[[N]], 16], strides: [%[[STRIDE]], 16, 1]
// CHECK: return %[[Y]]
func.func @several(%x: memref<?x16xbf16>, %m: index, %n: index) -> memref<?x?x16xbf16> {
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%m, %n, 16] : memref<?x16xbf16> into memref<?x?x16xbf16>
  return %y : memref<?x?x16xbf16>
}

// A source with gaps and an offset passes both on.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: %{{.+}}: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[M:.+]]: index, %[[N:.+]]: index, %[[K:.+]]: index
// CHECK: %[[BASE:.+]], %[[OFFSET:.+]], %{{.+}}:2, %[[STRIDES:.+]]:2 = memref.extract_strided_metadata
// CHECK: %[[OUTER:.+]] = affine.apply #{{.+}}()[%[[STRIDES]]#0, %[[N]]]
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]], sizes: [%[[M]], %[[N]], %[[K]], 4], strides: [%[[OUTER]], %[[STRIDES]]#0, 4, 1]
func.func @strided(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %m: index, %n: index, %k: index) -> memref<?x?x?x4xf32, strided<[?, ?, 4, 1], offset: ?>> {
  %y = memref.expand_shape %x [[0, 1], [2, 3]] output_shape [%m, %n, %k, 4] : memref<?x?xf32, strided<[?, 1], offset: ?>> into memref<?x?x?x4xf32, strided<[?, ?, 4, 1], offset: ?>>
  return %y : memref<?x?x?x4xf32, strided<[?, ?, 4, 1], offset: ?>>
}

// One dynamic size is what the others leave.
// CHECK-LABEL: func.func @one
// CHECK: memref.expand_shape
// CHECK-NOT: memref.reinterpret_cast
func.func @one(%x: memref<?x16xbf16>, %m: index) -> memref<?x4x16xbf16> {
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%m, 4, 16] : memref<?x16xbf16> into memref<?x4x16xbf16>
  return %y : memref<?x4x16xbf16>
}
