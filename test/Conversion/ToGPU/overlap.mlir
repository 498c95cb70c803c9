// Launches that may begin before those before them have ended (docs/LaunchPlan.md, launches that
// overlap): what the option of the pass adds, on chips that have the instruction.

// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_90a overlap-launches' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_120a overlap-launches' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_90a' | FileCheck %s --check-prefix=ORDINARY
// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_89 overlap-launches' | FileCheck %s --check-prefix=ORDINARY
// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_89 overlap-launches' --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu='chip=sm_90a overlap-launches' --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty

// ORDINARY-NOT: griddepcontrol
// ORDINARY-NOT: blockscale.programmatic
// REMARK: launches do not overlap on sm_89, which has no griddepcontrol
// SILENT-NOT: launches do not overlap

// A kernel lets the launch behind it begin, and every thread waits before it loads or stores
// anything: no branch comes before. So it is with plain kernels.
// CHECK-LABEL: gpu.func @quantize_
// CHECK-NOT: {{scf.if|scf.for|llvm.load|llvm.store}}
// CHECK: {{^      }}nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: {{^      }}nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
// CHECK: gpu.func @plain_
// CHECK-NOT: {{scf.if|scf.for|llvm.load|llvm.store}}
// CHECK: {{^      }}nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: {{^      }}nvvm.griddepcontrol wait
// CHECK-NOT: griddepcontrol
// CHECK: gpu.return
// CHECK-LABEL: func.func @two(
// CHECK: gpu.launch_func @blockscale_kernels::@quantize_{{.*}} {blockscale.programmatic}
// CHECK: gpu.launch_func @blockscale_kernels::@plain_{{.*}} {blockscale.programmatic}
func.func @two(%x: tensor<16x256xbf16>) -> (tensor<16x256xf8E4M3FN>, tensor<256xf32>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<16x256xbf16> -> tensor<16x256xf8E4M3FN>, tensor<16x8xf8E8M0FNU>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %sums = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<16x256xf8E4M3FN>) outs(%f : tensor<256xf32>) {
  ^bb0(%v: f8E4M3FN, %sum: f32):
    %v32 = arith.extf %v : f8E4M3FN to f32
    %p = arith.addf %sum, %v32 : f32
    linalg.yield %p : f32
  } -> tensor<256xf32>
  return %q, %sums : tensor<16x256xf8E4M3FN>, tensor<256xf32>
}

// -----

// A norm loads its weight, which no step of the call writes, before it waits, and its rows behind
// the wait. So it is not with a weight that a step makes.
// CHECK-LABEL: gpu.func @rows_
// CHECK-NOT: llvm.load
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: llvm.load %{{.*}} -> vector<{{4|8}}xi32>
// CHECK: nvvm.griddepcontrol wait
// CHECK: llvm.load %{{.*}} -> vector<{{4|8}}xi32>
// CHECK: gpu.barrier
// CHECK-NOT: llvm.load %{{.*}} -> vector<{{4|8}}xi32>
// CHECK: gpu.return
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>
func.func @norm(%x: tensor<4x4096xbf16>, %weight: tensor<4096xbf16>) -> tensor<4x4096xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x4096xbf16>) outs(%f : tensor<4xf32>) {
  ^bb0(%v: bf16, %sum: f32):
    %v32 = arith.extf %v : bf16 to f32
    %p = arith.mulf %v32, %v32 : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e2 = tensor.empty() : tensor<4x4096xbf16>
  %n = linalg.generic {indexing_maps = [#both, #row, #column, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %weight : tensor<4x4096xbf16>, tensor<4xf32>, tensor<4096xbf16>) outs(%e2 : tensor<4x4096xbf16>) {
  ^bb0(%v: bf16, %sum: f32, %w: bf16, %out: bf16):
    %v32 = arith.extf %v : bf16 to f32
    %w32 = arith.extf %w : bf16 to f32
    %root = math.sqrt %sum : f32
    %d = arith.divf %v32, %root : f32
    %m = arith.mulf %d, %w32 : f32
    %r = arith.truncf %m : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x4096xbf16>
  return %n : tensor<4x4096xbf16>
}

// -----

// CHECK-LABEL: gpu.func @rows_
// CHECK-NOT: llvm.load
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK: gpu.return
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>
func.func @made_weight(%x: tensor<4x1024xbf16>, %parts: tensor<2x1024xbf16>) -> tensor<4x1024xbf16> {
  %none = arith.constant 0.0 : bf16
  %e0 = tensor.empty() : tensor<1024xbf16>
  %f0 = linalg.fill ins(%none : bf16) outs(%e0 : tensor<1024xbf16>) -> tensor<1024xbf16>
  %weight = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, #row], iterator_types = ["parallel", "reduction"]}
      ins(%parts : tensor<2x1024xbf16>) outs(%f0 : tensor<1024xbf16>) {
  ^bb0(%v: bf16, %sum: bf16):
    %s = arith.addf %sum, %v : bf16
    linalg.yield %s : bf16
  } -> tensor<1024xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1024xbf16>) outs(%f : tensor<4xf32>) {
  ^bb0(%v: bf16, %sum: f32):
    %v32 = arith.extf %v : bf16 to f32
    %p = arith.mulf %v32, %v32 : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %e2 = tensor.empty() : tensor<4x1024xbf16>
  %n = linalg.generic {indexing_maps = [#both, #row, #column, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %weight : tensor<4x1024xbf16>, tensor<4xf32>, tensor<1024xbf16>) outs(%e2 : tensor<4x1024xbf16>) {
  ^bb0(%v: bf16, %sum: f32, %w: bf16, %out: bf16):
    %v32 = arith.extf %v : bf16 to f32
    %w32 = arith.extf %w : bf16 to f32
    %root = math.sqrt %sum : f32
    %d = arith.divf %v32, %root : f32
    %m = arith.mulf %d, %w32 : f32
    %r = arith.truncf %m : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4x1024xbf16>
  return %n : tensor<4x1024xbf16>
}
