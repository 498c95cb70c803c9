// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file | FileCheck %s

// A 4over6 recipe encodes two scales of a block, base and 1.5 base, adds the
// errors of the 16 elements under each, first to last, and takes the second only
// where its error is smaller. The tensor's amax is what errors are measured with.
// CHECK-LABEL: func.func private @mae_quantize_0(
// CHECK-SAME:      {{%.+}}: memref<4x16xf32>, [[AMAX:%.+]]: f32,
// CHECK-DAG:     [[RANGE:%.+]] = arith.constant 1.536000e+03 : f32
// CHECK-DAG:     [[RANGES:%.+]] = arith.constant dense<1.536000e+03> : vector<8xf32>
// CHECK-DAG:     [[EXPANSION:%.+]] = arith.constant dense<1.500000e+00> : vector<1xf32>
// CHECK-DAG:     [[MAGNITUDE:%.+]] = arith.constant dense<2147483647> : vector<8xi32>
// CHECK:         arith.divf [[RANGE]], [[AMAX]] : f32
// CHECK:         scf.for
// CHECK:           [[SIX:%.+]] = arith.andi {{%.+}}, {{%.+}} : vector<1xi32>
// CHECK:           arith.mulf {{%.+}}, [[EXPANSION]] : vector<1xf32>
// CHECK:           [[TOTAL:%.+]] = vector.broadcast [[AMAX]] : f32 to vector<8xf32>
// CHECK:           [[VALUE:%.+]] = arith.mulf {{%.+}}, [[TOTAL]] : vector<8xf32>
// CHECK:           [[QUOTIENT:%.+]] = arith.divf [[VALUE]], [[RANGES]] : vector<8xf32>
// CHECK:           [[ERROR:%.+]] = arith.subf [[QUOTIENT]], {{%.+}} : vector<8xf32>
// CHECK:           [[BITS:%.+]] = arith.bitcast [[ERROR]] : vector<8xf32> to vector<8xi32>
// CHECK:           arith.andi [[BITS]], [[MAGNITUDE]] : vector<8xi32>
// CHECK-COUNT-14:  arith.addf {{%.+}}, {{%.+}} : vector<1xf32>
// CHECK:           [[SIX_ERROR:%.+]] = arith.addf {{%.+}}, {{%.+}} : vector<1xf32>
// CHECK-COUNT-14:  arith.addf {{%.+}}, {{%.+}} : vector<1xf32>
// CHECK:           [[FOUR_ERROR:%.+]] = arith.addf {{%.+}}, {{%.+}} : vector<1xf32>
// CHECK:           [[IS_FOUR:%.+]] = arith.cmpf olt, [[FOUR_ERROR]], [[SIX_ERROR]] : vector<1xf32>
// CHECK:           arith.select [[IS_FOUR]], {{%.+}}, {{%.+}} : vector<1xi1>, vector<1xi32>
// CHECK:         return
func.func @mae(%x: memref<4x16xf32>, %a: f32, %q: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %a : memref<4x16xf32>, f32) outs(%q, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xf32>, %la: f32, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te_4over6_mae global_amax(%la : f32)
        : tensor<4x16xf32> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  }
  return
}

// -----

// Down columns, whose lanes are blocks, the errors are summed row by row.
// te_4over6_mse squares them.
// CHECK-LABEL: func.func private @mse_quantize_0(
// CHECK:         [[ERRORS:%.+]]:2 = scf.for {{.*}} iter_args([[SIX:%.+]] = {{%.+}}, [[FOUR:%.+]] = {{%.+}}) -> (vector<64xf32>, vector<64xf32>)
// CHECK:           [[SIX_D:%.+]] = arith.subf
// CHECK:           [[SIX_SQUARE:%.+]] = arith.mulf [[SIX_D]], [[SIX_D]] : vector<64xf32>
// CHECK:           [[SIX_SUM:%.+]] = arith.addf [[SIX]], [[SIX_SQUARE]] : vector<64xf32>
// CHECK:           [[FOUR_D:%.+]] = arith.subf
// CHECK:           [[FOUR_SQUARE:%.+]] = arith.mulf [[FOUR_D]], [[FOUR_D]] : vector<64xf32>
// CHECK:           [[FOUR_SUM:%.+]] = arith.addf [[FOUR]], [[FOUR_SQUARE]] : vector<64xf32>
// CHECK:           scf.yield [[SIX_SUM]], [[FOUR_SUM]]
// CHECK:         arith.cmpf olt, [[ERRORS]]#1, [[ERRORS]]#0 : vector<64xf32>
func.func @mse(%x: memref<16x64xf32>, %q: memref<64x8xi8>, %s: memref<64x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<16x64xf32>) outs(%q, %s : memref<64x8xi8>, memref<64x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<16x64xf32>, %lq: tensor<64x16xf4E2M1FN>, %ls: tensor<64x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [16, 1] transposed recipe te_4over6_mse
        : tensor<16x64xf32> -> tensor<64x16xf4E2M1FN>, tensor<64x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<64x16xf4E2M1FN>, tensor<64x1xf8E4M3FN>
  }
  return
}

