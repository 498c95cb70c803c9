// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// 2d-3d: the rows that a panel of A shares with a group are multiplied by the
// group's B; rows behind the last group are zero. A group whose end is none is
// empty, so that none leads out of the buffers.
// CHECK-LABEL: func.func private @rows_scaled_grouped_mm_0(
// CHECK-SAME:      [[A:%.+]]: memref<200x64xf8E4M3FN>, [[B:%.+]]: memref<3x48x64xf8E4M3FN>, [[ENDS:%.+]]: memref<3xi32>, {{%.+}}: memref<200x2xf8E8M0FNU>, [[SB:%.+]]: memref<3x48x2xf8E8M0FNU>, [[Y:%.+]]: memref<200x48xf32>,
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C192:%.+]] = arith.constant 192 : index
// CHECK-DAG:     [[C200:%.+]] = arith.constant 200 : index
// CHECK-DAG:     [[ZERO:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK:         scf.for [[PANEL:%.+]] =
// CHECK:           [[FIRST:%.+]] = arith.muli [[PANEL]], [[C192]]
// CHECK:           [[REMAINING:%.+]] = arith.subi [[C200]], [[FIRST]]
// CHECK:           [[COUNT:%.+]] = arith.minsi [[REMAINING]], [[C192]]
// CHECK:           [[LAST:%.+]] = arith.addi [[FIRST]], [[COUNT]]
// CHECK:           [[COVERED:%.+]]:2 = scf.for [[GROUP:%.+]] = [[C0]] to [[C3]] {{.*}} iter_args([[BEGIN:%.+]] = [[C0]], {{%.+}} = [[C0]])
// CHECK:             [[OFFSET:%.+]] = memref.load [[ENDS]][[[GROUP]]]
// CHECK:             [[INDEX:%.+]] = arith.index_cast [[OFFSET]]
// CHECK:             [[BEYOND:%.+]] = arith.cmpi sgt, [[INDEX]], [[C200]]
// CHECK:             [[INSIDE:%.+]] = arith.select [[BEYOND]], [[C0]], [[INDEX]]
// CHECK:             [[END:%.+]] = arith.maxsi [[INSIDE]], [[BEGIN]]
// CHECK:             [[LOW:%.+]] = arith.maxsi [[FIRST]], [[BEGIN]]
// CHECK:             [[HIGH:%.+]] = arith.minsi [[LAST]], [[END]]
// CHECK:             [[SHARED:%.+]] = arith.cmpi slt, [[LOW]], [[HIGH]]
// CHECK:             scf.if [[SHARED]] {
// CHECK:               vector.load [[SB]][[[GROUP]],
// CHECK:               vector.load [[B]][[[GROUP]],
// CHECK:               vector.store {{%.+}}, [[Y]]
// CHECK:             scf.yield [[END]],
// CHECK:           [[REST:%.+]] = arith.maxsi [[FIRST]], [[COVERED]]#0
// CHECK:           scf.for {{%.+}} = [[REST]] to [[LAST]]
// CHECK:             memref.store [[ZERO]], [[Y]]
// The ends are checked before the call; what the first group breaks is reported.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:      [[ENDS:%[^:]+]]: memref<3xi32>
// CHECK:         [[FAULT:%.+]]:5 = scf.for {{.*}} iter_args([[RULE:%[a-z0-9]+]] = %c0_i64, {{.*}}, [[BEGIN:%[a-z0-9]+]] = %c0_i64)
// CHECK:           [[STORED:%.+]] = memref.load [[ENDS]]
// CHECK:           [[END:%.+]] = arith.extsi [[STORED]]
// CHECK:           [[BEYOND:%.+]] = arith.cmpi sgt, [[END]], %c200_i64
// CHECK:           [[TWO:%.+]] = arith.select [[BEYOND]], %c2_i64, %c0_i64
// CHECK:           [[BELOW:%.+]] = arith.cmpi slt, [[END]], [[BEGIN]]
// CHECK:           [[ONE:%.+]] = arith.select [[BELOW]], %c1_i64, [[TWO]]
// CHECK:           [[FIRST:%.+]] = arith.cmpi eq, [[RULE]], %c0_i64
// CHECK:           arith.select [[FIRST]], [[ONE]], [[RULE]]
// CHECK:         [[HOLDS:%.+]] = arith.cmpi eq, [[FAULT]]#0, %c0_i64
// CHECK:         scf.if [[HOLDS]] {
// CHECK:           call @rows_scaled_grouped_mm_0
// CHECK:         } else {
// CHECK:           llvm.call @blockscale_report_group({{%.+}}, [[FAULT]]#1, [[FAULT]]#2, [[FAULT]]#3)
func.func @rows(%a: memref<200x64xf8E4M3FN>, %b: memref<3x48x64xf8E4M3FN>, %ends: memref<3xi32>, %sa: memref<200x2xf8E8M0FNU>, %sb: memref<3x48x2xf8E8M0FNU>, %y: memref<200x48xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %sa, %sb : memref<200x64xf8E4M3FN>, memref<3x48x64xf8E4M3FN>, memref<3xi32>, memref<200x2xf8E8M0FNU>, memref<3x48x2xf8E8M0FNU>)
      outs(%y : memref<200x48xf32>) {
  ^bb0(%la: tensor<200x64xf8E4M3FN>, %lb: tensor<3x48x64xf8E4M3FN>, %lends: tensor<3xi32>, %lsa: tensor<200x2xf8E8M0FNU>, %lsb: tensor<3x48x2xf8E8M0FNU>, %ly: tensor<200x48xf32>):
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%lends) scales(%lsa, %lsb) block [1, 32]
        : tensor<200x64xf8E4M3FN>, tensor<3x48x64xf8E4M3FN>, tensor<3xi32>, tensor<200x2xf8E8M0FNU>, tensor<3x48x2xf8E8M0FNU> -> tensor<200x48xf32>
    blockscale.yield %0 : tensor<200x48xf32>
  }
  return
}

