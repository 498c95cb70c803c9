// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_100a --canonicalize --cse | FileCheck %s --check-prefix=WIDE --implicit-check-not=cp.async --implicit-check-not=vote "--implicit-check-not=addr_space = 3"
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s --check-prefix=NOCVT --implicit-check-not=cp.async --implicit-check-not=vote "--implicit-check-not=addr_space = 3"

// Full warps move fragments through shared memory where conversions are cheap and
// accesses narrow: neither on sm_100a nor on sm_80.

#swizzled = #blockscale.layout<swizzle_128x4>

// A warp has 32 fragments of 128 bytes, 4096 bytes of shared memory. Lane l loads vector l
// of 16 bytes, not that at the start of its fragment, and then each 32nd. Vector p of the
// fragment of lane o is at place 8 o + (p xor o % 8), so the steps of 32 vectors, four
// fragments, alternate bit 2. All lanes vote in front of the first branch, by a ballot, in which
// lanes have no bit that leave before it where ptxas moves it. Later releases than
// LLVM 22 take o % 8 from the number of the thread, which ends in the same bits.
// CHECK: llvm.mlir.global internal @[[STAGE:quantize_e4m3_floor_bf16_k256_sm90_stage]]() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<16384 x i8>
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k256_sm90(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[Q:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 2 : i64}, %[[ROWS:[a-z0-9]+]]: i64)
// CHECK: %[[ALL:.+]] = llvm.mlir.addressof @[[STAGE]] : !llvm.ptr<3>
// CHECK: %[[T:.+]] = arith.index_castui %{{.+}} : index to i32
// CHECK: %[[LANE:.+]] = arith.andi %[[T]], %c31_i32
// CHECK: %[[WARP:.+]] = arith.shrui %[[T]], %c5_i32
// CHECK: %[[SKIP:.+]] = arith.muli %[[WARP]], %c4096_i32
// CHECK: %[[MEMORY:.+]] = llvm.getelementptr %[[ALL]][%[[SKIP]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
// CHECK: %[[HASROW:.+]] = arith.cmpi ult, %{{.+}}, %[[ROWS]] : i64
// CHECK-NOT: scf.if
// CHECK: %[[BALLOT:.+]] = nvvm.vote.sync ballot %c-1_i32, %[[HASROW]] -> i32
// CHECK: %[[FULL:.+]] = arith.cmpi eq, %[[BALLOT]], %c-1_i32
// CHECK: scf.if %[[HASROW]] {
// CHECK: %[[OWN:.+]] = llvm.getelementptr %[[X]][%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK: %[[WORDS:.+]]:8 = scf.if %[[FULL]] -> (
// CHECK: %[[LANE64:.+]] = arith.extui %[[LANE]] : i32 to i64
// CHECK: %[[PIECE:.+]] = arith.muli %[[LANE64]], %c16_i64
// CHECK: %[[START:.+]] = arith.muli %[[LANE64]], %c128_i64
// CHECK: %[[MOVE:.+]] = arith.subi %[[PIECE]], %[[START]]
// CHECK: %[[FROM0:.+]] = llvm.getelementptr %[[OWN]][%[[MOVE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: %[[FROM1:.+]] = llvm.getelementptr %[[FROM0]][512]
// CHECK: %[[FROM7:.+]] = llvm.getelementptr %[[FROM0]][3584]
// CHECK: %[[OWNER:.+]] = arith.shrui %[[LANE]], %c3_i32
// CHECK: %[[TURN:.+]] = arith.andi %[[OWNER]], %c7_i32
// CHECK: %[[PLACE0:.+]] = arith.xori %[[LANE]], %[[TURN]]
// CHECK: %[[BYTE0:.+]] = arith.muli %[[PLACE0]], %c16_i32
// CHECK: %[[TO0:.+]] = llvm.getelementptr %[[MEMORY]][%[[BYTE0]]]
// CHECK: %[[PLACE1:.+]] = arith.xori %[[PLACE0]], %c4_i32
// CHECK: %[[BYTE1:.+]] = arith.muli %[[PLACE1]], %c16_i32
// CHECK: %[[ODD:.+]] = llvm.getelementptr %[[MEMORY]][%[[BYTE1]]]
// CHECK: %[[TO1:.+]] = llvm.getelementptr %[[ODD]][512]
// CHECK: %[[TO7:.+]] = llvm.getelementptr %[[ODD]][3584]
// CHECK: nvvm.cp.async.shared.global %[[TO0]], %[[FROM0]], 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK: nvvm.cp.async.shared.global %[[TO1]], %[[FROM1]], 16
// CHECK-COUNT-5: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.shared.global %[[TO7]], %[[FROM7]], 16
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.bar.warp.sync %c-1_i32
// CHECK: %[[CHUNK:.+]] = arith.muli %[[LANE]], %c8_i32
// CHECK: %[[OWNTURN:.+]] = arith.andi %{{.+}}, %c7_i32
// CHECK: %[[MINE:.+]] = arith.ori %[[CHUNK]], %[[OWNTURN]]
// CHECK: arith.xori %[[MINE]], %c1_i32
// CHECK: arith.xori %[[MINE]], %c7_i32
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// Other warps load their own.
// CHECK: } else {
// CHECK: llvm.load %[[OWN]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-7: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: llvm.load
// Codes, 64 bytes a fragment, leave on the same way, when no lane reads elements any more:
// vector p of lane o at place 4 o + (p xor o / 2 % 4).
// CHECK: %[[OWNQ:.+]] = llvm.getelementptr %[[Q]][%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: scf.if %[[FULL]] {
// CHECK: nvvm.bar.warp.sync %c-1_i32
// CHECK: %[[CHUNKQ:.+]] = arith.muli %[[LANE]], %c4_i32
// CHECK: %[[HALF:.+]] = arith.shrui %[[LANE]], %c1_i32
// CHECK: %[[TURNQ:.+]] = arith.andi %[[HALF]], %c3_i32
// CHECK: arith.ori %[[CHUNKQ]], %[[TURNQ]]
// CHECK-COUNT-4: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync %c-1_i32
// CHECK: %[[PIECEQ:.+]] = arith.muli %{{.+}}, %c16_i64
// CHECK: %[[STARTQ:.+]] = arith.muli %{{.+}}, %c64_i64
// CHECK: %[[MOVEQ:.+]] = arith.subi %[[PIECEQ]], %[[STARTQ]]
// CHECK: %[[TOQ0:.+]] = llvm.getelementptr %[[OWNQ]][%[[MOVEQ]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: %[[TOQ1:.+]] = llvm.getelementptr %[[TOQ0]][512]
// CHECK: %[[W0:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: llvm.store %[[W0]], %[[TOQ0]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: %[[W1:.+]] = llvm.load %{{.+}} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: llvm.store %[[W1]], %[[TOQ1]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: } else {
// CHECK-COUNT-4: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT: vector<4xi32>, !llvm.ptr<1>
// CHECK: gpu.return
// WIDE-LABEL: gpu.func @quantize_e4m3_floor_bf16_k256(
// WIDE-COUNT-4: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// WIDE: gpu.return
// NOCVT-LABEL: gpu.func @quantize_e4m3_floor_bf16_k256_sm80(
// NOCVT-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// NOCVT-NOT: llvm.load
// NOCVT: gpu.return
func.func @staged(%x: memref<?x256xbf16>, %q: memref<?x256xf8E4M3FN>, %s: memref<?x8xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x256xbf16>) outs(%q, %s : memref<?x256xf8E4M3FN>, memref<?x8xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x256xbf16>, %lq: tensor<?x256xf8E4M3FN>, %ls: tensor<?x8xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
  }
  return
}

