// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// From the amax of a block to its scale, and from the scale to what elements are
// multiplied by: the operations of numerics/BlockScale.h, in their order.

// e4m3(max(amax / 6, 2^-6)), 1 / s. Both quotients are those of
// numerics/Division.h.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16(
// CHECK-DAG: %[[HIGH:.+]] = arith.constant 0.166666657 : f32
// CHECK-DAG: %[[LOW:.+]] = arith.constant 9.93410775E-9 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 1.562500e-02 : f32
// CHECK-NOT: arith.divf
// CHECK: %[[AMAX:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[REST:.+]] = arith.mulf %[[AMAX]], %[[LOW]] : f32
// CHECK: %[[SIXTH:.+]] = llvm.intr.fma(%[[AMAX]], %[[HIGH]], %[[REST]])
// CHECK: %[[SCALE:.+]] = arith.maximumf %[[SIXTH]], %[[FLOOR]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[NEAR:.+]] = nvvm.rcp.approx.ftz.f %[[S]] : f32
// CHECK: %[[MINUS:.+]] = arith.negf %[[S]] : f32
// CHECK: %[[ERROR:.+]] = llvm.intr.fma(%[[MINUS]], %[[NEAR]], %[[ONE]])
// CHECK: %[[FACTOR:.+]] = llvm.intr.fma(%[[ERROR]], %[[NEAR]], %[[NEAR]])
// CHECK: llvm.insertelement %[[FACTOR]]
// CHECK: gpu.return
func.func @torchao(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// e4m3(max((amax / 6) / g, 2^-6)), (1 / g) / s. Where 1 / g is 2^-80 to 2^80,
// quotients are those of numerics/Division.h, and saturate before they overflow.
// Elsewhere they are divisions, in a loop over the blocks.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_scaled(
// CHECK-DAG: %[[HIGH:.+]] = arith.constant 0.166666657 : f32
// CHECK-DAG: %[[LOW:.+]] = arith.constant 9.93410775E-9 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 1.562500e-02 : f32
// CHECK-DAG: %[[MUCH:.+]] = arith.constant 1.024000e+03 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[HIDDEN:.+]] = nvvm.inline_ptx "mov.b32 $0, 0f3F800000;" -> f32
// CHECK: %[[INVERSE:.+]] = arith.divf %[[HIDDEN]], %[[G]] : f32
// CHECK: %[[BITS:.+]] = llvm.bitcast %[[INVERSE]] : f32 to i32
// CHECK: %[[DISTANCE:.+]] = arith.subi %[[BITS]], %c394264576_i32 : i32
// CHECK: %[[USUAL:.+]] = arith.cmpi ult, %[[DISTANCE]], %c1342177280_i32 : i32
// CHECK: %[[LARGEST:.+]] = arith.mulf %[[G]], %[[MUCH]] : f32
// CHECK: %[[AMAX:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[SCALE:.+]] = scf.if %[[USUAL]] -> (f32) {
// CHECK: %[[REST:.+]] = arith.mulf %[[AMAX]], %[[LOW]] : f32
// CHECK: %[[SIXTH:.+]] = llvm.intr.fma(%[[AMAX]], %[[HIGH]], %[[REST]])
// CHECK: %[[BOUNDED:.+]] = arith.minimumf %[[SIXTH]], %[[LARGEST]] : f32
// CHECK: %[[Q0:.+]] = arith.mulf %[[BOUNDED]], %[[INVERSE]] : f32
// CHECK: %[[MINUSG:.+]] = arith.negf %[[G]] : f32
// CHECK: %[[R0:.+]] = llvm.intr.fma(%[[MINUSG]], %[[Q0]], %[[BOUNDED]])
// CHECK: %[[QUOTIENT:.+]] = llvm.intr.fma(%[[R0]], %[[INVERSE]], %[[Q0]])
// CHECK: %[[FLOORED:.+]] = arith.maximumf %[[QUOTIENT]], %[[FLOOR]] : f32
// CHECK: scf.yield %[[FLOORED]] : f32
// CHECK: scf.while (%{{.+}} = %c1_i32, %{{.+}} = %[[AMAX]])
// CHECK: ^bb0(%[[COUNT:.+]]: i32, %[[A:.+]]: f32):
// CHECK: %[[LEFT:.+]] = nvvm.inline_ptx "sub.u32 $0, $1, 1;" ro(%[[COUNT]] : i32) -> i32
// CHECK: %[[SIXTH1:.+]] = arith.divf %[[A]], %[[SIX]] : f32
// CHECK: %[[QUOTIENT1:.+]] = arith.divf %[[SIXTH1]], %[[G]] : f32
// CHECK: %[[FLOORED1:.+]] = arith.maximumf %[[QUOTIENT1]], %[[FLOOR]] : f32
// CHECK: scf.yield %[[LEFT]], %[[FLOORED1]] : i32, f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[FACTOR:.+]] = scf.if %[[USUAL]] -> (f32) {
// CHECK: %[[NEAR:.+]] = nvvm.rcp.approx.ftz.f %[[S]] : f32
// CHECK: %[[MINUS:.+]] = arith.negf %[[S]] : f32
// CHECK: %[[ERROR:.+]] = llvm.intr.fma(%[[MINUS]], %[[NEAR]], %[[ONE]])
// CHECK: %[[INVERSES:.+]] = llvm.intr.fma(%[[ERROR]], %[[NEAR]], %[[NEAR]])
// CHECK: %[[F0:.+]] = arith.mulf %[[INVERSE]], %[[INVERSES]] : f32
// CHECK: %[[RF:.+]] = llvm.intr.fma(%[[MINUS]], %[[F0]], %[[INVERSE]])
// CHECK: %[[F:.+]] = llvm.intr.fma(%[[RF]], %[[INVERSES]], %[[F0]])
// CHECK: scf.yield %[[F]] : f32
// CHECK: scf.while (%{{.+}} = %c1_i32, %{{.+}} = %[[S]])
// CHECK: arith.divf %[[INVERSE]], %{{.+}} : f32
// CHECK: llvm.insertelement %[[FACTOR]]
func.func @torchao_scaled(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_scale(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// With the amax, g = amax / 2688.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_amax(
// CHECK-DAG: %[[RANGE:.+]] = arith.constant 2.688000e+03 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[D:.+]] = arith.divf %[[G]], %[[RANGE]] : f32
// CHECK: %[[ONE:.+]] = nvvm.inline_ptx "mov.b32 $0, 0f3F800000;" -> f32
// CHECK: %[[INVERSE:.+]] = arith.divf %[[ONE]], %[[D]] : f32
// CHECK: arith.divf %{{.+}}, %[[D]] : f32
// CHECK: arith.divf %[[INVERSE]], %{{.+}} : f32
func.func @torchao_amax(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_amax(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// A scalar global scale is an argument.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_scaled_by_value(
// CHECK-SAME: %[[G:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: i64)
// CHECK: arith.divf %{{.+}}, %[[G]] : f32
// CHECK: arith.divf %{{.+}}, %[[G]] : f32
func.func @torchao_by_value(%x: memref<?x16xbf16>, %g: f32, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, f32) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: f32, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_scale(%lg : f32) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// S = 2688 / max(amax, 1e-8); e4m3(max((amax / 6) * S, 2^-9)), S / s.
// CHECK-LABEL: gpu.func @quantize_e2m1_mslk_bf16_k16_amax(
// CHECK-DAG: %[[HIGH:.+]] = arith.constant 0.166666657 : f32
// CHECK-DAG: %[[LOW:.+]] = arith.constant 9.93410775E-9 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[FLOOR:.+]] = arith.constant 0.001953125 : f32
// CHECK-DAG: %[[RANGE:.+]] = arith.constant 2.688000e+03 : f32
// CHECK-DAG: %[[LEAST:.+]] = arith.constant 9.99999993E-9 : f32
// CHECK: %[[G:.+]] = llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[BOUNDED:.+]] = arith.maximumf %[[G]], %[[LEAST]] : f32
// CHECK: %[[E:.+]] = arith.divf %[[RANGE]], %[[BOUNDED]] : f32
// CHECK: %[[AMAX:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[SCALE:.+]] = scf.if %[[USUAL:.+]] -> (f32) {
// CHECK: %[[REST:.+]] = arith.mulf %[[AMAX]], %[[LOW]] : f32
// CHECK: %[[SIXTH:.+]] = llvm.intr.fma(%[[AMAX]], %[[HIGH]], %[[REST]])
// CHECK: %[[PRODUCT:.+]] = arith.mulf %[[SIXTH]], %[[E]] : f32
// CHECK: arith.maximumf %[[PRODUCT]], %[[FLOOR]] : f32
// CHECK: scf.while
// CHECK: %[[SIXTH1:.+]] = arith.divf %{{.+}}, %[[SIX]] : f32
// CHECK: %[[PRODUCT1:.+]] = arith.mulf %[[SIXTH1]], %[[E]] : f32
// CHECK: arith.maximumf %[[PRODUCT1]], %[[FLOOR]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK: %[[BYTES:.+]] = llvm.bitcast %[[PAIR]] : i16 to vector<2xi8>
// CHECK: %[[HALVES:.+]] = nvvm.convert.f8x2.to.f16x2 %[[BYTES]] : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = llvm.extractelement %[[HALVES]][%c0_i32
// CHECK: %[[S:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: %[[FACTOR:.+]] = scf.if %[[USUAL]] -> (f32) {
// CHECK: arith.mulf %[[E]], %{{.+}} : f32
// CHECK: scf.while
// CHECK: arith.divf %[[E]], %{{.+}} : f32
// CHECK: llvm.insertelement %[[FACTOR]]
func.func @mslk_amax(%x: memref<?x16xbf16>, %g: memref<f32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x16xbf16>, memref<f32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lg: tensor<f32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe mslk global_amax(%lg : tensor<f32>) : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// e4m3(amax * (1/6)), min(1 / s, FLT_MAX); -0 becomes +0.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_bf16_k16(
// CHECK-DAG: %[[SIXTH:.+]] = arith.constant 0.166666672 : f32
// CHECK-DAG: %[[LARGEST:.+]] = arith.constant 3.40282347E+38 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK: %[[AMAX:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[SCALE:.+]] = arith.mulf %[[AMAX]], %[[SIXTH]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
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
// CHECK: %[[E0:.+]] = arith.cmpf oeq, %[[BOUNDED]], %[[ZERO]] : f32
// CHECK: %[[NOT0:.+]] = arith.select %[[E0]], %[[ONE]], %[[BOUNDED]] : f32
// CHECK: %[[G0:.+]] = arith.cmpf oeq, %[[G]], %[[ZERO]] : f32
// CHECK: %[[E:.+]] = arith.select %[[G0]], %[[ONE]], %[[NOT0]] : f32
// CHECK: %[[E6:.+]] = arith.mulf %[[E]], %[[SIXTH]] : f32
// CHECK: %[[D:.+]] = arith.divf %[[ONE]], %[[E]] : f32
// CHECK: %[[AMAX:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[SCALE:.+]] = arith.mulf %[[AMAX]], %[[E6]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
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
// CHECK: %[[AMAX:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[SIXG:.+]] = arith.mulf %[[G]], %[[SIX]] : f32
// CHECK: %[[QUOTIENT:.+]] = arith.divf %[[AMAX]], %[[SIXG]] : f32
// CHECK: %[[FLOORED:.+]] = arith.maximumf %[[QUOTIENT]], %[[FLOOR]] : f32
// CHECK: %[[IS0:.+]] = arith.cmpf oeq, %[[QUOTIENT]], %[[ZERO]] : f32
// CHECK: %[[SCALE:.+]] = arith.select %[[IS0]], %[[ONE]], %[[FLOORED]] : f32
// CHECK: %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
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