// -----

// 2d-2d: an item is a panel of one group's product, whose blocks of K are found
// from the ends before it. In a grouped layout the group's tiles begin behind
// those of the groups before, its columns rounded up to tiles each.
// CHECK-LABEL: func.func private @k_scaled_grouped_mm_0(
// CHECK-SAME:      {{%.+}}: memref<200x128xi8>, {{%.+}}: memref<48x128xi8>, [[ENDS:%.+]]: memref<3xi32>, [[SA:%.+]]: memref<12x32x4x4xf8E4M3FN>, {{%.+}}: memref<48x16xf8E4M3FN>, [[Y:%.+]]: memref<3x200x48xf32>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C4:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK:         scf.for [[ITEM:%.+]] =
// CHECK:           [[GROUP:%.+]] = arith.divui [[ITEM]], [[C2]]
// CHECK:           [[BEFORE:%.+]]:2 = scf.for [[I:%.+]] = {{%.+}} to [[GROUP]]
// CHECK:             memref.load [[ENDS]][[[I]]]
// CHECK:             [[BLOCKS:%.+]] = arith.divui {{%.+}}, [[C16]]
// CHECK:             [[ROUNDED:%.+]] = arith.addi {{%.+}}, [[C3]]
// CHECK:             [[TILES:%.+]] = arith.divui [[ROUNDED]], [[C4]]
// CHECK:           memref.load [[ENDS]][[[GROUP]]]
// CHECK:           vector.load [[SA]]
// CHECK:           vector.store {{%.+}}, [[Y]][[[GROUP]],
// CHECK-LABEL: func.func @k(
// CHECK:         [[ITEMS:%.+]] = arith.constant 6 : index
// CHECK:         call @k_scaled_grouped_mm_0({{.*}}, [[ITEMS]])
#grouped = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>
func.func @k(%a: memref<200x128xi8>, %b: memref<48x128xi8>, %ends: memref<3xi32>, %sa: memref<12x32x4x4xf8E4M3FN>, %sb: memref<48x16xf8E4M3FN>, %y: memref<3x200x48xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %sa, %sb : memref<200x128xi8>, memref<48x128xi8>, memref<3xi32>, memref<12x32x4x4xf8E4M3FN>, memref<48x16xf8E4M3FN>)
      outs(%y : memref<3x200x48xf32>) {
  ^bb0(%la: tensor<200x256xf4E2M1FN>, %lb: tensor<48x256xf4E2M1FN>, %lends: tensor<3xi32>, %lsa: tensor<200x16xf8E4M3FN, #grouped>, %lsb: tensor<48x16xf8E4M3FN>, %ly: tensor<3x200x48xf32>):
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%lends) scales(%lsa, %lsb) block [1, 16]
        : tensor<200x256xf4E2M1FN>, tensor<48x256xf4E2M1FN>, tensor<3xi32>, tensor<200x16xf8E4M3FN, #grouped>, tensor<48x16xf8E4M3FN> -> tensor<3x200x48xf32>
    blockscale.yield %0 : tensor<3x200x48xf32>
  }
  return
}

