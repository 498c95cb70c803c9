// RUN: blockscale-opt %s -blockscale-materialize-storage | FileCheck %s

// CHECK-DAG: #[[BLOCKS:.+]] = affine_map<()[s0] -> (s0 ceildiv 64)>
#prepacked = #blockscale.data_layout<fragments_64x64>

// Blocks of 2048 bytes of 4-bit codes, and of 4096 of others; batches stay.
// CHECK-LABEL: func.func @types
// CHECK-SAME: tensor<2x4x2x2048xi8>, %{{.+}}: tensor<4x2x4096xi8>, %{{.+}}: tensor<1x1x4096xi8>, %{{.+}}: tensor<?x?x4096xi8>, %{{.+}}: tensor<0x1x4096xi8>
func.func @types(%a: tensor<2x200x65xf4E2M1FN, #prepacked>, %b: tensor<200x65xf8E4M3FN, #prepacked>,
                 %c: tensor<1x1xf6E2M3FN, #prepacked>, %d: tensor<?x?xi8, #prepacked>,
                 %e: tensor<0x5xf8E5M2, #prepacked>) {
  return
}

// CHECK-LABEL: func.func @empty
// CHECK-SAME: %[[R:[a-z0-9]+]]: index, %[[C:[a-z0-9]+]]: index
func.func @empty(%r: index, %c: index) -> tensor<?x?xf4E2M1FN, #prepacked> {
  // CHECK-DAG: %[[BR:.+]] = affine.apply #[[BLOCKS]]()[%[[R]]]
  // CHECK-DAG: %[[BC:.+]] = affine.apply #[[BLOCKS]]()[%[[C]]]
  // CHECK: tensor.empty(%[[BR]], %[[BC]]) : tensor<?x?x2048xi8>
  %0 = tensor.empty(%r, %c) : tensor<?x?xf4E2M1FN, #prepacked>
  return %0 : tensor<?x?xf4E2M1FN, #prepacked>
}

// A slice of whole blocks.
// CHECK-LABEL: func.func @slice
// CHECK: tensor.extract_slice %{{.+}}[1, 1, 0, 0] [1, 3, 2, 4096] [1, 1, 1, 1] : tensor<2x4x2x4096xi8> to tensor<3x2x4096xi8>
func.func @slice(%w: tensor<2x200x100xf8E4M3FN, #prepacked>) -> tensor<136x100xf8E4M3FN, #prepacked> {
  %0 = tensor.extract_slice %w[1, 64, 0] [1, 136, 100] [1, 1, 1] : tensor<2x200x100xf8E4M3FN, #prepacked> to tensor<136x100xf8E4M3FN, #prepacked>
  return %0 : tensor<136x100xf8E4M3FN, #prepacked>
}

// Code 0xF of (0, 0) and of (0, 1): the bits of register 0 in both halves of the
// first word, and the rest padding.
// CHECK-LABEL: func.func @codes
// CHECK: arith.constant dense<"0x{{(C081C081((00){73}){28})}}"> : tensor<1x1x2048xi8>
func.func @codes() -> tensor<1x2xf4E2M1FN, #prepacked> {
  %0 = arith.constant dense<-6.0> : tensor<1x2xf4E2M1FN, #prepacked>
  return %0 : tensor<1x2xf4E2M1FN, #prepacked>
}

// Row 8 (q = 1) lies behind row 0 of the same thread, row 1 in the bytes of the
// fourth thread after it.
// CHECK-LABEL: func.func @bytes
// CHECK: arith.constant dense<"0x{{01000900(00){60}02(00){63}03(00){63}04}}
func.func @bytes() -> tensor<9x1xi8, #prepacked> {
  %0 = arith.constant dense<[[1], [2], [3], [4], [5], [6], [7], [8], [9]]> : tensor<9x1xi8, #prepacked>
  return %0 : tensor<9x1xi8, #prepacked>
}

// A splat without padding stays one.
// CHECK-LABEL: func.func @splat
// CHECK: arith.constant dense<7> : tensor<1x1x4096xi8>
func.func @splat() -> tensor<64x64xi8, #prepacked> {
  %0 = arith.constant dense<7> : tensor<64x64xi8, #prepacked>
  return %0 : tensor<64x64xi8, #prepacked>
}

// A dynamic number of 4-bit codes is even if a product takes what is made of them: twice
// the bytes, of which blocks have 64.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: tensor<8x?xbf16>, %[[W:.+]]: tensor<16x?xi8>
// CHECK: %[[BYTES:.+]] = tensor.dim %[[W]], %c1
// CHECK: %[[CODES:.+]] = arith.muli %[[BYTES]], %c2
// CHECK: affine.apply #[[BLOCKS]]()[%[[CODES]]]
func.func @dynamic(%x: tensor<8x?xbf16>, %w: tensor<16x?xf4E2M1FN>, %s: tensor<16x?xf8E8M0FNU>, %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %c1 = arith.constant 1 : index
  %k = tensor.dim %w, %c1 : tensor<16x?xf4E2M1FN>
  %e = tensor.empty(%k) : tensor<16x?xf4E2M1FN, #prepacked>
  %p = blockscale.kernel ins(%w : tensor<16x?xf4E2M1FN>) outs(%e : tensor<16x?xf4E2M1FN, #prepacked>) {
  ^bb0(%lw: tensor<16x?xf4E2M1FN>, %lp: tensor<16x?xf4E2M1FN, #prepacked>):
    %0 = blockscale.prepack %lw : tensor<16x?xf4E2M1FN> -> tensor<16x?xf4E2M1FN, #prepacked>
    blockscale.yield %0 : tensor<16x?xf4E2M1FN, #prepacked>
  } -> tensor<16x?xf4E2M1FN, #prepacked>
  %z = blockscale.kernel ins(%x, %p, %s : tensor<8x?xbf16>, tensor<16x?xf4E2M1FN, #prepacked>, tensor<16x?xf8E8M0FNU>) outs(%y : tensor<8x16xbf16>) {
  ^bb0(%lx: tensor<8x?xbf16>, %lp: tensor<16x?xf4E2M1FN, #prepacked>, %ls: tensor<16x?xf8E8M0FNU>, %ly: tensor<8x16xbf16>):
    %0 = blockscale.scaled_mm %lx, %lp scales(none, %ls) block [1, 32]
        : tensor<8x?xbf16>, tensor<16x?xf4E2M1FN, #prepacked>, tensor<16x?xf8E8M0FNU> -> tensor<8x16xbf16>
    blockscale.yield %0 : tensor<8x16xbf16>
  } -> tensor<8x16xbf16>
  return %z : tensor<8x16xbf16>
}
