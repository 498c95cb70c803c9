// Launches that may begin before those before them have ended (docs/LaunchPlan.md, launches that
// overlap): what the option of the pass adds, on chips that have the instruction.

// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a overlap-launches' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_120a overlap-launches' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a' | FileCheck %s --check-prefix=ORDINARY
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_89 overlap-launches' | FileCheck %s --check-prefix=ORDINARY
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_89 overlap-launches' --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a overlap-launches' --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty

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
