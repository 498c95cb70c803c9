// Weights that are dequantized to the type of activations with a global scale of 24 bits, as
// importers write them, and multiplied by `linalg`: one kernel on every chip, which decodes them.
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_80 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_86 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_89 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_100a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_103a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_120a branch-on-rows=false' | FileCheck %s
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.launch_func {{.*}}@scaled_mm_bf16_e2m1_e4m3_{{.*}}_elements_one {{.*}}
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.launch_func {{.*}}@scaled_mm_f16_e2m1_e4m3_{{.*}}_elements_scalar
// CHECK-NOT: gpu.launch_func

#swizzled = #blockscale.layout<swizzle_128x4>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// A global scale of the run time, and a number for each product.
func.func @run_time(%x: tensor<5x64xbf16>, %w: tensor<32x64xf4E2M1FN>, %s: tensor<32x4xf8E4M3FN, #swizzled>, %g: tensor<f32>) -> tensor<5x32xf32> {
  %v = blockscale.dequantize %w, %s block [1, 16] global_scale(%g : tensor<f32>) : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN, #swizzled> -> tensor<32x64xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x32xf32>) -> tensor<5x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %v : tensor<5x64xbf16>, tensor<32x64xbf16>) outs(%f : tensor<5x32xf32>) -> tensor<5x32xf32>
  return %y : tensor<5x32xf32>
}

// Constants, whose scales are swizzled at compile time, and a rounded result of dynamic rows.
func.func @constants(%x: tensor<?x64xf16>) -> tensor<?x32xf16> {
  %w = arith.constant dense<1.5> : tensor<32x64xf4E2M1FN>
  %s = arith.constant dense<0.8125> : tensor<32x4xf8E4M3FN>
  %g = arith.constant 0.0123456 : f32
  %v = blockscale.dequantize %w, %s block [1, 16] global_scale(%g : f32) : tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN> -> tensor<32x64xf16>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf16>
  %e = tensor.empty(%m) : tensor<?x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %v : tensor<?x64xf16>, tensor<32x64xf16>) outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  %o = tensor.empty(%m) : tensor<?x32xf16>
  %z = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<?x32xf32>) outs(%o : tensor<?x32xf16>) {
  ^bb0(%sum: f32, %out: f16):
    %r = arith.truncf %sum : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x32xf16>
  return %z : tensor<?x32xf16>
}
