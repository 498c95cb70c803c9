// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// bf16: elements are compared two at a time by their magnitudes, NaN kept; the signs of
// maxima are any. The last pair is compared with itself turned, and the amax is the
// high element without its sign; elements become f32 by a shift (even) or a mask (odd).
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16(
// CHECK-NOT: fabs
// CHECK: %[[X:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: %[[W0:.+]] = llvm.extractelement %[[X]][%c0_i32
// CHECK: %[[P0:.+]] = llvm.bitcast %[[W0]] : i32 to vector<2xbf16>
// CHECK: %[[W1:.+]] = llvm.extractelement %[[X]][%c1_i32
// CHECK: %[[P1:.+]] = llvm.bitcast %[[W1]] : i32 to vector<2xbf16>
// CHECK: %[[W2:.+]] = llvm.extractelement %[[X]][%c2_i32
// CHECK: %[[P2:.+]] = llvm.bitcast %[[W2]] : i32 to vector<2xbf16>
// CHECK: %[[W3:.+]] = llvm.extractelement %[[X]][%c3_i32
// CHECK: %[[P3:.+]] = llvm.bitcast %[[W3]] : i32 to vector<2xbf16>
// CHECK: %[[W4:.+]] = llvm.extractelement %[[X]][%c4_i32
// CHECK: %[[P4:.+]] = llvm.bitcast %[[W4]] : i32 to vector<2xbf16>
// CHECK: %[[W5:.+]] = llvm.extractelement %[[X]][%c5_i32
// CHECK: %[[P5:.+]] = llvm.bitcast %[[W5]] : i32 to vector<2xbf16>
// CHECK: %[[W6:.+]] = llvm.extractelement %[[X]][%c6_i32
// CHECK: %[[P6:.+]] = llvm.bitcast %[[W6]] : i32 to vector<2xbf16>
// CHECK: %[[W7:.+]] = llvm.extractelement %[[X]][%c7_i32
// CHECK: %[[P7:.+]] = llvm.bitcast %[[W7]] : i32 to vector<2xbf16>
// CHECK: %[[M0:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[P0]], %[[P1]])
// CHECK: %[[M1:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[P2]], %[[P3]])
// CHECK: %[[M2:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[P4]], %[[P5]])
// CHECK: %[[M3:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[P6]], %[[P7]])
// CHECK: %[[M4:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[M0]], %[[M1]])
// CHECK: %[[M5:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[M2]], %[[M3]])
// CHECK: %[[M6:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[M4]], %[[M5]])
// CHECK: %[[TURNED:.+]] = llvm.shufflevector %[[M6]], %[[M6]] [1, 0] : vector<2xbf16>
// CHECK: %[[BOTH:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[M6]], %[[TURNED]])
// CHECK: %[[PAIR:.+]] = llvm.bitcast %[[BOTH]] : vector<2xbf16> to i32
// CHECK: %[[HIGH:.+]] = arith.andi %[[PAIR]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[HIGH]] : i32 to f32
// CHECK: arith.mulf %[[AMAX]], %{{.+}} : f32
// CHECK-NOT: fabs
// CHECK: %[[EVENBITS:.+]] = arith.shli %[[X]], %cst{{.*}} : vector<8xi32>
// CHECK: %[[ODDBITS:.+]] = arith.andi %[[X]], %cst{{.*}} : vector<8xi32>
// CHECK: %[[EVEN:.+]] = llvm.bitcast %[[EVENBITS]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[ODD:.+]] = llvm.bitcast %[[ODDBITS]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[EVENS:.+]] = arith.mulf %[[EVEN]], %{{.+}} : vector<8xf32>
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

// f32: two loads hold a block; the amax is taken over both, of magnitudes, NaN kept.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_f32_k16(
// CHECK: %[[A:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: %[[B:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: %[[AF:.+]] = llvm.bitcast %[[A]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[AE0:.+]] = llvm.extractelement %[[AF]][%c0_i32
// CHECK: %[[A0:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE0]]) : (f32) -> f32
// CHECK: %[[AE1:.+]] = llvm.extractelement %[[AF]][%c1_i32
// CHECK: %[[A1:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE1]]) : (f32) -> f32
// CHECK: %[[AE2:.+]] = llvm.extractelement %[[AF]][%c2_i32
// CHECK: %[[A2:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE2]]) : (f32) -> f32
// CHECK: %[[AE3:.+]] = llvm.extractelement %[[AF]][%c3_i32
// CHECK: %[[A3:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE3]]) : (f32) -> f32
// CHECK: %[[AE4:.+]] = llvm.extractelement %[[AF]][%c4_i32
// CHECK: %[[A4:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE4]]) : (f32) -> f32
// CHECK: %[[AE5:.+]] = llvm.extractelement %[[AF]][%c5_i32
// CHECK: %[[A5:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE5]]) : (f32) -> f32
// CHECK: %[[AE6:.+]] = llvm.extractelement %[[AF]][%c6_i32
// CHECK: %[[A6:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE6]]) : (f32) -> f32
// CHECK: %[[AE7:.+]] = llvm.extractelement %[[AF]][%c7_i32
// CHECK: %[[A7:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[AE7]]) : (f32) -> f32
// CHECK: %[[BF:.+]] = llvm.bitcast %[[B]] : vector<8xi32> to vector<8xf32>
// CHECK: %[[BE0:.+]] = llvm.extractelement %[[BF]][%c0_i32
// CHECK: %[[B0:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE0]]) : (f32) -> f32
// CHECK: %[[BE1:.+]] = llvm.extractelement %[[BF]][%c1_i32
// CHECK: %[[B1:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE1]]) : (f32) -> f32
// CHECK: %[[BE2:.+]] = llvm.extractelement %[[BF]][%c2_i32
// CHECK: %[[B2:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE2]]) : (f32) -> f32
// CHECK: %[[BE3:.+]] = llvm.extractelement %[[BF]][%c3_i32
// CHECK: %[[B3:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE3]]) : (f32) -> f32
// CHECK: %[[BE4:.+]] = llvm.extractelement %[[BF]][%c4_i32
// CHECK: %[[B4:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE4]]) : (f32) -> f32
// CHECK: %[[BE5:.+]] = llvm.extractelement %[[BF]][%c5_i32
// CHECK: %[[B5:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE5]]) : (f32) -> f32
// CHECK: %[[BE6:.+]] = llvm.extractelement %[[BF]][%c6_i32
// CHECK: %[[B6:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE6]]) : (f32) -> f32
// CHECK: %[[BE7:.+]] = llvm.extractelement %[[BF]][%c7_i32
// CHECK: %[[B7:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[BE7]]) : (f32) -> f32
// CHECK: %[[M0:.+]] = arith.maximumf %[[A0]], %[[A1]] : f32
// CHECK: %[[M1:.+]] = arith.maximumf %[[A2]], %[[A3]] : f32
// CHECK: %[[M2:.+]] = arith.maximumf %[[A4]], %[[A5]] : f32
// CHECK: %[[M3:.+]] = arith.maximumf %[[A6]], %[[A7]] : f32
// CHECK: %[[M4:.+]] = arith.maximumf %[[B0]], %[[B1]] : f32
// CHECK: %[[M5:.+]] = arith.maximumf %[[B2]], %[[B3]] : f32
// CHECK: %[[M6:.+]] = arith.maximumf %[[B4]], %[[B5]] : f32
// CHECK: %[[M7:.+]] = arith.maximumf %[[B6]], %[[B7]] : f32
// CHECK: %[[M8:.+]] = arith.maximumf %[[M0]], %[[M1]] : f32
// CHECK: %[[M9:.+]] = arith.maximumf %[[M2]], %[[M3]] : f32
// CHECK: %[[M10:.+]] = arith.maximumf %[[M4]], %[[M5]] : f32
// CHECK: %[[M11:.+]] = arith.maximumf %[[M6]], %[[M7]] : f32
// CHECK: %[[M12:.+]] = arith.maximumf %[[M8]], %[[M9]] : f32
// CHECK: %[[M13:.+]] = arith.maximumf %[[M10]], %[[M11]] : f32
// CHECK: %[[M14:.+]] = arith.maximumf %[[M12]], %[[M13]] : f32
// CHECK: arith.mulf %[[M14]], %{{.+}} : f32
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
