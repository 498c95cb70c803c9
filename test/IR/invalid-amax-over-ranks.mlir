// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @amax_over_ranks_c1_result(%m: memref<f32>) {
  // expected-error @below {{expected no result with a memref, which is reduced in place, but got one of type 'tensor<f32>'}}
  %0 = blockscale.amax_over_ranks %m : memref<f32> -> tensor<f32>
  return
}

// -----

func.func @amax_over_ranks_c1_none(%a: tensor<3xf32>) {
  // expected-error @below {{expected a result of type 'tensor<3xf32>', but got none}}
  blockscale.amax_over_ranks %a : tensor<3xf32>
  return
}

// -----

func.func @amax_over_ranks_c1_type(%a: tensor<3xf32>) {
  // expected-error @below {{expected a result of type 'tensor<3xf32>', but got 'tensor<?xf32>'}}
  %0 = blockscale.amax_over_ranks %a : tensor<3xf32> -> tensor<?xf32>
  return
}

// -----

func.func @amax_over_ranks_c2_loop(%a: tensor<f32>, %n: index) {
  scf.forall (%i) in (%n) {
    // expected-error @below {{expected to be in no kernel, and in no loop whose iterations run at the same time, but got one in 'scf.forall'}}
    %0 = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  }
  return
}

// -----

func.func @amax_over_ranks_c2_kernel(%a: tensor<f32>, %o: tensor<f32>) -> tensor<f32> {
  %0 = blockscale.kernel ins(%a : tensor<f32>) outs(%o : tensor<f32>) {
  ^bb0(%la: tensor<f32>, %lo: tensor<f32>):
    // expected-error @below {{but got one in 'blockscale.kernel'}}
    %1 = blockscale.amax_over_ranks %la : tensor<f32> -> tensor<f32>
    blockscale.yield %1 : tensor<f32>
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @element(%a: tensor<bf16>) {
  // expected-error @below {{op operand #0 must be ranked tensor of 32-bit float values without encoding or memref of 32-bit float values, but got 'tensor<bf16>'}}
  %0 = blockscale.amax_over_ranks %a : tensor<bf16> -> tensor<f32>
  return
}

// -----

func.func @encoding(%a: tensor<4xf32, "sparse">) {
  // expected-error @below {{without encoding}}
  %0 = blockscale.amax_over_ranks %a : tensor<4xf32, "sparse"> -> tensor<4xf32>
  return
}
