// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// Down the columns an item is a band of 16 rows, and a lane is a column. The signs
// are part of the first factor; 0 is added, which leaves no -0; then sums and
// differences of values 1, 2, 4 and 8 apart. The last step of a row starts early
// enough to be a whole one.
// CHECK-LABEL: func.func private @down_hadamard_0(
// CHECK-SAME:      [[X:%.+]]: memref<32x24xbf16>, [[Y:%.+]]: memref<32x24xbf16>,
// CHECK-DAG:     [[ZERO:%.+]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-DAG:     [[MINUS:%.+]] = arith.constant dense<-2.500000e-01> : vector<16xf32>
// CHECK-DAG:     [[PLUS:%.+]] = arith.constant dense<2.500000e-01> : vector<16xf32>
// CHECK-DAG:     [[C8:%.+]] = arith.constant 8 : index
// CHECK-DAG:     [[C15:%.+]] = arith.constant 15 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[C24:%.+]] = arith.constant 24 : index
// CHECK:         scf.for [[BAND:%.+]] =
// CHECK:           [[ROW:%.+]] = arith.muli [[BAND]], [[C16]]
// CHECK:           [[LAST:%.+]] = arith.addi [[ROW]], [[C15]]
// CHECK:           scf.for [[STEP:%.+]] = {{%.+}} to [[C24]] step [[C16]]
// CHECK:             [[COL:%.+]] = arith.minsi [[STEP]], [[C8]]
// CHECK:             vector.load [[X]][[[ROW]], [[COL]]]
// CHECK:             vector.load [[X]][[[LAST]], [[COL]]]
// CHECK:             [[M0:%.+]] = arith.mulf {{%.+}}, [[PLUS]]
// CHECK-NEXT:        [[V0:%.+]] = arith.addf [[M0]], [[ZERO]]
// CHECK-NEXT:        [[M1:%.+]] = arith.mulf {{%.+}}, [[PLUS]]
// CHECK-NEXT:        [[V1:%.+]] = arith.addf [[M1]], [[ZERO]]
// CHECK-NEXT:        [[M2:%.+]] = arith.mulf {{%.+}}, [[PLUS]]
// CHECK-NEXT:        [[V2:%.+]] = arith.addf [[M2]], [[ZERO]]
// CHECK-NEXT:        [[M3:%.+]] = arith.mulf {{%.+}}, [[MINUS]]
// CHECK-NEXT:        [[V3:%.+]] = arith.addf [[M3]], [[ZERO]]
// CHECK:             [[S0:%.+]] = arith.addf [[V0]], [[V1]]
// CHECK-NEXT:        [[S1:%.+]] = arith.subf [[V0]], [[V1]]
// CHECK-NEXT:        [[S2:%.+]] = arith.addf [[V2]], [[V3]]
// CHECK-NEXT:        [[S3:%.+]] = arith.subf [[V2]], [[V3]]
// CHECK:             [[T0:%.+]] = arith.addf [[S0]], [[S2]]
// CHECK-NEXT:        arith.subf [[S0]], [[S2]]
// CHECK-NEXT:        arith.addf [[S1]], [[S3]]
// CHECK-NEXT:        arith.subf [[S1]], [[S3]]
// CHECK-COUNT-15:    vector.store {{%.+}}, [[Y]]
// CHECK:             vector.store {{%.+}}, [[Y]][[[LAST]], [[COL]]]
// CHECK-LABEL: func.func @down(
// CHECK:         [[ITEMS:%.+]] = arith.constant 2 : index
// CHECK:         call @down_hadamard_0({{.*}}, [[ITEMS]])
func.func @down(%x: memref<32x24xbf16>, %y: memref<32x24xbf16>) {
  blockscale.kernel ins(%x : memref<32x24xbf16>) outs(%y : memref<32x24xbf16>) {
  ^bb0(%lx: tensor<32x24xbf16>, %ly: tensor<32x24xbf16>):
    %0 = blockscale.hadamard %lx dim 0 : tensor<32x24xbf16>
    blockscale.yield %0 : tensor<32x24xbf16>
  }
  return
}

// -----

// Along a row a lane is a group: elements 0 of all groups come together, elements
// 1, and so on. With mask 1 the first element alone changes its sign.
// CHECK-LABEL: func.func private @along_hadamard_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x48xbf16>, [[Y:%.+]]: memref<4x48xbf16>,
// CHECK-DAG:     [[MINUS:%.+]] = arith.constant dense<-2.500000e-01> : vector<2xf32>
// CHECK-DAG:     [[PLUS:%.+]] = arith.constant dense<2.500000e-01> : vector<2xf32>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           vector.load [[X]][[[ROW]], [[COL:%.+]]] : memref<4x48xbf16>, vector<32xbf16>
// CHECK-COUNT-15:  vector.deinterleave
// CHECK:           arith.mulf {{%.+}}, [[MINUS]]
// CHECK-COUNT-15:  arith.mulf {{%.+}}, [[PLUS]]
// CHECK-NOT:       arith.mulf
// CHECK-COUNT-15:  vector.interleave
// CHECK:           vector.store {{%.+}}, [[Y]][[[ROW]], [[COL]]] : memref<4x48xbf16>, vector<32xbf16>
// CHECK-LABEL: func.func @along(
// CHECK:         [[ITEMS:%.+]] = arith.constant 4 : index
// CHECK:         call @along_hadamard_0({{.*}}, [[ITEMS]])
func.func @along(%x: memref<4x48xbf16>, %y: memref<4x48xbf16>) {
  blockscale.kernel ins(%x : memref<4x48xbf16>) outs(%y : memref<4x48xbf16>) {
  ^bb0(%lx: tensor<4x48xbf16>, %ly: tensor<4x48xbf16>):
    %0 = blockscale.hadamard %lx dim 1 sign_mask 1 : tensor<4x48xbf16>
    blockscale.yield %0 : tensor<4x48xbf16>
  }
  return
}

// -----

// A dynamic size is checked; a matrix without columns has no items, however many
// rows it has.
// CHECK:       "hadamard: expected the transformed dimension of x to be a multiple of 16\00"
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:      [[X:%.+]]: memref<?x?xbf16>,
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C1:%.+]] = arith.constant 1 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK-DAG:     [[ROWS:%.+]] = memref.dim [[X]], [[C0]]
// CHECK-DAG:     [[COLS:%.+]] = memref.dim [[X]], [[C1]]
// CHECK-DAG:     [[REST:%.+]] = arith.remui [[ROWS]], [[C16]]
// CHECK-DAG:     [[IS_MULTIPLE:%.+]] = arith.cmpi eq, [[REST]], [[C0]]
// CHECK-DAG:     [[BANDS:%.+]] = arith.divui [[ROWS]], [[C16]]
// CHECK-DAG:     [[IS_EMPTY:%.+]] = arith.cmpi eq, [[COLS]], [[C0]]
// CHECK:         [[ITEMS:%.+]] = arith.select [[IS_EMPTY]], [[C0]], [[BANDS]]
// CHECK:         scf.if [[IS_MULTIPLE]]
// CHECK:           func.call @dynamic_hadamard_0({{.*}}, [[ITEMS]])
func.func @dynamic(%x: memref<?x?xbf16>, %y: memref<?x?xbf16>) {
  blockscale.kernel ins(%x : memref<?x?xbf16>) outs(%y : memref<?x?xbf16>) {
  ^bb0(%lx: tensor<?x?xbf16>, %ly: tensor<?x?xbf16>):
    %0 = blockscale.hadamard %lx dim 0 : tensor<?x?xbf16>
    blockscale.yield %0 : tensor<?x?xbf16>
  }
  return
}