// -----

// Each group has its own global scales and its own bias. They belong to the group
// of a row, whichever panel it is in; rows of no group are zero without a bias.
// CHECK-LABEL: func.func private @bias_scaled_grouped_mm_0(
// CHECK-SAME:      [[GA:%[^:]+]]: memref<2xf32>, [[Z:%[^:]+]]: memref<2x16xbf16>, [[Y:%[^:]+]]: memref<8x16xf32>,
// CHECK:         scf.for {{%.+}} =
// CHECK:           scf.for [[GROUP:%[a-z0-9]+]] =
// CHECK:             [[FACTOR:%.+]] = memref.load [[GA]][[[GROUP]]]
// CHECK:             [[LANES:%.+]] = vector.broadcast [[FACTOR]]
// CHECK:             [[SCALED:%.+]] = arith.mulf {{%.+}}, [[LANES]]
// CHECK:             vector.load [[Z]][[[GROUP]],
// CHECK:             arith.addf [[SCALED]],
// CHECK:             vector.store {{%.+}}, [[Y]]
// CHECK-NOT:       memref.load [[Z]]
// CHECK:           memref.store {{%.+}}, [[Y]]
func.func @bias(%a: memref<8x8xi8>, %b: memref<2x16x8xi8>, %ends: memref<2xi32>, %sa: memref<8x1xf8E4M3FN>, %sb: memref<2x16x1xf8E4M3FN>, %ga: memref<2xf32>, %z: memref<2x16xbf16>, %y: memref<8x16xf32>) {
  blockscale.kernel ins(%a, %b, %ends, %sa, %sb, %ga, %z : memref<8x8xi8>, memref<2x16x8xi8>, memref<2xi32>, memref<8x1xf8E4M3FN>, memref<2x16x1xf8E4M3FN>, memref<2xf32>, memref<2x16xbf16>)
      outs(%y : memref<8x16xf32>) {
  ^bb0(%la: tensor<8x16xf4E2M1FN>, %lb: tensor<2x16x16xf4E2M1FN>, %lends: tensor<2xi32>, %lsa: tensor<8x1xf8E4M3FN>, %lsb: tensor<2x16x1xf8E4M3FN>, %lga: tensor<2xf32>, %lz: tensor<2x16xbf16>, %ly: tensor<8x16xf32>):
    %0 = blockscale.scaled_grouped_mm %la, %lb offsets(%lends) scales(%lsa, %lsb) block [1, 16]
        global_scale_a(%lga : tensor<2xf32>) bias(%lz : tensor<2x16xbf16>)
        : tensor<8x16xf4E2M1FN>, tensor<2x16x16xf4E2M1FN>, tensor<2xi32>, tensor<8x1xf8E4M3FN>, tensor<2x16x1xf8E4M3FN> -> tensor<8x16xf32>
    blockscale.yield %0 : tensor<8x16xf32>
  }
  return
}
