// What a warp of a strip kernel has of x: chosen, kept and obeyed.
// RUN: blockscale-opt %s --blockscale-choose-strips=chip=sm_90a --remarks-filter-analyse=gpu-launch 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: blockscale-opt %s --blockscale-choose-strips=chip=sm_90a --blockscale-lower-kernels-to-gpu=chip=sm_90a | FileCheck %s --check-prefix=LOWERED

// LOWERED: gpu.func @quantize_32x32_e4m3_rceil_bf16_k128_sm90(
// LOWERED: gpu.func @quantize_32x32_e4m3_rceil_bf16_k128_strip64x64_sm90(

// Rows of 128 bytes of codes and of 4 scales are the fewest sectors.
// CHECK-LABEL: func.func @chosen
// CHECK: blockscale.kernel
// CHECK-SAME: attributes {blockscale.strip = array<i64: 32, 128>}
// REMARK: [[#@LINE+2]]:{{.*}} strip | {{.*}}"a warp has 32 rows of 128 columns, which takes 385 sectors of 32 bytes to load and store; others: 64 of 64: 386, 128 of 32: 388"
func.func @chosen(%x: memref<256x128xbf16>, %q: memref<256x128xf8E4M3FN>, %s: memref<8x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<256x128xbf16>) outs(%q, %s : memref<256x128xf8E4M3FN>, memref<8x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<256x128xbf16>, %lq: tensor<256x128xf8E4M3FN>, %ls: tensor<8x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 32] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
  }
  return
}

// One that is there stays. Kernels that differ in it are two.
// CHECK-LABEL: func.func @given
// CHECK: blockscale.kernel
// CHECK-SAME: attributes {blockscale.strip = array<i64: 64, 64>}
func.func @given(%x: memref<256x128xbf16>, %q: memref<256x128xf8E4M3FN>, %s: memref<8x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<256x128xbf16>) outs(%q, %s : memref<256x128xf8E4M3FN>, memref<8x4xf8E8M0FNU>) attributes {blockscale.strip = array<i64: 64, 64>} {
  ^bb0(%lx: tensor<256x128xbf16>, %lq: tensor<256x128xf8E4M3FN>, %ls: tensor<8x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 32] : tensor<256x128xbf16> -> tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<256x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
  }
  return
}

// Kernels of rows have none.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: blockscale.strip
func.func @rows(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// Rows, and columns of a transform, of one x: both scales have whole words of a warp.
// REMARK: strip | {{.*}}"a warp has 64 rows of 64 columns, which takes 512 sectors of 32 bytes to load and store; others: 32 of 128: 608, 128 of 32: 608, 16 of 256: 848, 256 of 16: 848"
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: attributes {blockscale.strip = array<i64: 64, 64>}
func.func @rows_and_columns(%x: memref<64x128xbf16>, %q: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %p: memref<128x32xi8>, %t: memref<128x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s, %p, %t : memref<64x64xi8>, memref<64x8xf8E4M3FN>, memref<128x32xi8>, memref<128x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf4E2M1FN>, %ls: tensor<64x8xf8E4M3FN>, %lp: tensor<128x64xf4E2M1FN>, %lt: tensor<128x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    %h = blockscale.hadamard %lx dim 0 : tensor<64x128xbf16>
    %2, %3 = blockscale.quantize %h block [16, 1] transposed : tensor<64x128xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    blockscale.yield %0, %1, %2, %3 : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>, tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  }
  return
}

// Values of blocks of one row, without codes: a warp has 8 rows, as far as they reach.
// CHECK-LABEL: func.func @long
// CHECK: attributes {blockscale.strip = array<i64: 8, 256>}
func.func @long(%x: memref<?x?xbf16>, %v: memref<?x?xbf16>) {
  blockscale.kernel ins(%x : memref<?x?xbf16>) outs(%v : memref<?x?xbf16>) family strips {
  ^bb0(%lx: tensor<?x?xbf16>, %lv: tensor<?x?xbf16>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
    %2 = blockscale.dequantize %0, %1 block [1, 32] : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
    blockscale.yield %2 : tensor<?x?xbf16>
  }
  return
}

// Rows of 96 elements have strips of half that length.
// CHECK-LABEL: func.func @long_as_rows
// CHECK: attributes {blockscale.strip = array<i64: 16, 128>}
func.func @long_as_rows(%x: memref<?x96xbf16>, %v: memref<?x96xbf16>) {
  blockscale.kernel ins(%x : memref<?x96xbf16>) outs(%v : memref<?x96xbf16>) family strips {
  ^bb0(%lx: tensor<?x96xbf16>, %lv: tensor<?x96xbf16>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
    %2 = blockscale.dequantize %0, %1 block [1, 32] : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU> -> tensor<?x96xbf16>
    blockscale.yield %2 : tensor<?x96xbf16>
  }
  return
}

// Values whose codes are stored, too, have strips as codes have.
// CHECK-LABEL: func.func @stored
// CHECK: attributes {blockscale.strip = array<i64: 64, 64>}
func.func @stored(%x: memref<?x?xbf16>, %q: memref<?x?xf8E4M3FN>, %v: memref<?x?xbf16>) {
  blockscale.kernel ins(%x : memref<?x?xbf16>) outs(%q, %v : memref<?x?xf8E4M3FN>, memref<?x?xbf16>) family strips {
  ^bb0(%lx: tensor<?x?xbf16>, %lq: tensor<?x?xf8E4M3FN>, %lv: tensor<?x?xbf16>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
    %2 = blockscale.dequantize %0, %1 block [1, 32] : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
    blockscale.yield %0, %2 : tensor<?x?xf8E4M3FN>, tensor<?x?xbf16>
  }
  return
}
