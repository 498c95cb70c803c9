// RUN: blockscale-opt %s -canonicalize | FileCheck %s

// Constants fold into slices of scales of one batch element without the layout
// getting lost, as it would in upstream's patterns.

#swizzled = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @extract
// CHECK-SAME: %[[S:.+]]: tensor<4x256x8xf8E8M0FNU, #swizzled>
func.func @extract(%s: tensor<4x256x8xf8E8M0FNU, #swizzled>) -> tensor<256x8xf8E8M0FNU, #swizzled> {
  // CHECK-NEXT: %[[T:.+]] = tensor.extract_slice %[[S]][1, 0, 0] [1, 256, 8] [1, 1, 1] : tensor<4x256x8xf8E8M0FNU, #swizzled> to tensor<256x8xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[T]]
  %c1 = arith.constant 1 : index
  %0 = tensor.extract_slice %s[%c1, 0, 0] [1, 256, 8] [1, 1, 1] : tensor<4x256x8xf8E8M0FNU, #swizzled> to tensor<256x8xf8E8M0FNU, #swizzled>
  return %0 : tensor<256x8xf8E8M0FNU, #swizzled>
}

// CHECK-LABEL: func.func @insert
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<256x8xf8E8M0FNU, #swizzled>, %[[S:[a-z0-9]+]]: tensor<4x256x8xf8E8M0FNU, #swizzled>
func.func @insert(%t: tensor<256x8xf8E8M0FNU, #swizzled>, %s: tensor<4x256x8xf8E8M0FNU, #swizzled>) -> tensor<4x256x8xf8E8M0FNU, #swizzled> {
  // CHECK-NEXT: %[[U:.+]] = tensor.insert_slice %[[T]] into %[[S]][1, 0, 0] [1, 256, 8] [1, 1, 1] : tensor<256x8xf8E8M0FNU, #swizzled> into tensor<4x256x8xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[U]]
  %c1 = arith.constant 1 : index
  %0 = tensor.insert_slice %t into %s[%c1, 0, 0] [1, 256, 8] [1, 1, 1] : tensor<256x8xf8E8M0FNU, #swizzled> into tensor<4x256x8xf8E8M0FNU, #swizzled>
  return %0 : tensor<4x256x8xf8E8M0FNU, #swizzled>
}

// Sizes become static; what is not constant stays.
// CHECK-LABEL: func.func @extract_sizes
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4x?x8xf8E8M0FNU, #swizzled>, %[[I:[a-z0-9]+]]: index
func.func @extract_sizes(%s: tensor<4x?x8xf8E8M0FNU, #swizzled>, %i: index) -> tensor<?x?xf8E8M0FNU, #swizzled> {
  // CHECK-NEXT: %[[T:.+]] = tensor.extract_slice %[[S]][%[[I]], 128, 4] [1, 128, 4] [1, 1, 1] : tensor<4x?x8xf8E8M0FNU, #swizzled> to tensor<128x4xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: %[[U:.+]] = tensor.cast %[[T]] : tensor<128x4xf8E8M0FNU, #swizzled> to tensor<?x?xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[U]]
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %0 = tensor.extract_slice %s[%i, %c128, 4] [1, %c128, %c4] [1, 1, 1] : tensor<4x?x8xf8E8M0FNU, #swizzled> to tensor<?x?xf8E8M0FNU, #swizzled>
  return %0 : tensor<?x?xf8E8M0FNU, #swizzled>
}
// CHECK-LABEL: func.func @insert_sizes
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<?x4xf8E8M0FNU, #swizzled>, %[[S:[a-z0-9]+]]: tensor<4x?x8xf8E8M0FNU, #swizzled>, %[[I:[a-z0-9]+]]: index
func.func @insert_sizes(%t: tensor<?x4xf8E8M0FNU, #swizzled>, %s: tensor<4x?x8xf8E8M0FNU, #swizzled>, %i: index) -> tensor<4x?x8xf8E8M0FNU, #swizzled> {
  // CHECK-NEXT: %[[U:.+]] = tensor.cast %[[T]] : tensor<?x4xf8E8M0FNU, #swizzled> to tensor<128x4xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: %[[V:.+]] = tensor.insert_slice %[[U]] into %[[S]][%[[I]], 128, 4] [1, 128, 4] [1, 1, 1] : tensor<128x4xf8E8M0FNU, #swizzled> into tensor<4x?x8xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[V]]
  %c128 = arith.constant 128 : index
  %0 = tensor.insert_slice %t into %s[%i, 128, 4] [1, %c128, 4] [1, 1, 1] : tensor<?x4xf8E8M0FNU, #swizzled> into tensor<4x?x8xf8E8M0FNU, #swizzled>
  return %0 : tensor<4x?x8xf8E8M0FNU, #swizzled>
}

