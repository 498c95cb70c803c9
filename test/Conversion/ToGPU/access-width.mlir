// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// 64 bf16 elements in four loads of 32 bytes, their E2M1 codes in one store of
// 32 bytes, four scale bytes in one store.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k128_swizzled(
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store %{{.+}} {alignment = 32 : i64} : vector<8xi32>, !llvm.ptr<1>
// CHECK-NOT: vector<8xi32>, !llvm.ptr<1>
// CHECK: llvm.store %{{.+}} {alignment = 4 : i64} : vector<2xi16>, !llvm.ptr<1>
func.func @full_width(%x: memref<?x128xbf16>, %q: memref<?x64xi8>, %s: memref<?x2x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x128xbf16>) outs(%q, %s : memref<?x64xi8>, memref<?x2x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x128xbf16>, %lq: tensor<?x128xf4E2M1FN>, %ls: tensor<?x8xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN, #swizzled>
  }
  return
}

// 64 f32 elements in eight loads, their E4M3 codes in two stores, two scale
// bytes in one store.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_f32_k64(
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-2: llvm.store %{{.+}} {alignment = 32 : i64} : vector<8xi32>, !llvm.ptr<1>
// CHECK: llvm.store %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
func.func @f32(%x: memref<?x64xf32>, %q: memref<?x64xf8E4M3FN>, %s: memref<?x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x64xf32>) outs(%q, %s : memref<?x64xf8E4M3FN>, memref<?x2xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x64xf32>, %lq: tensor<?x64xf8E4M3FN>, %ls: tensor<?x2xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  }
  return
}

// Rows of 40 bytes and 5 scales start at multiples of 8 bytes and 1 byte.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k80(
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK-COUNT-4: llvm.store %{{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK-COUNT-4: llvm.store %{{.+}} {alignment = 1 : i64} : i8, !llvm.ptr<1>
// CHECK: } else {
// CHECK: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: llvm.store %{{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
// CHECK: llvm.store %{{.+}} {alignment = 1 : i64} : i8, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: gpu.return
func.func @narrow(%x: memref<?x80xbf16>, %q: memref<?x40xi8>, %s: memref<?x5xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x80xbf16>) outs(%q, %s : memref<?x40xi8>, memref<?x5xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x80xbf16>, %lq: tensor<?x80xf4E2M1FN>, %ls: tensor<?x5xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x80xbf16> -> tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x80xf4E2M1FN>, tensor<?x5xf8E4M3FN>
  }
  return
}

// Rows of 6 linear scales: two stores of two bytes.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k96(
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-COUNT-2: llvm.store %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
func.func @two_bytes(%x: memref<?x96xbf16>, %q: memref<?x48xi8>, %s: memref<?x6xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x96xbf16>) outs(%q, %s : memref<?x48xi8>, memref<?x6xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x96xbf16>, %lq: tensor<?x96xf4E2M1FN>, %ls: tensor<?x6xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x96xbf16> -> tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x96xf4E2M1FN>, tensor<?x6xf8E4M3FN>
  }
  return
}