// -----

// Given block amaxes are loaded, and no maximum is computed. modelopt exports such
// blocks by a formula of its own: amax / 6 * 448 / (global amax / 6).
// CHECK-LABEL: func.func private @given_quantize_0(
// CHECK-SAME:      {{%.+}}: memref<4x32xf32>, [[GLOBAL:%.+]]: f32, [[GIVEN:%.+]]: memref<4x2xf32>,
// CHECK-DAG:     [[SIX:%.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG:     [[SIXES:%.+]] = arith.constant dense<6.000000e+00> : vector<2xf32>
// CHECK-DAG:     [[LARGEST:%.+]] = arith.constant dense<4.480000e+02> : vector<2xf32>
// CHECK:         scf.for [[ROW:%.+]] =
// CHECK:           [[AMAX:%.+]] = vector.load [[GIVEN]][[[ROW]], {{%.+}}] : memref<4x2xf32>, vector<2xf32>
// CHECK-NOT:       arith.maxui {{%.+}}, {{%.+}} : vector<16xi32>
// CHECK:           [[RATIO:%.+]] = arith.divf [[AMAX]], [[SIXES]] : vector<2xf32>
// CHECK:           [[NONZERO:%.+]] = arith.select {{%.+}}, {{%.+}}, [[RATIO]] : vector<2xi1>, vector<2xf32>
// CHECK:           [[SCALED:%.+]] = arith.mulf [[NONZERO]], [[LARGEST]] : vector<2xf32>
// CHECK:           [[WHOLE:%.+]] = arith.divf [[GLOBAL]], [[SIX]] : f32
// CHECK:           [[WHOLES:%.+]] = vector.broadcast [[WHOLE]] : f32 to vector<2xf32>
// CHECK:           arith.divf [[SCALED]], [[WHOLES]] : vector<2xf32>
// CHECK-NOT:       arith.maxui {{%.+}}, {{%.+}} : vector<16xi32>
// CHECK:         return
func.func @given(%x: memref<4x32xf32>, %a: f32, %b: memref<4x2xf32>, %q: memref<4x16xi8>, %s: memref<4x2xf8E4M3FN>) {
  blockscale.kernel ins(%x, %a, %b : memref<4x32xf32>, f32, memref<4x2xf32>) outs(%q, %s : memref<4x16xi8>, memref<4x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x32xf32>, %la: f32, %lb: tensor<4x2xf32>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt global_amax(%la : f32) block_amax(%lb : tensor<4x2xf32>)
        : tensor<4x32xf32> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  }
  return
}

// -----

// One global scale a row is loaded for each row, also where rows of a band make
// tiles.
// CHECK-LABEL: func.func private @rows_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<300x64xbf16>, [[G:%.+]]: memref<300xf32>,
// CHECK:         scf.for
// CHECK-NOT:       memref.load [[G]]
// CHECK:           scf.for
// CHECK:             [[ROW:%.+]] = arith.addi
// CHECK:             memref.load [[G]][[[ROW]]] : memref<300xf32>
// CHECK:             vector.load [[X]][[[ROW]],
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @rows(%x: memref<300x64xbf16>, %g: memref<300xf32>, %q: memref<300x32xi8>, %s: memref<3x1x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<300x64xbf16>, memref<300xf32>) outs(%q, %s : memref<300x32xi8>, memref<3x1x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<300x64xbf16>, %lg: tensor<300xf32>, %lq: tensor<300x64xf4E2M1FN>, %ls: tensor<300x4xf8E4M3FN, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<300xf32>)
        : tensor<300x64xbf16> -> tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #swizzled>
    blockscale.yield %0, %1 : tensor<300x64xf4E2M1FN>, tensor<300x4xf8E4M3FN, #swizzled>
  }
  return
}

// -----

// How many rows there are is only known at run time: the operand must fit.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME:      [[X:%.+]]: memref<?x64xbf16>, [[G:%.+]]: memref<?xf32>, [[R:%.+]]: memref<?xf32>,
// CHECK:         [[ROWS:%.+]] = memref.dim [[X]]
// CHECK:         [[SIZE:%.+]] = memref.dim [[G]]
// CHECK:         arith.cmpi eq, [[SIZE]], [[ROWS]]
func.func @sizes(%x: memref<?x64xbf16>, %g: memref<?xf32>, %r: memref<?xf32>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x64xbf16>, memref<?xf32>) outs(%q, %s : memref<?x32xi8>, memref<?x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lg: tensor<?xf32>, %lq: tensor<?x64xf4E2M1FN>, %ls: tensor<?x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<?xf32>)
        : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  }
  return
}