// The cast stands before the terminator, which takes slices alone.
// CHECK-LABEL: func.func @parallel_insert
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<?x4xf8E8M0FNU, #swizzled>
func.func @parallel_insert(%t: tensor<?x4xf8E8M0FNU, #swizzled>, %s: tensor<8x256x8xf8E8M0FNU, #swizzled>) -> tensor<8x256x8xf8E8M0FNU, #swizzled> {
  // CHECK: scf.forall (%[[I:.+]]) in (8) shared_outs(%[[O:.+]] = %{{.+}})
  // CHECK: %[[U:.+]] = tensor.cast %[[T]] : tensor<?x4xf8E8M0FNU, #swizzled> to tensor<128x4xf8E8M0FNU, #swizzled>
  // CHECK: scf.forall.in_parallel
  // CHECK-NEXT: tensor.parallel_insert_slice %[[U]] into %[[O]][%[[I]], 128, 4] [1, 128, 4] [1, 1, 1] : tensor<128x4xf8E8M0FNU, #swizzled> into tensor<8x256x8xf8E8M0FNU, #swizzled>
  %c128 = arith.constant 128 : index
  %0 = scf.forall (%i) in (8) shared_outs(%o = %s) -> tensor<8x256x8xf8E8M0FNU, #swizzled> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i, %c128, 4] [1, %c128, 4] [1, 1, 1] : tensor<?x4xf8E8M0FNU, #swizzled> into tensor<8x256x8xf8E8M0FNU, #swizzled>
    }
  }
  return %0 : tensor<8x256x8xf8E8M0FNU, #swizzled>
}

// A place beyond the end is no type's, and stays a matter of the run.
// CHECK-LABEL: func.func @beyond
func.func @beyond(%s: tensor<4x256x8xf8E8M0FNU, #swizzled>) -> tensor<256x8xf8E8M0FNU, #swizzled> {
  // CHECK: %[[C4:.+]] = arith.constant 4 : index
  // CHECK: tensor.extract_slice %{{.+}}[%[[C4]], 0, 0] [1, 256, 8] [1, 1, 1] : tensor<4x256x8xf8E8M0FNU, #swizzled> to tensor<256x8xf8E8M0FNU, #swizzled>
  %c4 = arith.constant 4 : index
  %0 = tensor.extract_slice %s[%c4, 0, 0] [1, 256, 8] [1, 1, 1] : tensor<4x256x8xf8E8M0FNU, #swizzled> to tensor<256x8xf8E8M0FNU, #swizzled>
  return %0 : tensor<256x8xf8E8M0FNU, #swizzled>
}

// Data of one expert keep their layout too.
#prepacked = #blockscale.data_layout<fragments_64x64>
// CHECK-LABEL: func.func @extract_data
// CHECK-SAME: %[[W:.+]]: tensor<4x256x128xf4E2M1FN, #prepacked>
func.func @extract_data(%w: tensor<4x256x128xf4E2M1FN, #prepacked>) -> tensor<256x128xf4E2M1FN, #prepacked> {
  // CHECK-NEXT: %[[V:.+]] = tensor.extract_slice %[[W]][1, 0, 0] [1, 256, 128] [1, 1, 1] : tensor<4x256x128xf4E2M1FN, #prepacked> to tensor<256x128xf4E2M1FN, #prepacked>
  // CHECK-NEXT: return %[[V]]
  %c1 = arith.constant 1 : index
  %0 = tensor.extract_slice %w[%c1, 0, 0] [1, 256, 128] [1, 1, 1] : tensor<4x256x128xf4E2M1FN, #prepacked> to tensor<256x128xf4E2M1FN, #prepacked>
  return %0 : tensor<256x128xf4E2M1FN, #prepacked>
}
