// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// The last 5 elements of 37 are quantized as a block padded with zeros, in a
// copy on the stack that is made once. Of its codes three bytes are stored, the
// last of them without its upper code.
// CHECK-LABEL: func.func private @tail_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x37xbf16>, [[Q:%.+]]: memref<4x19xi8>, [[S:%.+]]: memref<4x3xf8E4M3FN>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C5:%.+]] = arith.constant 5 : index
// CHECK-DAG:     [[C32:%.+]] = arith.constant 32 : index
// CHECK:         [[TAIL_X:%.+]] = memref.alloca() : memref<16xbf16>
// CHECK:         [[TAIL_Q:%.+]] = memref.alloca() : memref<8xi8>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           vector.load [[X]]{{.*}} vector<32xbf16>
// CHECK:           vector.store {{%.+}}, [[TAIL_X]]
// CHECK:           scf.for [[I:%.+]] = {{%.+}} to [[C5]] step
// CHECK:             [[COL:%.+]] = arith.addi [[I]], [[C32]]
// CHECK:             memref.load [[X]][[[ROW]], [[COL]]]
// CHECK:             memref.store {{%.+}}, [[TAIL_X]][[[I]]]
// CHECK:           vector.load [[TAIL_X]]{{.*}} vector<16xbf16>
// CHECK:           vector.store {{%.+}}, [[TAIL_Q]]
// CHECK:           vector.store {{%.+}}, [[S]][[[ROW]], [[C2]]] : memref<4x3xf8E4M3FN>, vector<1xf8E4M3FN>
// CHECK:           scf.for [[I:%.+]] = {{%.+}} to [[C3]] step
// CHECK:             [[BYTE:%.+]] = memref.load [[TAIL_Q]][[[I]]]
// CHECK:             [[HAS_ODD:%.+]] = arith.cmpi ult, {{%.+}}, [[C5]]
// CHECK:             [[EVEN:%.+]] = arith.andi [[BYTE]],
// CHECK:             [[STORED:%.+]] = arith.select [[HAS_ODD]], [[BYTE]], [[EVEN]]
// CHECK:             memref.store [[STORED]], [[Q]]
func.func @tail(%x: memref<4x37xbf16>, %q: memref<4x19xi8>, %s: memref<4x3xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x37xbf16>) outs(%q, %s : memref<4x19xi8>, memref<4x3xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x37xbf16>, %lq: tensor<4x37xf4E2M1FN>, %ls: tensor<4x3xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<4x37xbf16> -> tensor<4x37xf4E2M1FN>, tensor<4x3xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x37xf4E2M1FN>, tensor<4x3xf8E4M3FN>
  }
  return
}

// -----

// Whether a dynamic row has a tail is asked at run time.
// CHECK-LABEL: func.func private @dynamic_quantize_0(
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK:         [[TAIL:%.+]] = arith.remui {{%.+}}, [[C16]]
// CHECK:         [[TAIL_X:%.+]] = memref.alloca() : memref<16xf32>
// CHECK:         scf.for
// CHECK:           [[HAS_TAIL:%.+]] = arith.cmpi ne, [[TAIL]], [[C0]]
// CHECK:           scf.if [[HAS_TAIL]] {
// CHECK:             vector.store {{%.+}}, [[TAIL_X]]
func.func @dynamic(%x: memref<4x?xf32>, %q: memref<4x?xi8>, %s: memref<4x?xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x?xf32>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xf32>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt : tensor<4x?xf32> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}

// -----

// A whole number of blocks has no tail, nor has a recipe that refuses them.
// CHECK-LABEL: func.func private @whole_quantize_0(
// CHECK-NOT:     memref.alloca
// CHECK-LABEL: func.func private @refuses_quantize_0(
// CHECK-NOT:     memref.alloca
// CHECK:         return
func.func @whole(%x: memref<4x32xf32>, %q: memref<4x16xi8>, %s: memref<4x2xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x32xf32>) outs(%q, %s : memref<4x16xi8>, memref<4x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x32xf32>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<4x32xf32> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  }
  return
}
func.func @refuses(%x: memref<4x?xf32>, %q: memref<4x?xi8>, %s: memref<4x?xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x?xf32>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xf32>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe mslk : tensor<4x?xf32> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}
