// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels))' | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// One op, one kernel; the outputs are empty tensors of the result types.
// CHECK-LABEL: func.func @quantize
// CHECK-SAME: %[[X:.+]]: tensor<200x80xbf16>, %[[G:.+]]: tensor<f32>
func.func @quantize(%x: tensor<200x80xbf16>, %g: tensor<f32>) -> (tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>) {
  // CHECK: %[[QI:.+]] = tensor.empty() : tensor<200x80xf4E2M1FN>
  // CHECK: %[[SI:.+]] = tensor.empty() : tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK: %[[R:.+]]:2 = blockscale.kernel ins(%[[X]], %[[G]] : {{.+}}) outs(%[[QI]], %[[SI]] : {{.+}}) {
  // CHECK-NEXT: ^bb0(%[[LX:.+]]: tensor<200x80xbf16>, %[[LG:.+]]: tensor<f32>, %{{.+}}: tensor<200x80xf4E2M1FN>, %{{.+}}: tensor<200x5xf8E4M3FN, #swizzled>):
  // CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[LX]] block [1, 16] global_scale(%[[LG]] : tensor<f32>)
  // CHECK-NEXT: blockscale.yield %[[Q]], %[[S]]
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<200x80xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK: return %[[R]]#0, %[[R]]#1
  return %q, %s : tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
}

// Dynamic sizes of the outputs come from the operands.
// CHECK-LABEL: func.func @scaled_mm
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<?x64xf8E4M3FN>, %[[B:[a-z0-9]+]]: tensor<?x64xf8E4M3FN>
func.func @scaled_mm(%a: tensor<?x64xf8E4M3FN>, %b: tensor<?x64xf8E4M3FN>,
    %sa: tensor<?x2xf8E8M0FNU>, %sb: tensor<?x2xf8E8M0FNU>) -> tensor<?x?xf32> {
  // CHECK-DAG: %[[M:.+]] = tensor.dim %[[A]], %c0
  // CHECK-DAG: %[[N:.+]] = tensor.dim %[[B]], %c0
  // CHECK: %[[YI:.+]] = tensor.empty(%[[M]], %[[N]]) : tensor<?x?xf32>
  // CHECK: blockscale.kernel {{.+}} outs(%[[YI]] : tensor<?x?xf32>)
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<?x64xf8E4M3FN>, tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<?x2xf8E8M0FNU> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// A result may know more of its shape than the operand.
// CHECK-LABEL: func.func @static_result
func.func @static_result(%x: tensor<?x?xbf16>) -> tensor<4x64xf8E4M3FN> {
  // CHECK: tensor.empty() : tensor<4x64xf8E4M3FN>
  // CHECK: tensor.empty(%{{.+}}) : tensor<?x2xf8E8M0FNU>
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<?x?xbf16> -> tensor<4x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q : tensor<4x64xf8E4M3FN>
}

// An operand used twice is one input.
// CHECK-LABEL: func.func @operand_twice
// CHECK-SAME: %[[A:.+]]: tensor<8x64xf4E2M1FN>, %[[S:.+]]: tensor<8x4xf8E4M3FN>
func.func @operand_twice(%a: tensor<8x64xf4E2M1FN>, %s: tensor<8x4xf8E4M3FN>) -> tensor<8x8xf32> {
  // CHECK: blockscale.kernel ins(%[[A]], %[[S]] :
  // CHECK-NEXT: ^bb0(%[[LA:.+]]: tensor<8x64xf4E2M1FN>, %[[LS:.+]]: tensor<8x4xf8E4M3FN>, %{{.+}}: tensor<8x8xf32>):
  // CHECK-NEXT: blockscale.scaled_mm %[[LA]], %[[LA]] scales(%[[LS]], %[[LS]])
  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, 16]
      : tensor<8x64xf4E2M1FN>, tensor<8x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<8x4xf8E4M3FN> -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Ops of other dialects stay; ops in a kernel are in one already.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4x64xf32>, %o: tensor<f32>) -> (tensor<4x64xf32>, tensor<f32>) {
  // CHECK: %[[N:.+]] = arith.negf
  %n = arith.negf %x : tensor<4x64xf32>
  // CHECK-COUNT-1: blockscale.kernel
  // CHECK-NOT: blockscale.kernel
  %a = blockscale.kernel ins(%n : tensor<4x64xf32>) outs(%o : tensor<f32>) {
  ^bb0(%lx: tensor<4x64xf32>, %lo: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<4x64xf32> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  } -> tensor<f32>
  return %n, %a : tensor<4x64xf32>, tensor<f32>
}

// Sizes of a result that nothing else needs are those of the kernel's.
// CHECK-LABEL: func.func @size_only
// CHECK: %[[R:.+]]:2 = blockscale.kernel
// CHECK: tensor.dim %[[R]]#0, %c0
func.func @size_only(%x: tensor<?x64xbf16>) -> index {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %q, %c0 : tensor<?x64xf8E4M3FN>
  return %m : index
}
