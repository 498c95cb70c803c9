// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_80 | FileCheck %s --check-prefix=MMA
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_120a | FileCheck %s --check-prefix=MMA
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_90a | FileCheck %s --check-prefix=WGMMA
// RUN: blockscale-opt %s --blockscale-to-gpu=chip=sm_100a | FileCheck %s --check-prefix=TCGEN05

// Products of linalg of plain operands run on tensor cores. Nothing is decoded, and wgmma and
// tcgen05.mma take both operands from shared memory.

// MMA-LABEL: gpu.func @plain_mm_bf16_bf16_k256_bf16
// MMA-NOT: arith.mulf
// MMA: nvvm.cp.async.shared.global
// MMA-NOT: arith.mulf
// MMA: nvvm.mma.sync
// MMA: gpu.return
// MMA: gpu.launch_func @blockscale_kernels::@plain_mm_bf16_bf16_k256_bf16
// MMA-NOT: gpu.launch_func

// WGMMA-LABEL: gpu.func @plain_mm_bf16_bf16_bf16
// WGMMA: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.bf16.bf16 {{{.*}}}, ${{[0-9]+}}, ${{[0-9]+}}, adds, 1, 1, 0, 0; {{.*}}wgmma.commit_group
// The stage before is given back while this one is multiplied.
// WGMMA: wgmma.wait_group.sync.aligned {{[12]}};
// WGMMA: gpu.launch_func @blockscale_kernels::@plain_mm_bf16_bf16_bf16
// WGMMA-NOT: gpu.launch_func

// TCGEN05-LABEL: gpu.func @plain_mm_bf16_bf16_bf16
// TCGEN05-NOT: nvvm.tcgen05.st
// TCGEN05: nvvm.tcgen05.mma {{.*}}#nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
// TCGEN05-NOT: nvvm.tcgen05.st
// TCGEN05: gpu.return
// TCGEN05: gpu.launch_func @blockscale_kernels::@plain_mm_bf16_bf16_bf16
// TCGEN05-NOT: gpu.launch_func
func.func @mm(%a: tensor<1024x256xbf16>, %b: tensor<1000x256xbf16>) -> tensor<1024x1000xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1000xf32>) -> tensor<1024x1000xf32>
  %s = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<1024x256xbf16>, tensor<1000x256xbf16>) outs(%f : tensor<1024x1000xf32>) -> tensor<1024x1000xf32>
  %y = arith.truncf %s : tensor<1024x1000xf32> to tensor<1024x1000xbf16>
  return %y : tensor<1024x1000xbf16>
}
