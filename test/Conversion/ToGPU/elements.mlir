// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// bf16: the amax of 16 elements is taken on pairs, NaN kept, then of the last
// pair in f32; elements become f32 by a shift (even) or a mask (odd).
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16(
// CHECK: %[[X:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: %[[B:.+]] = llvm.bitcast %[[X]] : vector<8xi32> to vector<16xbf16>
// CHECK: %[[M16:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[B]]) : (vector<16xbf16>) -> vector<16xbf16>
// CHECK: %[[L8:.+]] = llvm.shufflevector %[[M16]], %[[M16]] [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: %[[H8:.+]] = llvm.shufflevector %[[M16]], %[[M16]] [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: %[[M8:.+]] = arith.maximumf %[[L8]], %[[H8]] : vector<8xbf16>
// CHECK: %[[M4:.+]] = arith.maximumf %{{.+}}, %{{.+}} : vector<4xbf16>
// CHECK: %[[M2:.+]] = arith.maximumf %{{.+}}, %{{.+}} : vector<2xbf16>
// CHECK: %[[PAIR:.+]] = llvm.bitcast %[[M2]] : vector<2xbf16> to i32
// CHECK: %[[LOWBITS:.+]] = arith.shli %[[PAIR]], %c16_i32
// CHECK: %[[LOW:.+]] = llvm.bitcast %[[LOWBITS]] : i32 to f32
// CHECK: %[[HIGHBITS:.+]] = arith.andi %[[PAIR]], %c-65536_i32
// CHECK: %[[HIGH:.+]] = llvm.bitcast %[[HIGHBITS]] : i32 to f32
// CHECK: arith.maximumf %[[LOW]], %[[HIGH]] : f32
// CHECK: %[[EVENBITS:.+]] = arith.shli %[[X]], %cst{{.*}} : vector<8xi32>
// CHECK: %[[ODDBITS:.+]] = arith.andi %[[X]], %cst{{.*}} : vector<8xi32>
// CHECK: %[[EVEN:.+]] = llvm.bitcast %[[EVENBITS]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[EVENS:.+]] = arith.mulf %[[EVEN]], %{{.+}} : vector<8xf32>
// CHECK: %[[ODD:.+]] = llvm.bitcast %[[ODDBITS]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[ODDS:.+]] = arith.mulf %[[ODD]], %{{.+}} : vector<8xf32>
// CHECK: %[[E0:.+]] = llvm.extractelement %[[EVENS]][%c0_i32
// CHECK: %[[E1:.+]] = llvm.extractelement %[[ODDS]][%c0_i32
// CHECK: %[[E2:.+]] = llvm.extractelement %[[EVENS]][%c1_i32
// CHECK: %[[E3:.+]] = llvm.extractelement %[[ODDS]][%c1_i32
// The first source of cvt goes to the high half.
// CHECK: llvm.inline_asm {{.*}}"{ .reg .b8 b0, b1, b2, b3; cvt.rn.satfinite.e2m1x2.f32 b0, $2, $1; cvt.rn.satfinite.e2m1x2.f32 b1, $4, $3;
// CHECK-SAME: mov.b32 $0, {b0, b1, b2, b3}; }", "=r,f,f,f,f,f,f,f,f" %[[E0]], %[[E1]], %[[E2]], %[[E3]],
func.func @bf16(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// f32: two loads hold a block; the amax is taken over both.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_f32_k16(
// CHECK: %[[A:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: %[[B:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: %[[AF:.+]] = llvm.bitcast %[[A]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[AM:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AF]])
// CHECK: %[[BF:.+]] = llvm.bitcast %[[B]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[BM:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BF]])
// CHECK: arith.maximumf %[[AM]], %[[BM]] : vector<8xf32>
// CHECK: arith.maximumf %{{.+}}, %{{.+}} : vector<4xf32>
// CHECK: arith.maximumf %{{.+}}, %{{.+}} : vector<2xf32>
// CHECK: arith.maximumf %{{.+}}, %{{.+}} : vector<1xf32>
// CHECK: arith.mulf %[[AF]], %{{.+}} : vector<8xf32>
// CHECK: arith.mulf %[[BF]], %{{.+}} : vector<8xf32>
func.func @f32(%x: memref<?x16xf32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xf32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xf32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x16xf32> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}
