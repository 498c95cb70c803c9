// RUN: blockscale-opt %s --split-input-file --blockscale-lower-kernels-to-gpu=chip=sm_90a | FileCheck %s

// Values of columns: the threads of a warp have four columns of 16 rows each in shared memory, 4096
// bytes, twice. They store two pieces of each column there, and eight pieces from there: of four
// columns at a time, so that those of a column are 128 bytes.
// CHECK: llvm.mlir.global internal @{{.+}}_values16384() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<16384 x i8>
// CHECK: gpu.func @quantize_32x1_e4m3_rceil_bf16_k64_transposed_decoded_bf16_sm90
// CHECK-NOT: vector<4xi32>, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-8: llvm.store %{{.+}} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-8: llvm.store %{{.+}} : vector<4xi32>, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-8: llvm.store %{{.+}} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-8: llvm.store %{{.+}} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT: vector<4xi32>, !llvm.ptr<1>
func.func @bf16(%x: memref<?x64xbf16>, %v: memref<64x?xbf16>) {
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%v : memref<64x?xbf16>) family strips {
  ^bb0(%lx: tensor<?x64xbf16>, %lv: tensor<64x?xbf16>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed : tensor<?x64xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
    %2 = blockscale.dequantize %0, %1 block [1, 32] : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU> -> tensor<64x?xbf16>
    blockscale.yield %2 : tensor<64x?xbf16>
  }
  return
}

// -----

// Values of f32 are 64 bytes of a thread, whole sectors.
// CHECK-NOT: _values
// CHECK: gpu.func @quantize_32x1_e4m3_rceil_bf16_k64_transposed_decoded_f32_sm90
// CHECK-NOT: nvvm.bar.warp.sync
func.func @f32(%x: memref<?x64xbf16>, %v: memref<64x?xf32>) {
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%v : memref<64x?xf32>) family strips {
  ^bb0(%lx: tensor<?x64xbf16>, %lv: tensor<64x?xf32>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed : tensor<?x64xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
    %2 = blockscale.dequantize %0, %1 block [1, 32] : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU> -> tensor<64x?xf32>
    blockscale.yield %2 : tensor<64x?xf32>
  }
  return
}

// -----

// A column of 40 values ends within a block, so that pieces need not be aligned.
// CHECK-NOT: _values
// CHECK: gpu.func @quantize_16x1_e2m1_te_bf16_k64_transposed_tails_decoded_bf16_sm90
func.func @tails(%x: memref<40x64xbf16>, %v: memref<64x40xbf16>) {
  blockscale.kernel ins(%x : memref<40x64xbf16>) outs(%v : memref<64x40xbf16>) family strips {
  ^bb0(%lx: tensor<40x64xbf16>, %lv: tensor<64x40xbf16>):
    %0, %1 = blockscale.quantize %lx block [16, 1] transposed recipe te : tensor<40x64xbf16> -> tensor<64x40xf4E2M1FN>, tensor<64x3xf8E4M3FN>
    %2 = blockscale.dequantize %0, %1 block [1, 16] recipe te : tensor<64x40xf4E2M1FN>, tensor<64x3xf8E4M3FN> -> tensor<64x40xbf16>
    blockscale.yield %2 : tensor<64x40xbf16>
  }
  return
}
