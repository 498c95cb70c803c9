// What blockscale-choose-schedules records at the module: kernels and buckets of sizes, the source
// of each schedule and the model's best.

// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_90a' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_90a candidates=2' | FileCheck %s --check-prefix=BEST
// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_90a schedule=#blockscale.gemm_schedule<rows=16,cols=128,stages=1,band=1,ctas=2>' | FileCheck %s --check-prefix=GIVEN
// RUN: blockscale-opt %s --pass-pipeline='builtin.module(func.func(blockscale-choose-schedules{chip=sm_90a}))' | FileCheck %s --check-prefix=FUNCTION

// The attribute is a module's.
// FUNCTION-NOT: blockscale.choices

// M has the bucket of the next power of two, K and N of the next multiple of 1024.
// CHECK: blockscale.choices = [
// CHECK-SAME: {function = "small", key = {a = "bf16", b = "f4E2M1FN", bias = "none", block = "16", data = "row-major", epilogue = "none", globals = "none", groups = "dense", k = "4096", m = "32", matrices = "1", n = "3072", order = "free", products = "1", result = "bf16", scale_a = "none", scale_b = "f8E4M3FN"}, name = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m32-n3072-k4096", predicted_ns = {{[1-9][0-9]*}} : i64, schedule = #blockscale.gemm_schedule<{{[^>]*}}>, source = "model"}
// Up to 8 rows are one bucket; an attribute is the source of its schedule, which the model does
// not rate.
// CHECK-SAME: {function = "written", {{.*}}name = "dense-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m8-n3072-k4096", schedule = #blockscale.gemm_schedule<rows = 16, cols = 128, stages = 2, band = 1, ctas = 2>, source = "attribute"}
// Sizes that are not known, and groups.
// CHECK-SAME: {function = "grouped", {{.*}}name = "rows-bf16-f4E2M1FN-f8E4M3FN-block16-bf16-m_any-n128-k64-matrices8", {{.*}}source = "model"}]

// The best first.
// BEST: blockscale.choices = [{candidates = [{predicted_ns = [[NS:[0-9]+]] : i64, schedule = [[BEST:#blockscale.gemm_schedule<[^>]*>]]}, {predicted_ns = {{[0-9]+}} : i64, schedule = #blockscale.gemm_schedule<{{[^>]*}}>}], function = "small", {{.*}}predicted_ns = [[NS]] : i64, schedule = [[BEST]], source = "model"}

// GIVEN: function = "small", {{.*}}stages = 1, {{.*}}, source = "option"}, {
// GIVEN-SAME: function = "written", {{.*}}stages = 2, {{.*}}source = "attribute"}

#swizzled = #blockscale.layout<swizzle_128x4>
func.func @small(%x: tensor<17x4096xbf16>, %w: tensor<2100x4096xf4E2M1FN>, %s: tensor<2100x256xf8E4M3FN, #swizzled>) -> tensor<17x2100xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      : tensor<17x4096xbf16>, tensor<2100x4096xf4E2M1FN>, tensor<2100x256xf8E4M3FN, #swizzled> -> tensor<17x2100xbf16>
  return %y : tensor<17x2100xbf16>
}
func.func @written(%x: tensor<1x3104xbf16>, %w: tensor<2100x3104xf4E2M1FN>, %s: tensor<2100x194xf8E4M3FN, #swizzled>) -> tensor<1x2100xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16]
      {blockscale.schedule = #blockscale.gemm_schedule<rows = 16, cols = 128, stages = 2, band = 1, ctas = 2>}
      : tensor<1x3104xbf16>, tensor<2100x3104xf4E2M1FN>, tensor<2100x194xf8E4M3FN, #swizzled> -> tensor<1x2100xbf16>
  return %y : tensor<1x2100xbf16>
}
func.func @grouped(%x: tensor<?x64xbf16>, %w: tensor<5x96x64xf4E2M1FN>, %e: tensor<5xi32>, %s: tensor<5x96x4xf8E4M3FN, #swizzled>) -> tensor<?x96xbf16> {
  %y = blockscale.scaled_grouped_mm %x, %w offsets(%e) scales(none, %s) block [1, 16]
      : tensor<?x64xbf16>, tensor<5x96x64xf4E2M1FN>, tensor<5xi32>, tensor<5x96x4xf8E4M3FN, #swizzled> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
