// An absent global scale means 1.0 in every recipe: without the operand, with a
// run-time 1.0, and after blockscale-materialize-global-scale, the bytes are the
// same.
//
// RUN: rm -rf %t && mkdir %t
// RUN: blockscale-opt %s -blockscale-materialize-global-scale -o %t/explicit.mlir
// RUN: %python %S/Inputs/run_global_scale.py %s %t/explicit.mlir %t

func.func @absent_torchao(%x: tensor<64x64xf32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe torchao
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}
func.func @given_torchao(%x: tensor<64x64xf32>, %g: tensor<f32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao global_scale(%g : tensor<f32>)
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe torchao global_scale(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}

func.func @absent_mslk(%x: tensor<64x64xf32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe mslk
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe mslk
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}
func.func @given_mslk(%x: tensor<64x64xf32>, %g: tensor<f32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe mslk global_scale(%g : tensor<f32>)
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe mslk global_scale(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}

func.func @absent_te(%x: tensor<64x64xf32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe te
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}
func.func @given_te(%x: tensor<64x64xf32>, %g: tensor<f32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe te global_scale(%g : tensor<f32>)
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe te global_scale(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}

func.func @absent_modelopt(%x: tensor<64x64xf32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe modelopt
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe modelopt
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}
func.func @given_modelopt(%x: tensor<64x64xf32>, %g: tensor<f32>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe modelopt global_scale(%g : tensor<f32>)
      : tensor<64x64xf32> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  %y = blockscale.dequantize %q, %s block [1, 16] recipe modelopt global_scale(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %q, %s, %y : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x64xf32>
}

func.func @absent_mm(%q: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>) -> tensor<64x64xf32> {
  %y = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16]
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
func.func @given_mm(%q: tensor<64x64xf4E2M1FN>, %s: tensor<64x4xf8E4M3FN>, %g: tensor<f32>) -> tensor<64x64xf32> {
  %y = blockscale.scaled_mm %q, %q scales(%s, %s) block [1, 16] global_scale_a(%g : tensor<f32>) global_scale_b(%g : tensor<f32>)
      : tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>, tensor<64x4xf8E4M3FN> -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
