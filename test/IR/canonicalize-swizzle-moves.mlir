// RUN: blockscale-opt %s -canonicalize -split-input-file | FileCheck %s

// Swizzles move below slices of whole tiles; pieces that are unswizzled to be
// concatenated are placed as they are.

#swizzled = #blockscale.layout<swizzle_128x4>

// Only the slice is swizzled.
// CHECK-LABEL: func.func @extract
// CHECK-SAME: %[[S:.+]]: tensor<2x300x9xf8E4M3FN>
func.func @extract(%s: tensor<2x300x9xf8E4M3FN>) -> tensor<172x5xf8E4M3FN, #swizzled> {
  // CHECK: %[[T:.+]] = tensor.extract_slice %[[S]][1, 128, 4] [1, 172, 5] [1, 1, 1] : tensor<2x300x9xf8E4M3FN> to tensor<172x5xf8E4M3FN>
  // CHECK: %[[U:.+]] = blockscale.swizzle %[[T]] : tensor<172x5xf8E4M3FN> -> tensor<172x5xf8E4M3FN, #swizzled>
  // CHECK: return %[[U]]
  %0 = blockscale.swizzle %s : tensor<2x300x9xf8E4M3FN> -> tensor<2x300x9xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %0[1, 128, 4] [1, 172, 5] [1, 1, 1] : tensor<2x300x9xf8E4M3FN, #swizzled> to tensor<172x5xf8E4M3FN, #swizzled>
  return %1 : tensor<172x5xf8E4M3FN, #swizzled>
}

// A slice of linear scales between two layouts is a slice of swizzled ones.
// CHECK-LABEL: func.func @cancel
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x256x8xf8E8M0FNU, #swizzled>, %[[B:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
func.func @cancel(%s: tensor<?x256x8xf8E8M0FNU, #swizzled>, %b: index, %n: index) -> tensor<?x128x8xf8E8M0FNU, #swizzled> {
  // CHECK-NEXT: %[[T:.+]] = tensor.extract_slice %[[S]][0, 128, 0] [%[[N]], 128, 8] [1, 1, 1] : tensor<?x256x8xf8E8M0FNU, #swizzled> to tensor<?x128x8xf8E8M0FNU, #swizzled>
  // CHECK-NEXT: return %[[T]]
  %0 = blockscale.swizzle %s sizes(%b) : tensor<?x256x8xf8E8M0FNU, #swizzled> -> tensor<?x256x8xf8E8M0FNU>
  %1 = tensor.extract_slice %0[0, 128, 0] [%n, 128, 8] [1, 1, 1] : tensor<?x256x8xf8E8M0FNU> to tensor<?x128x8xf8E8M0FNU>
  %2 = blockscale.swizzle %1 : tensor<?x128x8xf8E8M0FNU> -> tensor<?x128x8xf8E8M0FNU, #swizzled>
  return %2 : tensor<?x128x8xf8E8M0FNU, #swizzled>
}

// The size operand of a dynamic batch is the slice's.
// CHECK-LABEL: func.func @unswizzle_batch
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x256x8xf8E8M0FNU, #swizzled>, %[[B:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
func.func @unswizzle_batch(%s: tensor<?x256x8xf8E8M0FNU, #swizzled>, %b: index, %n: index) -> tensor<?x256x4xf8E8M0FNU> {
  // CHECK: %[[T:.+]] = tensor.extract_slice %[[S]][0, 0, 4] [%[[N]], 256, 4]
  // CHECK: blockscale.swizzle %[[T]] sizes(%[[N]])
  %0 = blockscale.swizzle %s sizes(%b) : tensor<?x256x8xf8E8M0FNU, #swizzled> -> tensor<?x256x8xf8E8M0FNU>
  %1 = tensor.extract_slice %0[0, 0, 4] [%n, 256, 4] [1, 1, 1] : tensor<?x256x8xf8E8M0FNU> to tensor<?x256x4xf8E8M0FNU>
  return %1 : tensor<?x256x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @insert
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<128x4xf8E4M3FN>, %[[R:[a-z0-9]+]]: tensor<300x9xf8E4M3FN>
func.func @insert(%s: tensor<128x4xf8E4M3FN>, %r: tensor<300x9xf8E4M3FN>) -> tensor<300x9xf8E4M3FN, #swizzled> {
  // CHECK: %[[T:.+]] = tensor.insert_slice %[[S]] into %[[R]][128, 4] [128, 4] [1, 1] : tensor<128x4xf8E4M3FN> into tensor<300x9xf8E4M3FN>
  // CHECK: %[[U:.+]] = blockscale.swizzle %[[T]]
  // CHECK: return %[[U]]
  %0 = blockscale.swizzle %s : tensor<128x4xf8E4M3FN> -> tensor<128x4xf8E4M3FN, #swizzled>
  %1 = blockscale.swizzle %r : tensor<300x9xf8E4M3FN> -> tensor<300x9xf8E4M3FN, #swizzled>
  %2 = tensor.insert_slice %0 into %1[128, 4] [128, 4] [1, 1] : tensor<128x4xf8E4M3FN, #swizzled> into tensor<300x9xf8E4M3FN, #swizzled>
  return %2 : tensor<300x9xf8E4M3FN, #swizzled>
}

