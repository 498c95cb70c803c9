// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse -split-input-file -verify-diagnostics | FileCheck %s

// Groups of rows with a grouped layout: an item is a row of tiles of a group, 3
// at most, or 128 rows of what no group covers. A group whose end is none
// is empty. A tile has one writer.
// CHECK-LABEL: func.func private @rows_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<200x64xf32>, [[OFFSETS:%.+]]: memref<2xi32>, [[G:%.+]]: memref<2xf32>, [[Q:%.+]]: memref<200x32xi8>, [[S:%.+]]: memref<3x32x4x4xf8E4M3FN>, [[BEGIN:%.+]]: index, [[END:%.+]]: index)
// CHECK-DAG:     [[C0:%.+]] = arith.constant 0 : index
// CHECK-DAG:     [[C1:%.+]] = arith.constant 1 : index
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK-DAG:     [[C3:%.+]] = arith.constant 3 : index
// CHECK-DAG:     [[C128:%.+]] = arith.constant 128 : index
// CHECK-DAG:     [[C200:%.+]] = arith.constant 200 : index
// CHECK:         [[LAST:%.+]] = arith.minsi [[END]], [[C3]]
// CHECK:         [[BAND:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<128x4xi8>
// CHECK:         scf.for [[ITEM:%.+]] = [[BEGIN]] to [[LAST]]
// CHECK:           scf.for [[GROUP:%.+]] = [[C0]] to [[C2]] step [[C1]] iter_args([[FIRST:%.+]] = [[C0]], [[TILES:%.+]] = [[C0]])
// CHECK:             [[LOADED:%.+]] = memref.load [[OFFSETS]][[[GROUP]]]
// CHECK:             arith.index_cast [[LOADED]]
// CHECK:             arith.cmpi sgt, {{%.+}}, [[C200]]
// CHECK:             [[INSIDE:%.+]] = arith.select
// CHECK:             arith.maxsi [[INSIDE]], [[FIRST]]
// CHECK:             arith.cmpi uge, [[ITEM]], [[TILES]]
// CHECK:             scf.if
// CHECK:               memref.load [[G]][[[GROUP]]]
// CHECK:               vector.load [[X]]
// CHECK:               vector.store {{%.+}}, [[BAND]]
// CHECK:               vector.store {{%.+}}, [[S]][[[ITEM]],
// CHECK:         memref.dealloc [[BAND]]
// CHECK:         [[REST:%.+]] = arith.maxsi [[BEGIN]], [[C3]]
// CHECK:         scf.for {{%.+}} = [[REST]] to [[END]]
// CHECK:           scf.for
// CHECK:             memref.load [[OFFSETS]]
// CHECK:           vector.store {{%.+}}, [[Q]]
// CHECK:           vector.store {{%.+}}, [[S]]
// CHECK-LABEL: func.func @rows(
// CHECK-DAG:     [[ITEMS:%.+]] = arith.constant 5 : index
// CHECK:         call @rows_quantize_0({{.*}}, [[ITEMS]])
#rows = #blockscale.layout<swizzle_128x4, groups = 2, dim = 0>
func.func @rows(%x: memref<200x64xf32>, %o: memref<2xi32>, %g: memref<2xf32>, %q: memref<200x32xi8>, %s: memref<3x32x4x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %o, %g : memref<200x64xf32>, memref<2xi32>, memref<2xf32>) outs(%q, %s : memref<200x32xi8>, memref<3x32x4x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<200x64xf32>, %lo: tensor<2xi32>, %lg: tensor<2xf32>, %lq: tensor<200x64xf4E2M1FN>, %ls: tensor<200x4xf8E4M3FN, #rows>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<2xf32>) offsets(%lo : tensor<2xi32>)
        : tensor<200x64xf32> -> tensor<200x64xf4E2M1FN>, tensor<200x4xf8E4M3FN, #rows>
    blockscale.yield %0, %1 : tensor<200x64xf4E2M1FN>, tensor<200x4xf8E4M3FN, #rows>
  }
  return
}

// -----

// Groups of columns with linear scales: an item is 16 rows, whose segments have
// the factors of their groups. Ends count whole blocks.
// CHECK-LABEL: func.func private @columns_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<64x256xf32>, [[OFFSETS:%.+]]: memref<2xi32>, [[G:%.+]]: memref<2xf32>, [[Q:%.+]]: memref<64x128xi8>, [[S:%.+]]: memref<64x16xf8E4M3FN>,
// CHECK-DAG:     [[C16:%.+]] = arith.constant 16 : index
// CHECK:         scf.for
// CHECK:           scf.for [[ROW:%[a-z0-9]+]] =
// CHECK:             scf.for [[GROUP:%[a-z0-9]+]] =
// CHECK:               memref.load [[OFFSETS]][[[GROUP]]]
// CHECK:               [[BLOCKS:%.+]] = arith.divui {{%.+}}, [[C16]]
// CHECK:               memref.load [[G]][[[GROUP]]]
// CHECK:               vector.load [[X]][[[ROW]],
// CHECK:               vector.store {{%.+}}, [[S]][[[ROW]],
func.func @columns(%x: memref<64x256xf32>, %o: memref<2xi32>, %g: memref<2xf32>, %q: memref<64x128xi8>, %s: memref<64x16xf8E4M3FN>) {
  blockscale.kernel ins(%x, %o, %g : memref<64x256xf32>, memref<2xi32>, memref<2xf32>) outs(%q, %s : memref<64x128xi8>, memref<64x16xf8E4M3FN>) {
  ^bb0(%lx: tensor<64x256xf32>, %lo: tensor<2xi32>, %lg: tensor<2xf32>, %lq: tensor<64x256xf4E2M1FN>, %ls: tensor<64x16xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<2xf32>) offsets(%lo : tensor<2xi32>) group_dim 1
        : tensor<64x256xf32> -> tensor<64x256xf4E2M1FN>, tensor<64x16xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<64x256xf4E2M1FN>, tensor<64x16xf8E4M3FN>
  }
  return
}

// -----

// The layout has a group an offset; where the type of the offsets does not tell,
// the call does.
// CHECK-LABEL: func.func @count(
// CHECK-SAME:      {{%.+}}: memref<128x64xf32>, [[OFFSETS:%.+]]: memref<?xi32>,
// CHECK-DAG:     [[C2:%.+]] = arith.constant 2 : index
// CHECK:         [[COUNT:%.+]] = memref.dim [[OFFSETS]]
// CHECK:         arith.cmpi eq, [[COUNT]], [[C2]]
#columns = #blockscale.layout<swizzle_128x4, groups = 2, dim = 1>
func.func @count(%x: memref<128x64xf32>, %o: memref<?xi32>, %q: memref<64x128xf8E4M3FN>, %s: memref<2x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %o : memref<128x64xf32>, memref<?xi32>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<2x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<128x64xf32>, %lo: tensor<?xi32>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU, #columns>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed offsets(%lo : tensor<?xi32>)
        : tensor<128x64xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #columns>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #columns>
  }
  return
}

// -----

// Tiles that groups share have no one writer where blocks have several rows.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @shared_tiles(%x: memref<128x64xf32>, %o: memref<2xi32>, %q: memref<64x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %o : memref<128x64xf32>, memref<2xi32>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<128x64xf32>, %lo: tensor<2xi32>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU, #swizzled>):
    // expected-error@+1 {{'blockscale.quantize' op expected groups of blocks of several rows to have linear scales, or tiles of scales of each group alone, but got 'tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>'}}
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed offsets(%lo : tensor<2xi32>)
        : tensor<128x64xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #swizzled>
  }
  return
}
