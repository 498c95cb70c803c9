// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,SM80 --implicit-check-not=nvvm.convert --implicit-check-not=inline_asm
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_89 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,FP8
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,FP8

// Conversions of chips without their cvt. Loads are of 16 bytes.

// E2M1: the bits of |x| + (2^23 - 2) count codes, those up to 2 below 2^23, where f32 is
// spaced by 1/2 as they are, and others above, where it is spaced by 1. Above 4 the bits
// of |x| / 2 + 2^23 do, which are the lesser ones there. The least of both and of the
// bits of code 7 is taken, as NaN is above. One subtraction takes away what the bits of
// eight elements are besides codes.
// CHECK-LABEL: gpu.func @quantize_e2m1_rceil_bf16_k32_sm
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG: %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK-DAG: %[[TOPBITS:.+]] = arith.constant -2004318072 : i32
// CHECK-DAG: %[[SIXTEEN:.+]] = arith.constant 16 : i32
// CHECK-DAG: %[[HALF:.+]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[BELOWFOUR:.+]] = arith.constant 0x4AFFFFFC : f32
// CHECK-DAG: %[[ABOVEFOUR:.+]] = arith.constant 0x4B000000 : f32
// CHECK-DAG: %[[SEVEN:.+]] = arith.constant 1258291203 : i32
// CHECK-DAG: %[[SURPLUS:.+]] = arith.constant -1229210692 : i32
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// The amax: sm_80 takes magnitudes before it compares them, also of the last pair.
// FP8-COUNT-15: llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
// FP8: %[[TURNED:.+]] = llvm.shufflevector %[[LAST:.+]], %[[LAST]] [1, 0] : vector<2xbf16>
// FP8: %[[BOTH:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[LAST]], %[[TURNED]])
// SM80-COUNT-16: llvm.call_intrinsic "llvm.fabs"(%{{.+}}) : (vector<2xbf16>) -> vector<2xbf16>
// SM80-COUNT-15: arith.maximumf %{{.+}}, %{{.+}} : vector<2xbf16>
// SM80: %[[TURNED:.+]] = llvm.shufflevector %[[LAST:.+]], %[[LAST]] [1, 0] : vector<2xbf16>
// SM80: %[[FIRST:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[LAST]])
// SM80: %[[SECOND:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[TURNED]])
// SM80: %[[BOTH:.+]] = arith.maximumf %[[FIRST]], %[[SECOND]] : vector<2xbf16>
// CHECK: %[[PAIR:.+]] = llvm.bitcast %[[BOTH]] : vector<2xbf16> to i32
// CHECK: arith.andi %[[PAIR]], %c2147418112_i32 : i32
// The byte of rceil: the exponent of |x| + (2^23 - 1), of subnormals 2^22 - 1.
// CHECK: %[[ISSMALL:.+]] = arith.cmpi ult, %[[X:.+]], %c8388608_i32 : i32
// CHECK: %[[UP:.+]] = arith.select %[[ISSMALL]], %c4194303_i32, %c8388607_i32 : i32
// CHECK: %[[SUM:.+]] = arith.addi %[[X]], %[[UP]] : i32
// CHECK: %[[BYTE:.+]] = arith.shrui %[[SUM]], %c23_i32 : i32
// CHECK: arith.minui %[[BYTE]], %c255_i32 : i32
// CHECK: arith.trunci %{{.+}} : i32 to i16
// The last element is the highest.
// CHECK: %[[A7:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[E7:.+]]) : (f32) -> f32
// CHECK: %[[HALF7:.+]] = arith.mulf %[[A7]], %[[HALF]] fastmath<contract> : f32
// CHECK: %[[LOW7:.+]] = arith.addf %[[A7]], %[[BELOWFOUR]] fastmath<contract> : f32
// CHECK: %[[LOWBITS7:.+]] = llvm.bitcast %[[LOW7]] : f32 to i32
// CHECK: %[[HIGH7:.+]] = arith.addf %[[HALF7]], %[[ABOVEFOUR]] fastmath<contract> : f32
// CHECK: %[[HIGHBITS7:.+]] = llvm.bitcast %[[HIGH7]] : f32 to i32
// CHECK: %[[LESS7:.+]] = arith.minui %[[LOWBITS7]], %[[HIGHBITS7]] : i32
// CHECK: %[[C7:.+]] = arith.minui %[[LESS7]], %[[SEVEN]] : i32
// CHECK: %[[B7:.+]] = llvm.bitcast %[[E7]] : f32 to i32
// CHECK: %[[S7:.+]] = llvm.intr.fshl(%[[ZERO]], %[[B7]], %[[FOUR]])
// CHECK: llvm.call_intrinsic "llvm.fabs"(%[[E6:.+]]) : (f32) -> f32
// CHECK: %[[C6:.+]] = arith.minui %{{.+}}, %[[SEVEN]] : i32
// CHECK: %[[SHIFTED7:.+]] = arith.muli %[[C7]], %[[SIXTEEN]] : i32
// CHECK: arith.addi %[[SHIFTED7]], %[[C6]] : i32
// CHECK: %[[B6:.+]] = llvm.bitcast %[[E6]] : f32 to i32
// CHECK: llvm.intr.fshl(%[[S7]], %[[B6]], %[[FOUR]])
// CHECK-COUNT-4: llvm.intr.fshl(
// CHECK: %[[SUM1:.+]] = arith.addi %{{.+}}, %{{.+}} : i32
// CHECK: %[[S1:.+]] = llvm.intr.fshl(
// CHECK: %[[A0:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[E0:.+]]) : (f32) -> f32
// CHECK: %[[HALF0:.+]] = arith.mulf %[[A0]], %[[HALF]] fastmath<contract> : f32
// CHECK: %[[LOW0:.+]] = arith.addf %[[A0]], %[[BELOWFOUR]] fastmath<contract> : f32
// CHECK: %[[LOWBITS0:.+]] = llvm.bitcast %[[LOW0]] : f32 to i32
// CHECK: %[[HIGH0:.+]] = arith.addf %[[HALF0]], %[[ABOVEFOUR]] fastmath<contract> : f32
// CHECK: %[[HIGHBITS0:.+]] = llvm.bitcast %[[HIGH0]] : f32 to i32
// CHECK: %[[LESS0:.+]] = arith.minui %[[LOWBITS0]], %[[HIGHBITS0]] : i32
// CHECK: %[[C0:.+]] = arith.minui %[[LESS0]], %[[SEVEN]] : i32
// CHECK: %[[SHIFTED1:.+]] = arith.muli %[[SUM1]], %[[SIXTEEN]] : i32
// CHECK: %[[SUM0:.+]] = arith.addi %[[SHIFTED1]], %[[C0]] : i32
// CHECK: %[[B0:.+]] = llvm.bitcast %[[E0]] : f32 to i32
// CHECK: %[[SIGNS:.+]] = llvm.intr.fshl(%[[S1]], %[[B0]], %[[FOUR]])
// CHECK: %[[CODES:.+]] = arith.subi %[[SUM0]], %[[SURPLUS]] : i32
// CHECK: %[[MASKED:.+]] = arith.andi %[[SIGNS]], %[[TOPBITS]] : i32
// CHECK: arith.ori %[[CODES]], %[[MASKED]] : i32
// The other three words.
// CHECK: arith.subi %{{.+}}, %[[SURPLUS]] : i32
// CHECK: arith.andi %{{.+}}, %[[TOPBITS]] : i32
// CHECK: arith.subi %{{.+}}, %[[SURPLUS]] : i32
// CHECK: arith.andi %{{.+}}, %[[TOPBITS]] : i32
// CHECK: arith.subi %{{.+}}, %[[SURPLUS]] : i32
// CHECK: arith.andi %{{.+}}, %[[TOPBITS]] : i32
// CHECK-NOT: %[[TOPBITS]]
// CHECK-NOT: arith.subi
// CHECK: gpu.return
func.func @e2m1(%x: memref<?x32xbf16>, %q: memref<?x16xi8>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x16xi8>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// E4M3 on sm_80: with p the power of two of |x|, at least 2^-6, the sum of |x| and
// (2^20 + 19) p is rounded to codes, to which the exponent above them adds those below
// p. NaN stays, as what alone has the top bit, and gets the lowest one and no sign.
// Codes and signs are shifted together. From sm_89 on it is cvt.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k32_sm
// SM80-DAG: %[[LARGEST:.+]] = arith.constant 4.480000e+02 : f32
// SM80-DAG: %[[SMALLEST:.+]] = arith.constant 1.562500e-02 : f32
// SM80-DAG: %[[ANCHOR:.+]] = arith.constant 0x49800098 : f32
// SM80-DAG: %[[INFINITY:.+]] = arith.constant 2139095040 : i32
// SM80-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
// SM80-DAG: %[[EIGHT:.+]] = arith.constant 8 : i32
// SM80-DAG: %[[ALLBITS:.+]] = arith.constant -1 : i32
// SM80-DAG: %[[LOWBITS:.+]] = arith.constant 16843009 : i32
// SM80-DAG: %[[TOPBITS:.+]] = arith.constant -2139062144 : i32
// SM80-DAG: %[[OTHERBITS:.+]] = arith.constant 2139062143 : i32
// The first element is the lowest.
// SM80: %[[A0:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[E0:.+]]) : (f32) -> f32
// SM80: %[[M0:.+]] = arith.minimumf %[[A0]], %[[LARGEST]] : f32
// SM80: %[[LEAST:.+]] = llvm.call_intrinsic "llvm.maxnum"(%[[M0]], %[[SMALLEST]])
// SM80: %[[LEASTBITS:.+]] = llvm.bitcast %[[LEAST]] : f32 to i32
// SM80: %[[POWERBITS:.+]] = arith.andi %[[LEASTBITS]], %[[INFINITY]] : i32
// SM80: %[[POWER:.+]] = llvm.bitcast %[[POWERBITS]] : i32 to f32
// SM80: %[[ANCHORED:.+]] = arith.mulf %[[POWER]], %[[ANCHOR]] fastmath<contract> : f32
// SM80: %[[ROUNDED:.+]] = arith.addf %[[ANCHORED]], %[[M0]] fastmath<contract> : f32
// SM80: %[[R0:.+]] = llvm.bitcast %[[ROUNDED]] : f32 to i32
// SM80: %[[BELOW:.+]] = arith.shrui %[[R0]], %c20_i32 : i32
// SM80: %[[C0:.+]] = arith.addi %[[R0]], %[[BELOW]] : i32
// SM80: %[[H0:.+]] = llvm.intr.fshr(%[[C0]], %[[ZERO]], %[[EIGHT]])
// SM80: llvm.call_intrinsic "llvm.fabs"(%[[E1:.+]]) : (f32) -> f32
// SM80: llvm.intr.fshr(%{{.+}}, %[[H0]], %[[EIGHT]])
// SM80: llvm.intr.fshr(
// SM80: %[[CODES:.+]] = llvm.intr.fshr(
// SM80: %[[B3:.+]] = llvm.bitcast %{{.+}} : f32 to i32
// SM80: %[[S3:.+]] = llvm.intr.fshl(%[[ZERO]], %[[B3]], %[[EIGHT]])
// SM80: %[[S2:.+]] = llvm.intr.fshl(%[[S3]], %{{.+}}, %[[EIGHT]])
// SM80: %[[B1:.+]] = llvm.bitcast %[[E1]] : f32 to i32
// SM80: %[[S1:.+]] = llvm.intr.fshl(%[[S2]], %[[B1]], %[[EIGHT]])
// SM80: %[[B0:.+]] = llvm.bitcast %[[E0]] : f32 to i32
// SM80: %[[SIGNS:.+]] = llvm.intr.fshl(%[[S1]], %[[B0]], %[[EIGHT]])
// SM80: %[[TOPS:.+]] = arith.shrui %[[CODES]], %c7_i32 : i32
// SM80: %[[NANS:.+]] = arith.andi %[[TOPS]], %[[LOWBITS]] : i32
// SM80: %[[ALL:.+]] = arith.ori %[[CODES]], %[[NANS]] : i32
// SM80: %[[MASKED:.+]] = arith.andi %[[SIGNS]], %[[TOPBITS]] : i32
// SM80: %[[OTHERS:.+]] = arith.xori %[[ALL]], %[[ALLBITS]] : i32
// SM80: %[[KEPT:.+]] = arith.andi %[[MASKED]], %[[OTHERS]] : i32
// SM80: %[[MAGNITUDES:.+]] = arith.andi %[[ALL]], %[[OTHERBITS]] : i32
// SM80: arith.ori %[[MAGNITUDES]], %[[KEPT]] : i32
// The other seven words.
// SM80-COUNT-7: arith.andi %{{.+}}, %[[OTHERBITS]] : i32
// SM80-NOT: %[[OTHERBITS]]
// FP8-NOT: fastmath
// FP8-COUNT-16: nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E4M3FN)
// CHECK: gpu.return
func.func @e4m3(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// torchao's scale is not below 2^-6: a sum with 2^20 times it rounds it to E4M3, and is
// both what elements are divided by and, shifted and biased anew, the byte. NaN has all
// bits set, and the largest code.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_sm
// SM80-DAG: %[[POWER:.+]] = arith.constant 0x49800000 : f32
// SM80-DAG: %[[MINUS:.+]] = arith.constant 0xC9800000 : f32
// SM80-DAG: %[[LARGEST:.+]] = arith.constant 4.480000e+02 : f32
// SM80-DAG: %[[FLOOR:.+]] = arith.constant 1.562500e-02 : f32
// SM80: %[[SCALE:.+]] = arith.maximumf %{{.+}}, %[[FLOOR]] : f32
// SM80: %[[LIMITED:.+]] = arith.minimumf %[[SCALE]], %[[LARGEST]] : f32
// SM80: %[[MOVED:.+]] = llvm.intr.fma(%[[LIMITED]], %[[MINUS]], %[[LIMITED]])
// SM80: %[[ROUNDED:.+]] = llvm.intr.fma(%[[LIMITED]], %[[POWER]], %[[MOVED]])
// SM80: %[[BITS:.+]] = llvm.bitcast %[[ROUNDED]] : f32 to i32
// SM80: %[[TOP:.+]] = arith.shrui %[[BITS]], %c20_i32 : i32
// SM80: %[[CODE:.+]] = arith.subi %[[TOP]], %c960_i32 : i32
// SM80: %[[BYTE:.+]] = arith.minui %[[CODE]], %c127_i32 : i32
// SM80: %[[UPPER:.+]] = arith.shli %[[BYTE]], %c8_i32 : i32
// SM80: %[[BOTH:.+]] = arith.ori %[[UPPER]], %[[BYTE]] : i32
// SM80: %[[CODES:.+]] = arith.trunci %[[BOTH]] : i32 to i16
// SM80: nvvm.rcp.approx.ftz.f %[[ROUNDED]] : f32
// FP8: %[[CODES:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE:.+]], %[[SCALE]] {{.+}} : i16(f8E4M3FN)
// FP8: %[[FIELDS:.+]] = llvm.bitcast %[[CODES]] : i16 to vector<2xi8>
// FP8: nvvm.convert.f8x2.to.f16x2 %[[FIELDS]]
// The byte of the missing second block is 0.
// CHECK: arith.andi %[[CODES]], %c255_i16 : i16
// CHECK: gpu.return
func.func @scale(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// Other scales may be below it: the E4M3 byte comes back as its magnitude at the place of f32's, times 2^120.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_bf16_k16_sm
// SM80-DAG: %[[REBIAS:.+]] = arith.constant 1.32922{{.+}}E+36 : f32
// SM80: %[[SIGN:.+]] = arith.andi %{{.+}}, %c128_i32 : i32
// SM80: %[[TOP:.+]] = arith.shli %[[SIGN]], %c24_i32 : i32
// SM80: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c127_i32 : i32
// SM80: %[[HIGH:.+]] = arith.shli %[[MAGNITUDE]], %c20_i32 : i32
// SM80: %[[BITS:.+]] = arith.ori %[[HIGH]], %[[TOP]] : i32
// SM80: %[[SMALL:.+]] = arith.bitcast %[[BITS]] : i32 to f32
// SM80: %[[PRODUCT:.+]] = arith.mulf %[[SMALL]], %[[REBIAS]] : f32
// SM80: %[[VALUE:.+]] = arith.bitcast %[[PRODUCT]] : f32 to i32
// SM80: %[[ISNUMBER:.+]] = arith.cmpi ult, %[[MAGNITUDE]], %c127_i32 : i32
// SM80: arith.select %[[ISNUMBER]], %[[VALUE]], %c2143289344_i32 : i32
// FP8: nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E4M3FN)
// FP8: nvvm.convert.f8x2.to.f16x2
// CHECK: gpu.return
func.func @decoded(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}
