// Products of order chain add as tensor cores do, those of Hopper unless an option says otherwise.
// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu=tensor-cores=ampere -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: not blockscale-opt %s -blockscale-lower-kernels-to-cpu=tensor-cores=volta 2>&1 | FileCheck %s --check-prefix=VOLTA
// VOLTA: for the --tensor-cores option: Cannot find option named 'volta'!

// Products of a fused addition, the bits by which their significands move, and the least exponent.
// CHECK-LABEL: func.func private @plain_scaled_mm_0(
// HOPPER-DAG:    [[PRODUCTS:%.+]] = arith.constant 16 : index
// HOPPER-DAG:    [[LEFT:%.+]] = arith.constant dense<11> : vector<16xi32>
// HOPPER-DAG:    [[LEAST:%.+]] = arith.constant dense<-133> : vector<16xi32>
// AMPERE-DAG:    [[PRODUCTS:%.+]] = arith.constant 8 : index
// AMPERE-DAG:    [[LEFT:%.+]] = arith.constant dense<10> : vector<16xi32>
// AMPERE-DAG:    [[LEAST:%.+]] = arith.constant dense<-132> : vector<16xi32>
// Accumulators are carried from addition to addition. The largest exponent of their terms counts,
// of which some are special.
// CHECK:         scf.for {{.*}} step [[PRODUCTS]] iter_args([[SUMS:%.+]] = {{%.+}}) -> (vector<16xi32>)
// CHECK:           [[FIRST:%.+]] = arith.maxsi {{%.+}}, [[LEAST]]
// CHECK:           [[FINITE:%.+]] = arith.cmpi slt,
// CHECK:           arith.shli {{%.+}}, [[LEFT]]
// CHECK:           [[ALL:%.+]] = vector.reduction <and>, [[FINITE]]
// CHECK:           [[NEXT:%.+]] = scf.if [[ALL]]
// CHECK:           else
// CHECK:             arith.select [[FINITE]]
// CHECK:           scf.yield [[NEXT]]
func.func @plain(%a: memref<8x64xbf16>, %b: memref<16x64xbf16>, %y: memref<8x16xf32>) {
  blockscale.kernel ins(%a, %b : memref<8x64xbf16>, memref<16x64xbf16>) outs(%y : memref<8x16xf32>) {
  ^bb0(%x: tensor<8x64xbf16>, %w: tensor<16x64xbf16>, %into: tensor<8x16xf32>):
    %0 = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] order chain
        : tensor<8x64xbf16>, tensor<16x64xbf16> -> tensor<8x16xf32>
    blockscale.yield %0 : tensor<8x16xf32>
  }
  return
}

// Free order adds in f32 and f64, of any type of words.
// CHECK-LABEL: func.func private @free_scaled_mm_0(
// CHECK-NOT:     vector.reduction
// CHECK:         return
func.func @free(%a: memref<8x64xbf16>, %b: memref<16x64xbf16>, %y: memref<8x16xf32>) {
  blockscale.kernel ins(%a, %b : memref<8x64xbf16>, memref<16x64xbf16>) outs(%y : memref<8x16xf32>) {
  ^bb0(%x: tensor<8x64xbf16>, %w: tensor<16x64xbf16>, %into: tensor<8x16xf32>):
    %0 = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16]
        : tensor<8x64xbf16>, tensor<16x64xbf16> -> tensor<8x16xf32>
    blockscale.yield %0 : tensor<8x16xf32>
  }
  return
}
