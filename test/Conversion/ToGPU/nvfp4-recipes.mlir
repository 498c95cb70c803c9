// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=LOOP < %t.mlir

// From the amax of a block to its scale, and from the scale to what elements are
// multiplied by: the operations of numerics/BlockScale.h, in their order.
// Kernels of torchao and mslk have no division, and one loop if there is a
// global scale.

// e4m3(max(amax / 6, 2^-6)), 1 / s. The amax keeps NaN, and loses the sign that its
// maxima give it. Both quotients are those of numerics/Division.h. The byte of the
// block that a pair lacks is 0.
// LOOP-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16(
// LOOP-NOT: {{arith.divf|scf.while|f64}}
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16(
// CHECK-DAG: %[[HIGH:.+]] = arith.constant 0.166666657 : f32
// CHECK-DAG: %[[LOW:.+]] = arith.constant 9.93410775E-9 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 1.562500e-02 : f32
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
// CHECK: %[[MAXIMA:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
// CHECK: %[[TURNED:.+]] = llvm.shufflevector %[[MAXIMA]], %[[MAXIMA]] [1, 0]
// CHECK: %[[MAXIMUM:.+]] = llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"(%[[MAXIMA]], %[[TURNED]])
// CHECK: %[[SIGNED:.+]] = llvm.bitcast %[[MAXIMUM]] : vector<2xbf16> to i32
// CHECK: %[[MAGNITUDE:.+]] = arith.andi %[[SIGNED]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[MAGNITUDE]] : i32 to f32
// CHECK: %[[REST:.+]] = arith.mulf %[[AMAX]], %[[LOW]] : f32
// CHECK: %[[SIXTH:.+]] = llvm.intr.fma(%[[AMAX]], %[[HIGH]], %[[REST]])
// CHECK: %[[SCALE:.+]] = arith.maximumf %[[SIXTH]], %[[FLOOR]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[NEAR:.+]] = nvvm.rcp.approx.ftz.f %[[S]] : f32
// CHECK: %[[MINUS:.+]] = arith.negf %[[S]] : f32
// CHECK: %[[ERROR:.+]] = llvm.intr.fma(%[[MINUS]], %[[NEAR]], %[[ONE]])
// CHECK: %[[FACTOR:.+]] = llvm.intr.fma(%[[ERROR]], %[[NEAR]], %[[NEAR]])
// CHECK: %[[BYTE:.+]] = arith.andi %[[PAIR]], %c255_i16 : i16
// CHECK: llvm.insertelement %[[FACTOR]]
// CHECK: arith.trunci %[[BYTE]] : i16 to i8
// CHECK: gpu.return
func.func @torchao(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// e4m3(max((amax / 6) / g, 2^-6)), (1 / g) / s. Where g is 2^-80 to 2^80, and not
// all bits of its mantissa are set, quotients are those of numerics/Division.h, and
// saturate before they overflow. Elsewhere one loop over the blocks takes both, in
// f64: a quotient whose rest is NaN is the dividend times the approximate reciprocal.
// LOOP-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_scaled(
// LOOP-NOT: {{arith.divf|scf.while}}
// LOOP: scf.while
// LOOP-NOT: {{arith.divf|scf.while}}
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_scaled(
// CHECK-DAG: %[[SIXTHF64:.+]] = arith.constant 0.16666666666666666 : f64
// CHECK-DAG: %[[ONEF64:.+]] = arith.constant 1.000000e+00 : f64
// CHECK-DAG: %[[HIGH:.+]] = arith.constant 0.166666657 : f32
// CHECK-DAG: %[[LOW:.+]] = arith.constant 9.93410775E-9 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 1.562500e-02 : f32
// CHECK-DAG: %[[MUCH:.+]] = arith.constant 1.024000e+03 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[LARGEST:.+]] = arith.mulf %[[G]], %[[MUCH]] : f32
// CHECK: %[[NEARG:.+]] = nvvm.rcp.approx.ftz.f %[[G]] : f32
// CHECK: %[[MINUSG:.+]] = arith.negf %[[G]] : f32
// CHECK: %[[ERRORG:.+]] = llvm.intr.fma(%[[MINUSG]], %[[NEARG]], %[[ONE]])
// CHECK: %[[INVERSE:.+]] = llvm.intr.fma(%[[ERRORG]], %[[NEARG]], %[[NEARG]])
// CHECK: %[[BITS:.+]] = llvm.bitcast %[[G]] : f32 to i32
// CHECK: %[[DISTANCE:.+]] = arith.subi %[[BITS]], %c394264576_i32 : i32
// CHECK: %[[WITHIN:.+]] = arith.cmpi ult, %[[DISTANCE]], %c1342177280_i32 : i32
// CHECK: %[[MANTISSA:.+]] = arith.andi %[[BITS]], %c8388607_i32 : i32
// CHECK: %[[NOTONES:.+]] = arith.cmpi ne, %[[MANTISSA]], %c8388607_i32 : i32
// CHECK: %[[USUAL:.+]] = arith.andi %[[NOTONES]], %[[WITHIN]] : i1
// CHECK: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[MAGNITUDE]] : i32 to f32
// CHECK: %[[RESULT:.+]]:2 = scf.if %[[USUAL]] -> (i16, f32) {
// CHECK: %[[REST:.+]] = arith.mulf %[[AMAX]], %[[LOW]] : f32
// CHECK: %[[SIXTH:.+]] = llvm.intr.fma(%[[AMAX]], %[[HIGH]], %[[REST]])
// CHECK: %[[BOUNDED:.+]] = arith.minimumf %[[SIXTH]], %[[LARGEST]] : f32
// CHECK: %[[Q0:.+]] = arith.mulf %[[BOUNDED]], %[[INVERSE]] : f32
// CHECK: %[[R0:.+]] = llvm.intr.fma(%[[MINUSG]], %[[Q0]], %[[BOUNDED]])
// CHECK: %[[QUOTIENT:.+]] = llvm.intr.fma(%[[R0]], %[[INVERSE]], %[[Q0]])
// CHECK: %[[SCALE:.+]] = arith.maximumf %[[QUOTIENT]], %[[FLOOR]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[NEARS:.+]] = nvvm.rcp.approx.ftz.f %[[S]] : f32
// CHECK: %[[MINUSS:.+]] = arith.negf %[[S]] : f32
// CHECK: %[[ERRORS:.+]] = llvm.intr.fma(%[[MINUSS]], %[[NEARS]], %[[ONE]])
// CHECK: %[[INVERSES:.+]] = llvm.intr.fma(%[[ERRORS]], %[[NEARS]], %[[NEARS]])
// CHECK: %[[F0:.+]] = arith.mulf %[[INVERSE]], %[[INVERSES]] : f32
// CHECK: %[[RESTS:.+]] = llvm.intr.fma(%[[MINUSS]], %[[F0]], %[[INVERSE]])
// CHECK: %[[F:.+]] = llvm.intr.fma(%[[RESTS]], %[[INVERSES]], %[[F0]])
// CHECK: %[[BYTE:.+]] = arith.andi %[[PAIR]], %c255_i16 : i16
// CHECK: scf.yield %[[BYTE]], %[[F]] : i16, f32
// CHECK: } else {
// CHECK: %[[G64:.+]] = arith.extf %[[G]] : f32 to f64
// CHECK: %[[RENC:.+]] = nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[G64]] : f64) -> f64
// CHECK: %[[MINUSENC:.+]] = arith.negf %[[G64]] : f64
// CHECK: %[[EENC:.+]] = llvm.intr.fma(%[[MINUSENC]], %[[RENC]], %[[ONEF64]])
// CHECK: %[[IENC:.+]] = llvm.intr.fma(%[[EENC]], %[[RENC]], %[[RENC]])
// CHECK: %[[RESTENC:.+]] = llvm.intr.fma(%[[MINUSENC]], %[[IENC]], %[[ONEF64]])
// CHECK: %[[NANENC:.+]] = arith.cmpf uno, %[[RESTENC]], %[[RESTENC]] : f64
// CHECK: %[[APPROXENC:.+]] = arith.truncf %[[RENC]] : f64 to f32
// CHECK: %[[EXACTENC:.+]] = llvm.intr.fma(%[[RESTENC]], %[[IENC]], %[[IENC]])
// CHECK: %[[NEARESTENC:.+]] = arith.truncf %[[EXACTENC]] : f64 to f32
// CHECK: %[[ENCODE:.+]] = arith.select %[[NANENC]], %[[APPROXENC]], %[[NEARESTENC]] : f32
// CHECK: %[[LAST:.+]]:3 = scf.while (%[[COUNT0:.+]] = %c1_i32, %[[CODES0:.+]] = %c0_i32, %[[A0:.+]] = %[[AMAX]]) : (i32, i32, f32) -> (i32, i32, f32) {
// CHECK: %[[ISLEFT:.+]] = arith.cmpi ne, %[[COUNT0]], %c0_i32 : i32
// CHECK: scf.condition(%[[ISLEFT]]) %[[COUNT0]], %[[CODES0]], %[[A0]] : i32, i32, f32
// CHECK: ^bb0(%[[COUNT:.+]]: i32, %[[CODES:.+]]: i32, %[[A:.+]]: f32):
// CHECK: %[[A64:.+]] = arith.extf %[[A]] : f32 to f64
// CHECK: %[[SIXTH64:.+]] = arith.mulf %[[A64]], %[[SIXTHF64]] : f64
// CHECK: %[[SIXTH1:.+]] = arith.truncf %[[SIXTH64]] : f64 to f32
// CHECK: %[[DIVIDEND:.+]] = arith.extf %[[SIXTH1]] : f32 to f64
// CHECK: %[[RQUO:.+]] = nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[G64]] : f64) -> f64
// CHECK: %[[EQUO:.+]] = llvm.intr.fma(%[[MINUSENC]], %[[RQUO]], %[[ONEF64]])
// CHECK: %[[IQUO:.+]] = llvm.intr.fma(%[[EQUO]], %[[RQUO]], %[[RQUO]])
// CHECK: %[[QQUO:.+]] = arith.mulf %[[DIVIDEND]], %[[IQUO]] : f64
// CHECK: %[[RESTQUO:.+]] = llvm.intr.fma(%[[MINUSENC]], %[[QQUO]], %[[DIVIDEND]])
// CHECK: %[[ZEROQUO:.+]] = arith.cmpf oeq, %[[SIXTH1]], %{{.+}} : f32
// CHECK: %[[NANQUO:.+]] = arith.cmpf uno, %[[RESTQUO]], %[[RESTQUO]] : f64
// CHECK: %[[ODDQUO:.+]] = arith.ori %[[ZEROQUO]], %[[NANQUO]] : i1
// CHECK: %[[SPECIALQUO:.+]] = arith.mulf %[[DIVIDEND]], %[[RQUO]] : f64
// CHECK: %[[APPROXQUO:.+]] = arith.truncf %[[SPECIALQUO]] : f64 to f32
// CHECK: %[[EXACTQUO:.+]] = llvm.intr.fma(%[[RESTQUO]], %[[IQUO]], %[[QQUO]])
// CHECK: %[[NEARESTQUO:.+]] = arith.truncf %[[EXACTQUO]] : f64 to f32
// CHECK: %[[QUOTIENT1:.+]] = arith.select %[[ODDQUO]], %[[APPROXQUO]], %[[NEARESTQUO]] : f32
// CHECK: %[[SCALE1:.+]] = arith.maximumf %[[QUOTIENT1]], %[[FLOOR]] : f32
// CHECK: %[[PAIR1:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE1]], %[[SCALE1]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES1:.+]] = llvm.bitcast %[[PAIR1]] : i16 to vector<2xi8>
// CHECK: %[[HALVES1:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES1]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF1:.+]] = llvm.extractelement %[[HALVES1]][%c0_i32
// CHECK: %[[S1:.+]] = arith.extf %[[HALF1]] : f16 to f32
// CHECK: %[[LEFT:.+]] = nvvm.inline_ptx ".pragma \22nounroll\22; sub.u32 $0, $1, 1;" ro(%[[COUNT]] : i32) -> i32
// CHECK: %[[CODE:.+]] = arith.extui %[[PAIR1]] : i16 to i32
// CHECK: %[[NEXTCODES:.+]] = llvm.intr.fshr(%[[CODE]], %[[CODES]], %c8_i32)
// CHECK: %[[ENCODE64:.+]] = arith.extf %[[ENCODE]] : f32 to f64
// CHECK: %[[S64:.+]] = arith.extf %[[S1]] : f32 to f64
// CHECK: %[[RF:.+]] = nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[S64]] : f64) -> f64
// CHECK: %[[MINUSF:.+]] = arith.negf %[[S64]] : f64
// CHECK: %[[EF:.+]] = llvm.intr.fma(%[[MINUSF]], %[[RF]], %[[ONEF64]])
// CHECK: %[[IF:.+]] = llvm.intr.fma(%[[EF]], %[[RF]], %[[RF]])
// CHECK: %[[QF:.+]] = arith.mulf %[[ENCODE64]], %[[IF]] : f64
// CHECK: %[[RESTF:.+]] = llvm.intr.fma(%[[MINUSF]], %[[QF]], %[[ENCODE64]])
// CHECK: %[[ZEROF:.+]] = arith.cmpf oeq, %[[ENCODE]], %{{.+}} : f32
// CHECK: %[[NANF:.+]] = arith.cmpf uno, %[[RESTF]], %[[RESTF]] : f64
// CHECK: %[[ODDF:.+]] = arith.ori %[[ZEROF]], %[[NANF]] : i1
// CHECK: %[[SPECIALF:.+]] = arith.mulf %[[ENCODE64]], %[[RF]] : f64
// CHECK: %[[APPROXF:.+]] = arith.truncf %[[SPECIALF]] : f64 to f32
// CHECK: %[[EXACTF:.+]] = llvm.intr.fma(%[[RESTF]], %[[IF]], %[[QF]])
// CHECK: %[[NEARESTF:.+]] = arith.truncf %[[EXACTF]] : f64 to f32
// CHECK: %[[FACTOR1:.+]] = arith.select %[[ODDF]], %[[APPROXF]], %[[NEARESTF]] : f32
// CHECK: scf.yield %[[LEFT]], %[[NEXTCODES]], %[[FACTOR1]] : i32, i32, f32
// CHECK: %[[HIGHCODES:.+]] = llvm.intr.fshr(%c0_i32, %[[LAST]]#1, %c24_i32)
// CHECK: %[[LASTBYTE:.+]] = arith.trunci %[[HIGHCODES]] : i32 to i16
// CHECK: scf.yield %[[LASTBYTE]], %[[LAST]]#2 : i16, f32
// CHECK: llvm.insertelement %[[RESULT]]#1
// CHECK: arith.trunci %[[RESULT]]#0 : i16 to i8
// CHECK: gpu.return
func.func @torchao_scaled(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_scale(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// With the amax, g = amax / 2688, by a product in f64.
// LOOP-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_amax(
// LOOP-NOT: {{arith.divf|scf.while}}
// LOOP: scf.while
// LOOP-NOT: {{arith.divf|scf.while}}
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_amax(
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[MUCH:.+]] = arith.constant 1.024000e+03 : f32
// CHECK-DAG: %[[PART:.+]] = arith.constant 3.720238095238095E-4 : f64
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[G64:.+]] = arith.extf %[[G]] : f32 to f64
// CHECK: %[[PRODUCT:.+]] = arith.mulf %[[G64]], %[[PART]] : f64
// CHECK: %[[D:.+]] = arith.truncf %[[PRODUCT]] : f64 to f32
// CHECK: %[[LARGEST:.+]] = arith.mulf %[[D]], %[[MUCH]] : f32
// CHECK: %[[NEARD:.+]] = nvvm.rcp.approx.ftz.f %[[D]] : f32
// CHECK: %[[MINUSD:.+]] = arith.negf %[[D]] : f32
// CHECK: %[[ERRORD:.+]] = llvm.intr.fma(%[[MINUSD]], %[[NEARD]], %[[ONE]])
// CHECK: %[[INVERSE:.+]] = llvm.intr.fma(%[[ERRORD]], %[[NEARD]], %[[NEARD]])
// CHECK: %[[BITS:.+]] = llvm.bitcast %[[D]] : f32 to i32
// CHECK: %[[DISTANCE:.+]] = arith.subi %[[BITS]], %c394264576_i32 : i32
// CHECK: %[[WITHIN:.+]] = arith.cmpi ult, %[[DISTANCE]], %c1342177280_i32 : i32
// CHECK: %[[MANTISSA:.+]] = arith.andi %[[BITS]], %c8388607_i32 : i32
// CHECK: %[[NOTONES:.+]] = arith.cmpi ne, %[[MANTISSA]], %c8388607_i32 : i32
// CHECK: %[[USUAL:.+]] = arith.andi %[[NOTONES]], %[[WITHIN]] : i1
// CHECK: scf.if %[[USUAL]] -> (i16, f32) {
// CHECK: arith.minimumf %{{.+}}, %[[LARGEST]] : f32
// CHECK: arith.mulf %[[INVERSE]], %{{.+}} : f32
// CHECK: } else {
// CHECK: %[[D64:.+]] = arith.extf %[[D]] : f32 to f64
// CHECK: nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[D64]] : f64) -> f64
// CHECK: scf.while
// CHECK: nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[D64]] : f64) -> f64
// CHECK: gpu.return
func.func @torchao_amax(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_amax(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// A scalar global scale is an argument.
// LOOP-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_scaled_by_value(
// LOOP-NOT: {{arith.divf|scf.while}}
// LOOP: scf.while
// LOOP-NOT: {{arith.divf|scf.while}}
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_scaled_by_value(
// CHECK-SAME: %[[G:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: i64)
// CHECK: nvvm.rcp.approx.ftz.f %[[G]] : f32
// CHECK: llvm.bitcast %[[G]] : f32 to i32
// CHECK: arith.extf %[[G]] : f32 to f64
func.func @torchao_by_value(%x: memref<?x16xbf16>, %g: f32, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, f32) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: f32, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_scale(%lg : f32) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// S = 2688 / max(amax, 1e-8); e4m3(max((amax / 6) * S, 2^-9)), S / s. What the
// divisor of S is decides between shortcuts and the loop.
// LOOP-LABEL: gpu.func @quantize_e2m1_mslk_bf16_k16_amax(
// LOOP-NOT: {{arith.divf|scf.while}}
// LOOP: scf.while
// LOOP-NOT: {{arith.divf|scf.while}}
// CHECK-LABEL: gpu.func @quantize_e2m1_mslk_bf16_k16_amax(
// CHECK-DAG: %[[RANGEF64:.+]] = arith.constant 2.688000e+03 : f64
// CHECK-DAG: %[[SIXTHF64:.+]] = arith.constant 0.16666666666666666 : f64
// CHECK-DAG: %[[ONEF64:.+]] = arith.constant 1.000000e+00 : f64
// CHECK-DAG: %[[HIGH:.+]] = arith.constant 0.166666657 : f32
// CHECK-DAG: %[[LOW:.+]] = arith.constant 9.93410775E-9 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 0.001953125 : f32
// CHECK-DAG: %[[RANGE:.+]] = arith.constant 2.688000e+03 : f32
// CHECK-DAG: %[[LEAST:.+]] = arith.constant 9.99999993E-9 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[BOUNDED:.+]] = arith.maximumf %[[G]], %[[LEAST]] : f32
// CHECK: %[[NEARB:.+]] = nvvm.rcp.approx.ftz.f %[[BOUNDED]] : f32
// CHECK: %[[MINUSB:.+]] = arith.negf %[[BOUNDED]] : f32
// CHECK: %[[ERRORB:.+]] = llvm.intr.fma(%[[MINUSB]], %[[NEARB]], %[[ONE]])
// CHECK: %[[INVERSE:.+]] = llvm.intr.fma(%[[ERRORB]], %[[NEARB]], %[[NEARB]])
// CHECK: %[[E0:.+]] = arith.mulf %[[INVERSE]], %[[RANGE]] : f32
// CHECK: %[[RE:.+]] = llvm.intr.fma(%[[MINUSB]], %[[E0]], %[[RANGE]])
// CHECK: %[[E:.+]] = llvm.intr.fma(%[[RE]], %[[INVERSE]], %[[E0]])
// CHECK: %[[BITS:.+]] = llvm.bitcast %[[BOUNDED]] : f32 to i32
// CHECK: %[[DISTANCE:.+]] = arith.subi %[[BITS]], %c394264576_i32 : i32
// CHECK: %[[WITHIN:.+]] = arith.cmpi ult, %[[DISTANCE]], %c1342177280_i32 : i32
// CHECK: %[[MANTISSA:.+]] = arith.andi %[[BITS]], %c8388607_i32 : i32
// CHECK: %[[NOTONES:.+]] = arith.cmpi ne, %[[MANTISSA]], %c8388607_i32 : i32
// CHECK: %[[USUAL:.+]] = arith.andi %[[NOTONES]], %[[WITHIN]] : i1
// CHECK: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[MAGNITUDE]] : i32 to f32
// CHECK: %[[RESULT:.+]]:2 = scf.if %[[USUAL]] -> (i16, f32) {
// CHECK: %[[REST:.+]] = arith.mulf %[[AMAX]], %[[LOW]] : f32
// CHECK: %[[SIXTH:.+]] = llvm.intr.fma(%[[AMAX]], %[[HIGH]], %[[REST]])
// CHECK: %[[PRODUCT:.+]] = arith.mulf %[[SIXTH]], %[[E]] : f32
// CHECK: %[[SCALE:.+]] = arith.maximumf %[[PRODUCT]], %[[FLOOR]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[NEARS:.+]] = nvvm.rcp.approx.ftz.f %[[S]] : f32
// CHECK: %[[MINUSS:.+]] = arith.negf %[[S]] : f32
// CHECK: %[[ERRORS:.+]] = llvm.intr.fma(%[[MINUSS]], %[[NEARS]], %[[ONE]])
// CHECK: %[[INVERSES:.+]] = llvm.intr.fma(%[[ERRORS]], %[[NEARS]], %[[NEARS]])
// CHECK: %[[F0:.+]] = arith.mulf %[[E]], %[[INVERSES]] : f32
// CHECK: %[[RESTS:.+]] = llvm.intr.fma(%[[MINUSS]], %[[F0]], %[[E]])
// CHECK: %[[F:.+]] = llvm.intr.fma(%[[RESTS]], %[[INVERSES]], %[[F0]])
// CHECK: %[[BYTE:.+]] = arith.andi %[[PAIR]], %c255_i16 : i16
// CHECK: scf.yield %[[BYTE]], %[[F]] : i16, f32
// CHECK: } else {
// CHECK: %[[BOUNDED64:.+]] = arith.extf %[[BOUNDED]] : f32 to f64
// CHECK: %[[RENC:.+]] = nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[BOUNDED64]] : f64) -> f64
// CHECK: %[[MINUSENC:.+]] = arith.negf %[[BOUNDED64]] : f64
// CHECK: %[[EENC:.+]] = llvm.intr.fma(%[[MINUSENC]], %[[RENC]], %[[ONEF64]])
// CHECK: %[[IENC:.+]] = llvm.intr.fma(%[[EENC]], %[[RENC]], %[[RENC]])
// CHECK: %[[QENC:.+]] = arith.mulf %[[IENC]], %[[RANGEF64]] : f64
// CHECK: %[[RESTENC:.+]] = llvm.intr.fma(%[[MINUSENC]], %[[QENC]], %[[RANGEF64]])
// CHECK: %[[NANENC:.+]] = arith.cmpf uno, %[[RESTENC]], %[[RESTENC]] : f64
// CHECK: %[[SPECIALENC:.+]] = arith.mulf %[[RENC]], %[[RANGEF64]] : f64
// CHECK: %[[APPROXENC:.+]] = arith.truncf %[[SPECIALENC]] : f64 to f32
// CHECK: %[[EXACTENC:.+]] = llvm.intr.fma(%[[RESTENC]], %[[IENC]], %[[QENC]])
// CHECK: %[[NEARESTENC:.+]] = arith.truncf %[[EXACTENC]] : f64 to f32
// CHECK: %[[ENCODE:.+]] = arith.select %[[NANENC]], %[[APPROXENC]], %[[NEARESTENC]] : f32
// CHECK: %[[LAST:.+]]:3 = scf.while (%[[COUNT0:.+]] = %c1_i32, %[[CODES0:.+]] = %c0_i32, %[[A0:.+]] = %[[AMAX]]) : (i32, i32, f32) -> (i32, i32, f32) {
// CHECK: %[[ISLEFT:.+]] = arith.cmpi ne, %[[COUNT0]], %c0_i32 : i32
// CHECK: scf.condition(%[[ISLEFT]]) %[[COUNT0]], %[[CODES0]], %[[A0]] : i32, i32, f32
// CHECK: ^bb0(%[[COUNT:.+]]: i32, %[[CODES:.+]]: i32, %[[A:.+]]: f32):
// CHECK: %[[A64:.+]] = arith.extf %[[A]] : f32 to f64
// CHECK: %[[SIXTH64:.+]] = arith.mulf %[[A64]], %[[SIXTHF64]] : f64
// CHECK: %[[SIXTH1:.+]] = arith.truncf %[[SIXTH64]] : f64 to f32
// CHECK: %[[PRODUCT1:.+]] = arith.mulf %[[SIXTH1]], %[[ENCODE]] : f32
// CHECK: %[[SCALE1:.+]] = arith.maximumf %[[PRODUCT1]], %[[FLOOR]] : f32
// CHECK: %[[PAIR1:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE1]], %[[SCALE1]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES1:.+]] = llvm.bitcast %[[PAIR1]] : i16 to vector<2xi8>
// CHECK: %[[HALVES1:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES1]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF1:.+]] = llvm.extractelement %[[HALVES1]][%c0_i32
// CHECK: %[[S1:.+]] = arith.extf %[[HALF1]] : f16 to f32
// CHECK: %[[LEFT:.+]] = nvvm.inline_ptx ".pragma \22nounroll\22; sub.u32 $0, $1, 1;" ro(%[[COUNT]] : i32) -> i32
// CHECK: %[[CODE:.+]] = arith.extui %[[PAIR1]] : i16 to i32
// CHECK: %[[NEXTCODES:.+]] = llvm.intr.fshr(%[[CODE]], %[[CODES]], %c8_i32)
// CHECK: %[[ENCODE64:.+]] = arith.extf %[[ENCODE]] : f32 to f64
// CHECK: %[[S64:.+]] = arith.extf %[[S1]] : f32 to f64
// CHECK: %[[RF:.+]] = nvvm.inline_ptx "rcp.approx.ftz.f64 $0, $1;" ro(%[[S64]] : f64) -> f64
// CHECK: %[[MINUSF:.+]] = arith.negf %[[S64]] : f64
// CHECK: %[[EF:.+]] = llvm.intr.fma(%[[MINUSF]], %[[RF]], %[[ONEF64]])
// CHECK: %[[IF:.+]] = llvm.intr.fma(%[[EF]], %[[RF]], %[[RF]])
// CHECK: %[[QF:.+]] = arith.mulf %[[ENCODE64]], %[[IF]] : f64
// CHECK: %[[RESTF:.+]] = llvm.intr.fma(%[[MINUSF]], %[[QF]], %[[ENCODE64]])
// CHECK: %[[ZEROF:.+]] = arith.cmpf oeq, %[[ENCODE]], %{{.+}} : f32
// CHECK: %[[NANF:.+]] = arith.cmpf uno, %[[RESTF]], %[[RESTF]] : f64
// CHECK: %[[ODDF:.+]] = arith.ori %[[ZEROF]], %[[NANF]] : i1
// CHECK: %[[SPECIALF:.+]] = arith.mulf %[[ENCODE64]], %[[RF]] : f64
// CHECK: %[[APPROXF:.+]] = arith.truncf %[[SPECIALF]] : f64 to f32
// CHECK: %[[EXACTF:.+]] = llvm.intr.fma(%[[RESTF]], %[[IF]], %[[QF]])
// CHECK: %[[NEARESTF:.+]] = arith.truncf %[[EXACTF]] : f64 to f32
// CHECK: %[[FACTOR1:.+]] = arith.select %[[ODDF]], %[[APPROXF]], %[[NEARESTF]] : f32
// CHECK: scf.yield %[[LEFT]], %[[NEXTCODES]], %[[FACTOR1]] : i32, i32, f32
// CHECK: %[[HIGHCODES:.+]] = llvm.intr.fshr(%c0_i32, %[[LAST]]#1, %c24_i32)
// CHECK: %[[LASTBYTE:.+]] = arith.trunci %[[HIGHCODES]] : i32 to i16
// CHECK: scf.yield %[[LASTBYTE]], %[[LAST]]#2 : i16, f32
// CHECK: llvm.insertelement %[[RESULT]]#1
// CHECK: arith.trunci %[[RESULT]]#0 : i16 to i8
// CHECK: gpu.return
func.func @mslk_amax(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe mslk global_amax(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// e4m3(amax * (1/6)), min(1 / s, FLT_MAX); -0 becomes +0.
// LOOP-LABEL: gpu.func @quantize_e2m1_te_bf16_k16(
// LOOP-NOT: {{scf.while|f64}}
// CHECK-LABEL: gpu.func @quantize_e2m1_te_bf16_k16(
// CHECK-DAG: %[[SIXTH:.+]] = arith.constant 0.166666672 : f32
// CHECK-DAG: %[[LARGEST:.+]] = arith.constant 3.40282347E+38 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[MAGNITUDE]] : i32 to f32
// CHECK: %[[SCALE:.+]] = arith.mulf %[[AMAX]], %[[SIXTH]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[INVERSE:.+]] = arith.divf %[[ONE]], %[[S]] : f32
// CHECK: %[[FACTOR:.+]] = arith.minimumf %[[INVERSE]], %[[LARGEST]] : f32
// CHECK: %[[SCALED:.+]] = arith.mulf %{{.+}}, %{{.+}} : vector<8xf32>
// CHECK: arith.addf %[[SCALED]], %[[ZEROS]] : vector<8xf32>
func.func @te(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// S = min(2688 / amax, FLT_MAX), 1 where amax or S is 0; e4m3(amax * (S * (1/6))),
// min(1 / (s * (1 / S)), FLT_MAX).
// CHECK-LABEL: gpu.func @quantize_e2m1_te_bf16_k16_amax(
// CHECK-DAG: %[[SIXTH:.+]] = arith.constant 0.166666672 : f32
// CHECK-DAG: %[[LARGEST:.+]] = arith.constant 3.40282347E+38 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[RANGE:.+]] = arith.constant 2.688000e+03 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[QUOTIENT:.+]] = arith.divf %[[RANGE]], %[[G]] : f32
// CHECK: %[[BOUNDED:.+]] = arith.minimumf %[[QUOTIENT]], %[[LARGEST]] : f32
// CHECK: %[[G0:.+]] = arith.cmpf oeq, %[[G]], %[[ZERO]] : f32
// CHECK: %[[E0:.+]] = arith.cmpf oeq, %[[BOUNDED]], %[[ZERO]] : f32
// CHECK: %[[NOT0:.+]] = arith.select %[[E0]], %[[ONE]], %[[BOUNDED]] : f32
// CHECK: %[[E:.+]] = arith.select %[[G0]], %[[ONE]], %[[NOT0]] : f32
// CHECK: %[[D:.+]] = arith.divf %[[ONE]], %[[E]] : f32
// CHECK: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[MAGNITUDE]] : i32 to f32
// CHECK: %[[E6:.+]] = arith.mulf %[[E]], %[[SIXTH]] : f32
// CHECK: %[[SCALE:.+]] = arith.mulf %[[AMAX]], %[[E6]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[PRODUCT:.+]] = arith.mulf %[[S]], %[[D]] : f32
// CHECK: %[[INVERSE:.+]] = arith.divf %[[ONE]], %[[PRODUCT]] : f32
// CHECK: %[[FACTOR:.+]] = arith.minimumf %[[INVERSE]], %[[LARGEST]] : f32
// CHECK: llvm.insertelement %[[FACTOR]]
func.func @te_amax(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te global_amax(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// From a decode scale, S = min(1 / g, FLT_MAX).
// CHECK-LABEL: gpu.func @quantize_e2m1_te_bf16_k16_scaled(
// CHECK-DAG: %[[LARGEST:.+]] = arith.constant 3.40282347E+38 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[QUOTIENT:.+]] = arith.divf %[[ONE]], %[[G]] : f32
// CHECK: arith.minimumf %[[QUOTIENT]], %[[LARGEST]] : f32
func.func @te_scaled(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te global_scale(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// e4m3(max(amax / (6 * g), 2^-9)), 1 where the quotient is 0; elements are divided
// by s * g; -0 becomes +0.
// CHECK-LABEL: gpu.func @quantize_e2m1_modelopt_bf16_k16_scaled(
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 0.001953125 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[MAGNITUDE]] : i32 to f32
// CHECK: %[[SIXG:.+]] = arith.mulf %[[G]], %[[SIX]] : f32
// CHECK: %[[QUOTIENT:.+]] = arith.divf %[[AMAX]], %[[SIXG]] : f32
// CHECK: %[[IS0:.+]] = arith.cmpf oeq, %[[QUOTIENT]], %[[ZERO]] : f32
// CHECK: %[[FLOORED:.+]] = arith.maximumf %[[QUOTIENT]], %[[FLOOR]] : f32
// CHECK: %[[SCALE:.+]] = arith.select %[[IS0]], %[[ONE]], %[[FLOORED]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %[[SCALE]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[FACTOR:.+]] = arith.mulf %[[S]], %[[G]] : f32
// CHECK: %[[ONEFACTOR:.+]] = llvm.insertelement %[[FACTOR]]
// CHECK: %[[FACTORS:.+]] = llvm.shufflevector %[[ONEFACTOR]]
// CHECK: %[[SCALED:.+]] = arith.divf %{{.+}}, %[[FACTORS]] : vector<8xf32>
// CHECK: arith.addf %[[SCALED]], %[[ZEROS]] : vector<8xf32>
func.func @modelopt_scaled(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt global_scale(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}
