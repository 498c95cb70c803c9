// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse | FileCheck %s

// 64 columns are two blocks of 32, each with one scale byte and one factor for its
// 16 even and 16 odd columns.
// CHECK-LABEL: func.func private @compact_quantize_0(
// CHECK-DAG:     [[AMAX:%.+]] = memref.alloc() {{.*}} : memref<512xi16>
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {{.*}} : memref<4x16xi8>
// CHECK:         vector.load [[AMAX]]{{.*}} vector<64xi16>
// CHECK-COUNT-4: vector.deinterleave
// CHECK:         [[BYTES:%.+]] = arith.trunci {{%.+}} : vector<2xi32> to vector<2xi8>
// CHECK:         vector.store [[BYTES]], [[SCALES]]
// CHECK:         vector.shuffle {{.*}} : vector<2xf32>, vector<2xf32>

// Scales for a product along K: the rows of a tile repeat those of 4 bands.
// CHECK-LABEL: func.func private @k_quantize_0(
// CHECK-SAME:      {{%.+}}: memref<64x96xbf16>, [[Q:%.+]]: memref<64x96xf8E4M3FN>, [[S:%.+]]: memref<1x1x32x4x4xf8E8M0FNU>,
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {{.*}} : memref<4x16xi8>
// CHECK:         vector.store {{%.+}}, [[Q]]
// CHECK:         [[BAND:%.+]] = arith.divui {{%.+}}, [[C32]]
// CHECK:         vector.load [[SCALES]][[[BAND]], {{%.+}}] : memref<4x16xi8>, vector<4xi8>
// CHECK:         vector.store {{%.+}}, [[S]]

// Along N: a byte for each of 32 columns, which become rows.
// CHECK-LABEL: func.func private @n_quantize_0(
// CHECK-DAG:     [[SCALES:%.+]] = memref.alloc() {{.*}} : memref<4x512xi8>
// CHECK:         [[BYTES:%.+]] = arith.trunci {{%.+}} : vector<2xi32> to vector<2xi8>
// CHECK:         [[REPEATED:%.+]] = vector.shuffle [[BYTES]], {{%.+}} {{\[[01, ]+\]}} : vector<2xi8>, vector<2xi8>
// CHECK:         vector.store [[REPEATED]], [[SCALES]]{{.*}} vector<64xi8>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @compact(%x: memref<64x96xbf16>, %q: memref<64x96xf8E4M3FN>, %s: memref<2x3xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x96xbf16>) outs(%q, %s : memref<64x96xf8E4M3FN>, memref<2x3xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xbf16>, %lq: tensor<64x96xf8E4M3FN>, %ls: tensor<2x3xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 32] : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<2x3xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x96xf8E4M3FN>, tensor<2x3xf8E8M0FNU>
  }
  return
}
func.func @k(%x: memref<64x96xbf16>, %q: memref<64x96xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x96xbf16>) outs(%q, %s : memref<64x96xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xbf16>, %lq: tensor<64x96xf8E4M3FN>, %ls: tensor<64x3xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [32, 32] scale_dim k : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, #swizzled>
  }
  return
}
func.func @n(%x: memref<64x96xbf16>, %q: memref<64x96xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x96xbf16>) outs(%q, %s : memref<64x96xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xbf16>, %lq: tensor<64x96xf8E4M3FN>, %ls: tensor<96x2xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [32, 32] scale_dim n : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<64x96xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #swizzled>
  }
  return
}
