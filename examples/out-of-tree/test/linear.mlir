// The dialect is printed and parsed, beside BlockScale's, and its lowering makes ops of that.
// RUN: embed-opt %s | embed-opt | FileCheck %s --check-prefix=PARSED
// RUN: embed-opt %s --net-to-blockscale | FileCheck %s

// PARSED-LABEL: func.func @recipe(
// PARSED: net.linear %{{.*}}, %{{.*}} recipe te : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
// PARSED-LABEL: func.func @quantized(
// PARSED: blockscale.quantize {{.*}} recipe torchao

// CHECK-LABEL: func.func @recipe(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<48x64xbf16>)
// CHECK: %[[XD:.*]], %[[XS:.*]] = blockscale.quantize %[[X]] block [1, 16] recipe te : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
// CHECK: %[[WD:.*]], %[[WS:.*]] = blockscale.quantize %[[W]] block [1, 16] recipe te
// CHECK: %[[Y:.*]] = blockscale.scaled_mm %[[XD]], %[[WD]] scales(%[[XS]], %[[WS]]) block [1, 16]
// CHECK: return %[[Y]]
func.func @recipe(%x: tensor<?x64xbf16>, %w: tensor<48x64xbf16>) -> tensor<?x48xbf16> {
  %y = net.linear %x, %w recipe te
      : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}

// What is no layer stays.
// CHECK-LABEL: func.func @quantized(
// CHECK: blockscale.quantize {{.*}} recipe torchao
// CHECK-NOT: scaled_mm
func.func @quantized(%x: tensor<4x64xbf16>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  %d, %s = blockscale.quantize %x block [1, 16] recipe torchao
      : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %d, %s : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
}