// Rows, columns and batches; only the last piece may end in a tile.
// CHECK-LABEL: func.func @concat_rows
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<128x5xf8E4M3FN, #swizzled>, %[[B:[a-z0-9]+]]: tensor<72x5xf8E4M3FN, #swizzled>
func.func @concat_rows(%a: tensor<128x5xf8E4M3FN, #swizzled>, %b: tensor<72x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled> {
  // CHECK-NEXT: %[[E:.+]] = tensor.empty() : tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK-NEXT: %[[F:.+]] = tensor.insert_slice %[[A]] into %[[E]][0, 0] [128, 5] [1, 1]
  // CHECK-NEXT: %[[G:.+]] = tensor.insert_slice %[[B]] into %[[F]][128, 0] [72, 5] [1, 1]
  // CHECK-NEXT: return %[[G]]
  %0 = blockscale.swizzle %a : tensor<128x5xf8E4M3FN, #swizzled> -> tensor<128x5xf8E4M3FN>
  %1 = blockscale.swizzle %b : tensor<72x5xf8E4M3FN, #swizzled> -> tensor<72x5xf8E4M3FN>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<128x5xf8E4M3FN>, tensor<72x5xf8E4M3FN>) -> tensor<200x5xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #swizzled>
  return %3 : tensor<200x5xf8E4M3FN, #swizzled>
}
// CHECK-LABEL: func.func @concat_columns
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<40x4xf8E8M0FNU, #swizzled>, %[[B:[a-z0-9]+]]: tensor<40x8xf8E8M0FNU, #swizzled>, %[[C:[a-z0-9]+]]: tensor<40x3xf8E8M0FNU, #swizzled>
func.func @concat_columns(%a: tensor<40x4xf8E8M0FNU, #swizzled>, %b: tensor<40x8xf8E8M0FNU, #swizzled>, %c: tensor<40x3xf8E8M0FNU, #swizzled>) -> tensor<40x15xf8E8M0FNU, #swizzled> {
  // CHECK-NOT: blockscale.swizzle
  // CHECK: tensor.insert_slice %[[A]] into %{{.+}}[0, 0] [40, 4] [1, 1]
  // CHECK: tensor.insert_slice %[[B]] into %{{.+}}[0, 4] [40, 8] [1, 1]
  // CHECK: tensor.insert_slice %[[C]] into %{{.+}}[0, 12] [40, 3] [1, 1]
  %0 = blockscale.swizzle %a : tensor<40x4xf8E8M0FNU, #swizzled> -> tensor<40x4xf8E8M0FNU>
  %1 = blockscale.swizzle %b : tensor<40x8xf8E8M0FNU, #swizzled> -> tensor<40x8xf8E8M0FNU>
  %2 = blockscale.swizzle %c : tensor<40x3xf8E8M0FNU, #swizzled> -> tensor<40x3xf8E8M0FNU>
  %3 = tensor.concat dim(1) %0, %1, %2 : (tensor<40x4xf8E8M0FNU>, tensor<40x8xf8E8M0FNU>, tensor<40x3xf8E8M0FNU>) -> tensor<40x15xf8E8M0FNU>
  %4 = blockscale.swizzle %3 : tensor<40x15xf8E8M0FNU> -> tensor<40x15xf8E8M0FNU, #swizzled>
  return %4 : tensor<40x15xf8E8M0FNU, #swizzled>
}
// CHECK-LABEL: func.func @concat_batches
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x40x5xf8E4M3FN, #swizzled>, %[[B:[a-z0-9]+]]: tensor<1x40x5xf8E4M3FN, #swizzled>
func.func @concat_batches(%a: tensor<2x40x5xf8E4M3FN, #swizzled>, %b: tensor<1x40x5xf8E4M3FN, #swizzled>) -> tensor<3x40x5xf8E4M3FN, #swizzled> {
  // CHECK-NOT: blockscale.swizzle
  // CHECK: tensor.insert_slice %[[A]] into %{{.+}}[0, 0, 0] [2, 40, 5] [1, 1, 1]
  // CHECK: tensor.insert_slice %[[B]] into %{{.+}}[2, 0, 0] [1, 40, 5] [1, 1, 1]
  %0 = blockscale.swizzle %a : tensor<2x40x5xf8E4M3FN, #swizzled> -> tensor<2x40x5xf8E4M3FN>
  %1 = blockscale.swizzle %b : tensor<1x40x5xf8E4M3FN, #swizzled> -> tensor<1x40x5xf8E4M3FN>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<2x40x5xf8E4M3FN>, tensor<1x40x5xf8E4M3FN>) -> tensor<3x40x5xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<3x40x5xf8E4M3FN> -> tensor<3x40x5xf8E4M3FN, #swizzled>
  return %3 : tensor<3x40x5xf8E4M3FN, #swizzled>
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// A slice of linear scales may cut what would be a tile: by its offset, its
// size, a stride, or unknown numbers.
// CHECK-LABEL: func.func @cut_tiles
func.func @cut_tiles(%s: tensor<300x9xf8E4M3FN, #swizzled>, %i: index)
    -> (tensor<128x4xf8E4M3FN>, tensor<100x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>, tensor<?x4xf8E4M3FN>, tensor<9xf8E4M3FN>) {
  // CHECK-COUNT-6: blockscale.swizzle %{{.+}} : tensor<300x9xf8E4M3FN, #swizzled>
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %1 = tensor.extract_slice %0[64, 0] [128, 4] [1, 1] : tensor<300x9xf8E4M3FN> to tensor<128x4xf8E4M3FN>
  %2 = blockscale.swizzle %s : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %3 = tensor.extract_slice %2[128, 0] [100, 4] [1, 1] : tensor<300x9xf8E4M3FN> to tensor<100x4xf8E4M3FN>
  %4 = blockscale.swizzle %s : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %5 = tensor.extract_slice %4[0, 0] [128, 4] [2, 1] : tensor<300x9xf8E4M3FN> to tensor<128x4xf8E4M3FN>
  %6 = blockscale.swizzle %s : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %7 = tensor.extract_slice %6[%i, 0] [128, 4] [1, 1] : tensor<300x9xf8E4M3FN> to tensor<128x4xf8E4M3FN>
  %8 = blockscale.swizzle %s : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %9 = tensor.extract_slice %8[0, 0] [%i, 4] [1, 1] : tensor<300x9xf8E4M3FN> to tensor<?x4xf8E4M3FN>
  %10 = blockscale.swizzle %s : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %11 = tensor.extract_slice %10[0, 0] [1, 9] [1, 1] : tensor<300x9xf8E4M3FN> to tensor<9xf8E4M3FN>
  return %1, %3, %5, %7, %9, %11 : tensor<128x4xf8E4M3FN>, tensor<100x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>, tensor<?x4xf8E4M3FN>, tensor<9xf8E4M3FN>
}

// Types that verify-layout is to refuse stay as they are.
// CHECK-LABEL: func.func @dropped_layout
func.func @dropped_layout(%s: tensor<256x8xf8E4M3FN>, %a: tensor<128x8xf8E4M3FN, #swizzled>, %b: tensor<72x8xf8E4M3FN, #swizzled>) -> (tensor<128x8xf8E4M3FN>, tensor<200x8xf8E4M3FN, #swizzled>) {
  // CHECK: %[[T:.+]] = blockscale.swizzle
  // CHECK: tensor.extract_slice %[[T]]{{.+}} : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN>
  %0 = blockscale.swizzle %s : tensor<256x8xf8E4M3FN> -> tensor<256x8xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %0[128, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN>
  // CHECK: tensor.concat
  %2 = blockscale.swizzle %a : tensor<128x8xf8E4M3FN, #swizzled> -> tensor<128x8xf8E4M3FN>
  %3 = blockscale.swizzle %b : tensor<72x8xf8E4M3FN, #swizzled> -> tensor<72x8xf8E4M3FN>
  %4 = tensor.concat dim(0) %2, %3 : (tensor<128x8xf8E4M3FN>, tensor<72x8xf8E4M3FN>) -> tensor<200x8xf8E4M3FN, #swizzled>
  %5 = blockscale.swizzle %4 : tensor<200x8xf8E4M3FN, #swizzled> -> tensor<200x8xf8E4M3FN, #swizzled>
  return %1, %5 : tensor<128x8xf8E4M3FN>, tensor<200x8xf8E4M3FN, #swizzled>
}

// The whole is swizzled for another user anyway.
// CHECK-LABEL: func.func @two_users
// CHECK-SAME: %[[S:.+]]: tensor<256x8xf8E4M3FN>
func.func @two_users(%s: tensor<256x8xf8E4M3FN>) -> (tensor<256x8xf8E4M3FN, #swizzled>, tensor<128x8xf8E4M3FN, #swizzled>) {
  // CHECK: %[[T:.+]] = blockscale.swizzle %[[S]]
  // CHECK: tensor.extract_slice %[[T]]
  %0 = blockscale.swizzle %s : tensor<256x8xf8E4M3FN> -> tensor<256x8xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %0[128, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN, #swizzled>
  return %0, %1 : tensor<256x8xf8E4M3FN, #swizzled>, tensor<128x8xf8E4M3FN, #swizzled>
}

// A quantizer takes the swizzle in at no cost, so that it is not moved away.
// CHECK-LABEL: func.func @quantizer_first
func.func @quantizer_first(%x: tensor<256x128xbf16>) -> tensor<128x8xf8E4M3FN, #swizzled> {
  // CHECK: %[[S:[a-z0-9]+]] = blockscale.quantize {{.+}} tensor<256x8xf8E4M3FN, #swizzled>
  // CHECK-NOT: blockscale.swizzle
  // CHECK: tensor.extract_slice %[[S]][128, 0]
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<256x128xbf16> -> tensor<256x128xf4E2M1FN>, tensor<256x8xf8E4M3FN>
  %0 = blockscale.swizzle %s : tensor<256x8xf8E4M3FN> -> tensor<256x8xf8E4M3FN, #swizzled>
  %1 = tensor.extract_slice %0[128, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN, #swizzled> to tensor<128x8xf8E4M3FN, #swizzled>
  return %1 : tensor<128x8xf8E4M3FN, #swizzled>
}

// One side of the insertion has no linear form.
// CHECK-LABEL: func.func @insert_into_argument
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<128x8xf8E4M3FN>, %[[R:[a-z0-9]+]]: tensor<256x8xf8E4M3FN, #swizzled>
func.func @insert_into_argument(%s: tensor<128x8xf8E4M3FN>, %r: tensor<256x8xf8E4M3FN, #swizzled>) -> tensor<256x8xf8E4M3FN, #swizzled> {
  // CHECK: %[[T:.+]] = blockscale.swizzle %[[S]]
  // CHECK: tensor.insert_slice %[[T]] into %[[R]]
  %0 = blockscale.swizzle %s : tensor<128x8xf8E4M3FN> -> tensor<128x8xf8E4M3FN, #swizzled>
  %1 = tensor.insert_slice %0 into %r[128, 0] [128, 8] [1, 1] : tensor<128x8xf8E4M3FN, #swizzled> into tensor<256x8xf8E4M3FN, #swizzled>
  return %1 : tensor<256x8xf8E4M3FN, #swizzled>
}

// What is inserted ends inside what would be a tile, or the whole has another
// user.
// CHECK-LABEL: func.func @insert_in_a_tile
func.func @insert_in_a_tile(%s: tensor<64x4xf8E4M3FN, #swizzled>, %r: tensor<300x9xf8E4M3FN, #swizzled>) -> tensor<300x9xf8E4M3FN> {
  // CHECK-COUNT-2: blockscale.swizzle
  // CHECK: tensor.insert_slice
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s : tensor<64x4xf8E4M3FN, #swizzled> -> tensor<64x4xf8E4M3FN>
  %1 = blockscale.swizzle %r : tensor<300x9xf8E4M3FN, #swizzled> -> tensor<300x9xf8E4M3FN>
  %2 = tensor.insert_slice %0 into %1[128, 4] [64, 4] [1, 1] : tensor<64x4xf8E4M3FN> into tensor<300x9xf8E4M3FN>
  return %2 : tensor<300x9xf8E4M3FN>
}
// CHECK-LABEL: func.func @insert_with_two_users
func.func @insert_with_two_users(%s: tensor<128x4xf8E4M3FN>, %r: tensor<300x9xf8E4M3FN>) -> (tensor<300x9xf8E4M3FN, #swizzled>, tensor<300x9xf8E4M3FN, #swizzled>) {
  // CHECK-COUNT-2: blockscale.swizzle
  // CHECK: tensor.insert_slice {{.+}} : tensor<128x4xf8E4M3FN, #swizzled>
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s : tensor<128x4xf8E4M3FN> -> tensor<128x4xf8E4M3FN, #swizzled>
  %1 = blockscale.swizzle %r : tensor<300x9xf8E4M3FN> -> tensor<300x9xf8E4M3FN, #swizzled>
  %2 = tensor.insert_slice %0 into %1[128, 4] [128, 4] [1, 1] : tensor<128x4xf8E4M3FN, #swizzled> into tensor<300x9xf8E4M3FN, #swizzled>
  return %1, %2 : tensor<300x9xf8E4M3FN, #swizzled>, tensor<300x9xf8E4M3FN, #swizzled>
}

// The first piece ends in a tile.
// CHECK-LABEL: func.func @ragged_piece
func.func @ragged_piece(%a: tensor<72x4xf8E4M3FN, #swizzled>, %b: tensor<128x4xf8E4M3FN, #swizzled>) -> tensor<200x4xf8E4M3FN, #swizzled> {
  // CHECK-COUNT-2: blockscale.swizzle
  // CHECK: tensor.concat
  // CHECK: blockscale.swizzle
  %0 = blockscale.swizzle %a : tensor<72x4xf8E4M3FN, #swizzled> -> tensor<72x4xf8E4M3FN>
  %1 = blockscale.swizzle %b : tensor<128x4xf8E4M3FN, #swizzled> -> tensor<128x4xf8E4M3FN>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<72x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>) -> tensor<200x4xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<200x4xf8E4M3FN> -> tensor<200x4xf8E4M3FN, #swizzled>
  return %3 : tensor<200x4xf8E4M3FN, #swizzled>
}

// Nobody knows where the first piece ends.
// CHECK-LABEL: func.func @dynamic_pieces
func.func @dynamic_pieces(%a: tensor<?x4xf8E4M3FN, #swizzled>, %n: index) -> tensor<?x4xf8E4M3FN, #swizzled> {
  // CHECK-COUNT-2: blockscale.swizzle
  // CHECK: tensor.concat
  // CHECK: blockscale.swizzle
  %0 = blockscale.swizzle %a sizes(%n) : tensor<?x4xf8E4M3FN, #swizzled> -> tensor<?x4xf8E4M3FN>
  %1 = blockscale.swizzle %a sizes(%n) : tensor<?x4xf8E4M3FN, #swizzled> -> tensor<?x4xf8E4M3FN>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<?x4xf8E4M3FN>, tensor<?x4xf8E4M3FN>) -> tensor<?x4xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<?x4xf8E4M3FN> -> tensor<?x4xf8E4M3FN, #swizzled>
  return %3 : tensor<?x4xf8E4M3FN, #swizzled>
}
// CHECK-LABEL: func.func @dynamic_piece_of_static
func.func @dynamic_piece_of_static(%a: tensor<?x4xf8E4M3FN, #swizzled>, %b: tensor<128x4xf8E4M3FN, #swizzled>, %n: index) -> tensor<200x4xf8E4M3FN, #swizzled> {
  // CHECK-NOT: tensor.insert_slice
  // CHECK: tensor.concat
  // CHECK: blockscale.swizzle
  %0 = blockscale.swizzle %a sizes(%n) : tensor<?x4xf8E4M3FN, #swizzled> -> tensor<?x4xf8E4M3FN>
  %1 = blockscale.swizzle %b : tensor<128x4xf8E4M3FN, #swizzled> -> tensor<128x4xf8E4M3FN>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<?x4xf8E4M3FN>, tensor<128x4xf8E4M3FN>) -> tensor<200x4xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<200x4xf8E4M3FN> -> tensor<200x4xf8E4M3FN, #swizzled>
  return %3 : tensor<200x4xf8E4M3FN, #swizzled>
}

// One piece is linear, or the linear result has another user.
// CHECK-LABEL: func.func @one_piece
func.func @one_piece(%a: tensor<128x4xf8E4M3FN, #swizzled>, %b: tensor<72x4xf8E4M3FN>) -> tensor<200x4xf8E4M3FN, #swizzled> {
  // CHECK: tensor.concat
  // CHECK: blockscale.swizzle
  %0 = blockscale.swizzle %a : tensor<128x4xf8E4M3FN, #swizzled> -> tensor<128x4xf8E4M3FN>
  %1 = tensor.concat dim(0) %0, %b : (tensor<128x4xf8E4M3FN>, tensor<72x4xf8E4M3FN>) -> tensor<200x4xf8E4M3FN>
  %2 = blockscale.swizzle %1 : tensor<200x4xf8E4M3FN> -> tensor<200x4xf8E4M3FN, #swizzled>
  return %2 : tensor<200x4xf8E4M3FN, #swizzled>
}
// CHECK-LABEL: func.func @concat_with_two_users
func.func @concat_with_two_users(%a: tensor<128x4xf8E4M3FN, #swizzled>, %b: tensor<72x4xf8E4M3FN, #swizzled>) -> (tensor<200x4xf8E4M3FN>, tensor<200x4xf8E4M3FN, #swizzled>) {
  // CHECK: tensor.concat
  // CHECK: blockscale.swizzle
  %0 = blockscale.swizzle %a : tensor<128x4xf8E4M3FN, #swizzled> -> tensor<128x4xf8E4M3FN>
  %1 = blockscale.swizzle %b : tensor<72x4xf8E4M3FN, #swizzled> -> tensor<72x4xf8E4M3FN>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<128x4xf8E4M3FN>, tensor<72x4xf8E4M3FN>) -> tensor<200x4xf8E4M3FN>
  %3 = blockscale.swizzle %2 : tensor<200x4xf8E4M3FN> -> tensor<200x4xf8E4M3FN, #swizzled>
  return %2, %3 : tensor<200x4xf8E4M3FN>, tensor<200x4xf8E4M3FN, #swizzled>
}

// -----

// The place of a row in a grouped layout depends on the offsets.
#grouped = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
// CHECK-LABEL: func.func @grouped
func.func @grouped(%s: tensor<256x8xf8E4M3FN, #grouped>, %ends: tensor<2xi32>) -> tensor<128x8xf8E4M3FN> {
  // CHECK: blockscale.swizzle
  // CHECK: tensor.extract_slice
  // CHECK-NOT: blockscale.swizzle
  %0 = blockscale.swizzle %s offsets(%ends : tensor<2xi32>) : tensor<256x8xf8E4M3FN, #grouped> -> tensor<256x8xf8E4M3FN>
  %1 = tensor.extract_slice %0[128, 0] [128, 8] [1, 1] : tensor<256x8xf8E4M3FN> to tensor<128x8xf8E4M3FN>
  return %1 : tensor<128x8xf8E4M3FN>
}