// With swizzled scales the fragments of a warp are eight of each of four rows. The rows are
// 32 apart, 32 * 512 * 2 = 32768 bytes of elements and 16384 of codes; eight fragments are 64
// vectors of elements, two steps, and 32 of codes, one step. A batch may end within a grid.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k512_swizzled_batched_sm90(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i64, %[[MATRICES:[a-z0-9]+]]: i64)
// CHECK-DAG: %[[EXISTS:.+]] = arith.cmpi ult, %{{.+}}, %[[MATRICES]] : i64
// CHECK-DAG: %[[HASROW:.+]] = arith.cmpi ult, %{{.+}}, %[[ROWS]] : i64
// CHECK: %[[HASCHUNK:.+]] = arith.andi %[[HASROW]], %[[EXISTS]] : i1
// CHECK: %[[BALLOT:.+]] = nvvm.vote.sync ballot %c-1_i32, %[[HASCHUNK]] -> i32
// CHECK: %[[FULL:.+]] = arith.cmpi eq, %[[BALLOT]], %c-1_i32
// CHECK: scf.if %[[FULL]]
// CHECK: %[[LANE64:.+]] = arith.extui %[[LANE:.+]] : i32 to i64
// CHECK: %[[PIECE:.+]] = arith.muli %[[LANE64]], %c16_i64
// CHECK: %[[QUARTER:.+]] = arith.shrui %[[LANE]], %c3_i32
// CHECK: %[[INROW:.+]] = arith.andi %{{.+}}, %c7_i32
// CHECK: %[[QUARTER64:.+]] = arith.extui %[[QUARTER]] : i32 to i64
// CHECK: %[[QUARTERSTART:.+]] = arith.muli %[[QUARTER64]], %c32768_i64
// CHECK: %[[INROW64:.+]] = arith.extui %[[INROW]] : i32 to i64
// CHECK: %[[CHUNK:.+]] = arith.muli %[[INROW64]], %c128_i64
// CHECK: %[[START:.+]] = arith.addi %[[QUARTERSTART]], %[[CHUNK]]
// CHECK: %[[MOVE:.+]] = arith.subi %[[PIECE]], %[[START]]
// CHECK: %[[FROM0:.+]] = llvm.getelementptr %{{.+}}[%[[MOVE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: llvm.getelementptr %[[FROM0]][512]
// CHECK: llvm.getelementptr %[[FROM0]][32768]
// CHECK: llvm.getelementptr %[[FROM0]][33280]
// CHECK: llvm.getelementptr %[[FROM0]][65536]
// CHECK: llvm.getelementptr %[[FROM0]][66048]
// CHECK: llvm.getelementptr %[[FROM0]][98304]
// CHECK: llvm.getelementptr %[[FROM0]][98816]
// CHECK-COUNT-8: nvvm.cp.async.shared.global
// CHECK: %[[QUARTERSTARTQ:.+]] = arith.muli %{{.+}}, %c16384_i64
// CHECK: %[[STARTQ:.+]] = arith.addi %[[QUARTERSTARTQ]], %{{.+}}
// CHECK: %[[MOVEQ:.+]] = arith.subi %{{.+}}, %[[STARTQ]]
// CHECK: %[[TOQ0:.+]] = llvm.getelementptr %{{.+}}[%[[MOVEQ]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: llvm.getelementptr %[[TOQ0]][16384]
// CHECK: llvm.getelementptr %[[TOQ0]][32768]
// CHECK: llvm.getelementptr %[[TOQ0]][49152]
// CHECK: gpu.return
func.func @swizzled(%x: memref<?x?x512xbf16>, %q: memref<?x?x512xf8E4M3FN>, %s: memref<?x?x4x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x?x512xbf16>) outs(%q, %s : memref<?x?x512xf8E4M3FN>, memref<?x?x4x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x?x512xbf16>, %lq: tensor<?x?x512xf8E4M3FN>, %ls: tensor<?x?x16xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x?x512xbf16> -> tensor<?x?x512xf8E4M3FN>, tensor<?x?x16xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x?x512xf8E4M3FN>, tensor<?x?x16xf8E8M0FNU, #swizzled>
  }
  return
}

