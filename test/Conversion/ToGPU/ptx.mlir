// RUN: blockscale-opt %s --pass-pipeline="builtin.module(blockscale-lower-kernels-to-gpu,gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts),gpu-module-to-binary{format=isa})" \
// RUN:   | sed 's/\\0A/\n/g' > %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=EXACT --implicit-check-not=div.full --implicit-check-not=div.approx --implicit-check-not=.ftz < %t.ptx
// RUN: FileCheck %s --check-prefix=SHORT < %t.ptx

// The PTX text inside the gpu.binary, one line each.

// Every division is IEEE's, or refines an approximate reciprocal: in f32 of a usual
// global scale and of blocks' scales, in f64 of any value of f32. All of them are
// normal there; elsewhere subnormals are kept.
// EXACT: rcp.approx.ftz.f32
// EXACT: rcp.approx.ftz.f32
// EXACT: rcp.approx.ftz.f32
// EXACT: rcp.approx.ftz.f32
// EXACT: rcp.approx.ftz.f32
// EXACT: rcp.approx.ftz.f64
// EXACT: rcp.approx.ftz.f64
// EXACT: rcp.approx.ftz.f64

// CHECK: .target sm_100a

// NVFP4 of bf16: 32 bytes an access, amax that keeps NaN, packed products. With a
// usual global scale, the four blocks' scales are straight code; with another one,
// the four share one loop, which stays one. Neither has a division.
// SHORT-LABEL: .visible .entry quantize_e2m1_torchao_bf16_k64_scaled(
// SHORT-NOT: {{div\.|rcp\.rn|nounroll}}
// SHORT: nounroll
// SHORT-NOT: {{div\.|rcp\.rn|nounroll}}
// SHORT-LABEL: .visible .entry quantize_e4m3_rceil_bf16_k64(
// CHECK-LABEL: .visible .entry quantize_e2m1_torchao_bf16_k64_scaled(
// CHECK: .reqntid 128, 1, 1
// CHECK-COUNT-4: ld.global.{{v4.b64|v8.b32}}
// CHECK-COUNT-32: max.NaN.xorsign.abs.bf16x2
// CHECK: rcp.approx.ftz.f32
// CHECK: fma.rn.f32x2
// CHECK: min.NaN.f32
// CHECK: max.NaN.f32
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: cvt.rn.f16x2.e4m3x2
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: cvt.rn.f16x2.e4m3x2
// CHECK-COUNT-2: rcp.approx.ftz.f32
// CHECK: fma.rn.f32x2
// CHECK-COUNT-2: rcp.approx.ftz.f32
// CHECK: fma.rn.f32x2
// CHECK: rcp.approx.ftz.f64
// CHECK: mov.b32 {{.*}}, 4;
// CHECK: {{^}}[[LOOP:\$L__BB[0-9]+_[0-9]+]]:
// CHECK: mul.rn.f64 {{.*}}, 0d3FC5555555555555;
// CHECK: rcp.approx.ftz.f64
// CHECK: max.NaN.f32
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: cvt.rn.f16x2.e4m3x2
// CHECK: .pragma {{.*}}nounroll{{.*}}; sub.u32
// CHECK: rcp.approx.ftz.f64
// CHECK-NOT: {{rcp|cvt.rn.satfinite}}
// CHECK: bra {{.*}}[[LOOP]];
// CHECK: mul.rn.f32x2
// CHECK-COUNT-32: cvt.rn.satfinite.e2m1x2.f32
// CHECK: st.global.{{v4.b64|v8.b32}}
// CHECK: st.global.{{b32|v2.b16}}
func.func @nvfp4(%x: memref<?x64xbf16>, %g: memref<f32>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<?x64xbf16>, memref<f32>) outs(%q, %s : memref<?x32xi8>, memref<?x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lg: tensor<f32>, %lq: tensor<?x64xf4E2M1FN>, %ls: tensor<?x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe torchao global_scale(%lg : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  }
  return
}

// MXFP8: the scale is one cvt for two blocks. Products are not fused.
// CHECK-LABEL: .visible .entry quantize_e4m3_rceil_bf16_k64(
// CHECK-COUNT-4: ld.global.{{v4.b64|v8.b32}}
// CHECK-NOT: fma
// CHECK: cvt.rp.ue8m0x2.f32
// CHECK-NOT: {{cvt.rp|fma}}
// CHECK-COUNT-32: cvt.rn.satfinite.e4m3x2.f32
// CHECK-COUNT-2: st.global.{{v4.b64|v8.b32}}
// CHECK: st.global.b16
func.func @mxfp8(%x: memref<?x64xbf16>, %q: memref<?x64xf8E4M3FN>, %s: memref<?x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%q, %s : memref<?x64xf8E4M3FN>, memref<?x2xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lq: tensor<?x64xf8E4M3FN>, %ls: tensor<?x2xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe rceil : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  }
  return
}

// f32 input; E5M2 codes.
// CHECK-LABEL: .visible .entry quantize_e5m2_rceil_sat_f32_k64(
// CHECK-COUNT-8: ld.global.{{v4.b64|v8.b32}}
// CHECK: max.NaN.f32
// CHECK: cvt.rp.satfinite.ue8m0x2.f32
// CHECK-COUNT-32: cvt.rn.satfinite.e5m2x2.f32
func.func @e5m2(%x: memref<?x64xf32>, %q: memref<?x64xf8E5M2>, %s: memref<?x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x64xf32>) outs(%q, %s : memref<?x64xf8E5M2>, memref<?x2xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x64xf32>, %lq: tensor<?x64xf8E5M2>, %ls: tensor<?x2xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe rceil_sat : tensor<?x64xf32> -> tensor<?x64xf8E5M2>, tensor<?x2xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x64xf8E5M2>, tensor<?x2xf8E8M0FNU>
  }
  return
}

// te adds +0 after the product, which makes +0 of -0.
// CHECK-LABEL: .visible .entry quantize_e2m1_te_bf16_k16(
// CHECK: min.NaN.f32
// CHECK: mul.rn.f32x2
// CHECK: add.rn.f32x2
// CHECK: cvt.rn.satfinite.e2m1x2.f32
func.func @te(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}

// modelopt divides every element.
// CHECK-LABEL: .visible .entry quantize_e2m1_modelopt_bf16_k16(
// CHECK-COUNT-17: div.rn.f32
// CHECK-COUNT-8: cvt.rn.satfinite.e2m1x2.f32
func.func @modelopt(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}
