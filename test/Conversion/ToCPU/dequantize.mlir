// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// The scales of a row are decoded to f32, then steps of 4 blocks are unpacked
// and multiplied.
// CHECK-LABEL: func.func private @packed_dequantize_0(
// CHECK-SAME:      [[Q:%.+]]: memref<4x64xi8>, [[S:%.+]]: memref<4x8xf8E4M3FN>, [[Y:%.+]]: memref<4x128xf32>,
// CHECK:         [[FACTORS:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           vector.load [[S]][[[ROW]], {{%.+}}] : memref<4x8xf8E4M3FN>, vector<8xf8E4M3FN>
// CHECK:           vector.store {{%.+}}, [[FACTORS]]{{.*}} vector<8xf32>
// CHECK:           vector.load [[FACTORS]]{{.*}} vector<4xf32>
// CHECK:           [[BYTES:%.+]] = vector.load [[Q]][[[ROW]], {{%.+}}] : memref<4x64xi8>, vector<32xi8>
// CHECK-DAG:       [[EVEN:%.+]] = arith.andi [[BYTES]],
// CHECK-DAG:       [[ODD:%.+]] = arith.shrui [[BYTES]],
// CHECK:           vector.interleave [[EVEN]], [[ODD]] : vector<32xi8> -> vector<64xi8>
// CHECK:           vector.store {{%.+}}, [[Y]][[[ROW]], {{%.+}}] : memref<4x128xf32>, vector<64xf32>
// CHECK:         memref.dealloc [[FACTORS]]
func.func @packed(%q: memref<4x64xi8>, %s: memref<4x8xf8E4M3FN>, %y: memref<4x128xf32>) {
  blockscale.kernel ins(%q, %s : memref<4x64xi8>, memref<4x8xf8E4M3FN>) outs(%y : memref<4x128xf32>) {
  ^bb0(%lq: tensor<4x128xf4E2M1FN>, %ls: tensor<4x8xf8E4M3FN>, %ly: tensor<4x128xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] : tensor<4x128xf4E2M1FN>, tensor<4x8xf8E4M3FN> -> tensor<4x128xf32>
    blockscale.yield %0 : tensor<4x128xf32>
  }
  return
}

// -----

// Swizzled scales are read a tile row at a time, padding included.
// CHECK-LABEL: func.func private @swizzled_dequantize_0(
// CHECK-SAME:      {{%.+}}: memref<4x160xf8E4M3FN>, [[S:%.+]]: memref<1x2x32x4x4xf8E8M0FNU>,
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C5:%.+]] = arith.constant 5 : index
// CHECK:         memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK:         scf.for {{%.+}} = {{%.+}} to [[C5]] step [[C4]] {
// CHECK:           vector.load [[S]]{{.*}} vector<4xf8E8M0FNU>
func.func @swizzled(%q: memref<4x160xf8E4M3FN>, %s: memref<1x2x32x4x4xf8E8M0FNU>, %y: memref<4x160xbf16>) {
  blockscale.kernel ins(%q, %s : memref<4x160xf8E4M3FN>, memref<1x2x32x4x4xf8E8M0FNU>) outs(%y : memref<4x160xbf16>) {
  ^bb0(%lq: tensor<4x160xf8E4M3FN>, %ls: tensor<4x5xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>, %ly: tensor<4x160xbf16>):
    %0 = blockscale.dequantize %lq, %ls block [1, 32]
        : tensor<4x160xf8E4M3FN>, tensor<4x5xf8E8M0FNU, #blockscale.layout<swizzle_128x4>> -> tensor<4x160xbf16>
    blockscale.yield %0 : tensor<4x160xbf16>
  }
  return
}

// -----

// modelopt multiplies code, scale and global scale in this order; the others
// multiply the scales first. A tail is dequantized element by element.
// CHECK-LABEL: func.func private @modelopt_dequantize_0(
// CHECK-SAME:      {{%.+}}: memref<4x9xi8>, {{%.+}}: memref<4x2xf8E4M3FN>, [[G:%.+]]: f32,
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C18:%.+]] = arith.constant 18 : index
// CHECK:           vector.shuffle
// CHECK:           [[SCALED:%.+]] = arith.mulf {{%.+}}, {{%.+}} : vector<16xf32>
// CHECK:           [[LANES:%.+]] = vector.broadcast [[G]] : f32 to vector<16xf32>
// CHECK:           arith.mulf [[SCALED]], [[LANES]] : vector<16xf32>
// CHECK:           scf.for {{%.+}} = [[C16]] to [[C18]]
// CHECK:             [[CODE:%.+]] = arith.bitcast {{%.+}} : i32 to f32
// CHECK-NEXT:        [[SCALED:%.+]] = arith.mulf [[CODE]], {{%.+}} : f32
// CHECK-NEXT:        arith.mulf [[SCALED]], [[G]] : f32
// CHECK-LABEL: func.func private @te_dequantize_0(
// CHECK-SAME:      {{%.+}}: memref<4x9xi8>, {{%.+}}: memref<4x2xf8E4M3FN>, [[G:%.+]]: f32,
// CHECK:           [[LANES:%.+]] = vector.broadcast [[G]] : f32 to vector<2xf32>
// CHECK:           arith.mulf [[LANES]], {{%.+}} : vector<2xf32>
// CHECK-NOT:       arith.mulf {{%.+}}, [[G]]
// CHECK:           return
func.func @modelopt(%q: memref<4x9xi8>, %s: memref<4x2xf8E4M3FN>, %g: f32, %y: memref<4x18xf32>) {
  blockscale.kernel ins(%q, %s, %g : memref<4x9xi8>, memref<4x2xf8E4M3FN>, f32) outs(%y : memref<4x18xf32>) {
  ^bb0(%lq: tensor<4x18xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>, %lg: f32, %ly: tensor<4x18xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] recipe modelopt global_scale(%lg : f32)
        : tensor<4x18xf4E2M1FN>, tensor<4x2xf8E4M3FN> -> tensor<4x18xf32>
    blockscale.yield %0 : tensor<4x18xf32>
  }
  return
}
func.func @te(%q: memref<4x9xi8>, %s: memref<4x2xf8E4M3FN>, %g: f32, %y: memref<4x18xf32>) {
  blockscale.kernel ins(%q, %s, %g : memref<4x9xi8>, memref<4x2xf8E4M3FN>, f32) outs(%y : memref<4x18xf32>) {
  ^bb0(%lq: tensor<4x18xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>, %lg: f32, %ly: tensor<4x18xf32>):
    %0 = blockscale.dequantize %lq, %ls block [1, 16] recipe te global_scale(%lg : f32)
        : tensor<4x18xf4E2M1FN>, tensor<4x2xf8E4M3FN> -> tensor<4x18xf32>
    blockscale.yield %0 : tensor<4x18xf32>
  }
  return
}