// 9 fragments: of the two warps of a line the second is not full. Chunks of f32 are sixteen
// vectors, in 32768 bytes of shared memory; the low three bits of a lane's number turn them.
// CHECK: llvm.mlir.global internal @[[STAGE9:quantize_e4m3_floor_f32_k576_swizzled_sm90_stage]]() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<32768 x i8>
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_f32_k576_swizzled_sm90(
// CHECK: %[[HASROW:.+]] = arith.cmpi ult, %{{.+}}, %{{.+}} : i64
// CHECK: %[[WHOLE:.+]] = arith.cmpi ult, %{{.+}}, %c9_i32 : i32
// CHECK: %[[HASCHUNK:.+]] = arith.andi %[[HASROW]], %[[WHOLE]] : i1
// CHECK: nvvm.vote.sync ballot %c-1_i32, %[[HASCHUNK]] -> i32
// CHECK: arith.shrui %[[LANE:.+]], %c3_i32
// CHECK: %[[TURN:.+]] = arith.andi %{{.+}}, %c7_i32
// CHECK-COUNT-16: nvvm.cp.async.shared.global
// CHECK: %[[CHUNK:.+]] = arith.muli %[[LANE]], %c16_i32
// CHECK: arith.ori %[[CHUNK]], %[[TURN]]
// CHECK: gpu.return
func.func @part(%x: memref<?x576xf32>, %q: memref<?x576xf8E4M3FN>, %s: memref<?x5x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x576xf32>) outs(%q, %s : memref<?x576xf8E4M3FN>, memref<?x5x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x576xf32>, %lq: tensor<?x576xf8E4M3FN>, %ls: tensor<?x18xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x576xf32> -> tensor<?x576xf8E4M3FN>, tensor<?x18xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x576xf8E4M3FN>, tensor<?x18xf8E8M0FNU, #swizzled>
  }
  return
}

// E2M1 codes are not staged: a thread has a fragment of 32 elements.
// CHECK-LABEL: gpu.func @quantize_e2m1_floor_bf16_k256_sm90(
// CHECK-NOT: vote
// CHECK-NOT: cp.async
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: gpu.return
func.func @e2m1(%x: memref<?x256xbf16>, %q: memref<?x128xi8>, %s: memref<?x8xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x256xbf16>) outs(%q, %s : memref<?x128xi8>, memref<?x8xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x256xbf16>, %lq: tensor<?x256xf4E2M1FN>, %ls: tensor<?x8xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x256xbf16> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  }
  return
}

// Lanes of different groups part, so nothing is staged.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k256_row_groups_sm90(
// CHECK-NOT: vote
// CHECK-NOT: cp.async
// CHECK: gpu.return
func.func @groups(%x: memref<?x256xbf16>, %o: memref<?xi32>, %q: memref<?x256xf8E4M3FN>, %s: memref<?x8xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %o : memref<?x256xbf16>, memref<?xi32>) outs(%q, %s : memref<?x256xf8E4M3FN>, memref<?x8xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x256xbf16>, %lo: tensor<?xi32>, %lq: tensor<?x256xf8E4M3FN>, %ls: tensor<?x8xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor offsets(%lo : tensor<?xi32>) group_dim 0 : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
  }
  return
}

// Where rows end with half a fragment, those of neighbouring lanes do not follow each other.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k288_sm90(
// CHECK-NOT: vote
// CHECK-NOT: cp.async
// CHECK: gpu.return
func.func @half_fragment(%x: memref<?x288xbf16>, %q: memref<?x288xf8E4M3FN>, %s: memref<?x9xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x288xbf16>) outs(%q, %s : memref<?x288xf8E4M3FN>, memref<?x9xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x288xbf16>, %lq: tensor<?x288xf8E4M3FN>, %ls: tensor<?x9xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x288xbf16> -> tensor<?x288xf8E4M3FN>, tensor<?x9xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x288xf8E4M3FN>, tensor<?x9xf8E8M0FNU>
  }
  return
}
