// Forward and backward of a layer of gated experts, whose weights are given quantized in both
// forms, is 9 launches on every chip, for groups of any length. They are: rows and columns of x and
// of dy; gate, up and what SwiGLU makes of them; rows and columns of that; y; the gradient behind
// the second product; rows and columns of the gradients of gate and up, side by side; dx; and two
// gradients of weights.
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_80 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_89 branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_90a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_100a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_103a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_110a branch-on-rows=false' | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu='chip=sm_120a branch-on-rows=false' | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#tiles = #blockscale.layout<swizzle_128x4>

// CHECK-LABEL: func.func @experts(
// CHECK-COUNT-9: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @experts(%x: tensor<?x128xbf16>,
    %dy: tensor<?x128xbf16>,
    %o: tensor<3xi32>,
    %wg: tensor<3x160x128xf8E4M3FN>,
    %swg: tensor<3x160x4xf8E8M0FNU, #tiles>,
    %wu: tensor<3x160x128xf8E4M3FN>,
    %swu: tensor<3x160x4xf8E8M0FNU, #tiles>,
    %wd: tensor<3x128x160xf8E4M3FN>,
    %swd: tensor<3x128x5xf8E8M0FNU, #tiles>,
    %wd_t: tensor<3x160x128xf8E4M3FN>,
    %swd_t: tensor<3x160x4xf8E8M0FNU, #tiles>,
    %w_t: tensor<3x128x320xf8E4M3FN>,
    %sw_t: tensor<3x128x10xf8E8M0FNU, #tiles>)
    -> (tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<3x320x128xf32>, tensor<3x128x160xf32>, tensor<3xi32>) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %px, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32
      : tensor<?x128xbf16> -> tensor<?x128xbf16>
  %qx, %sqx = blockscale.quantize %px block [1, 32]
      : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  %qx_t, %sqx_t = blockscale.quantize %px block [32, 1] transposed
      : tensor<?x128xbf16> -> tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU>
  %gate = blockscale.scaled_grouped_mm %qx, %wg offsets(%e) scales(%sqx, %swg) block [1, 32]
      : tensor<?x128xf8E4M3FN>, tensor<3x160x128xf8E4M3FN>, tensor<3xi32>, tensor<?x4xf8E8M0FNU>,
        tensor<3x160x4xf8E8M0FNU, #tiles> -> tensor<?x160xbf16>
  %up = blockscale.scaled_grouped_mm %qx, %wu offsets(%e) scales(%sqx, %swu) block [1, 32]
      : tensor<?x128xf8E4M3FN>, tensor<3x160x128xf8E4M3FN>, tensor<3xi32>, tensor<?x4xf8E8M0FNU>,
        tensor<3x160x4xf8E8M0FNU, #tiles> -> tensor<?x160xbf16>
  %rows = tensor.dim %gate, %c0 : tensor<?x160xbf16>
  %h0 = tensor.empty(%rows) : tensor<?x160xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : tensor<?x160xbf16>, tensor<?x160xbf16>)
      outs(%h0 : tensor<?x160xbf16>) {
  ^bb0(%gate_: bf16, %up_: bf16, %o_: bf16):
    %gatef = arith.extf %gate_ : bf16 to f32
    %upf = arith.extf %up_ : bf16 to f32
    %minus = arith.negf %gatef : f32
    %exp = math.exp %minus : f32
    %sum = arith.addf %exp, %one : f32
    %silu = arith.divf %gatef, %sum : f32
    %r = arith.mulf %silu, %upf : f32
    %rounded = arith.truncf %r : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<?x160xbf16>
  %qh, %sqh = blockscale.quantize %h block [1, 32]
      : tensor<?x160xbf16> -> tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU>
  %qh_t, %sqh_t = blockscale.quantize %h block [32, 1] transposed
      : tensor<?x160xbf16> -> tensor<160x?xf8E4M3FN>, tensor<160x?xf8E8M0FNU>
  %y = blockscale.scaled_grouped_mm %qh, %wd offsets(%e) scales(%sqh, %swd) block [1, 32]
      : tensor<?x160xf8E4M3FN>, tensor<3x128x160xf8E4M3FN>, tensor<3xi32>, tensor<?x5xf8E8M0FNU>,
        tensor<3x128x5xf8E8M0FNU, #tiles> -> tensor<?x128xbf16>
  %pdy, %same = blockscale.pad_groups %dy offsets(%o : tensor<3xi32>) unit 32
      : tensor<?x128xbf16> -> tensor<?x128xbf16>
  %qdy, %sqdy = blockscale.quantize %pdy block [1, 32]
      : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  %qdy_t, %sqdy_t = blockscale.quantize %pdy block [32, 1] transposed
      : tensor<?x128xbf16> -> tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU>
  %dh = blockscale.scaled_grouped_mm %qdy, %wd_t offsets(%e) scales(%sqdy, %swd_t) block [1, 32]
      : tensor<?x128xf8E4M3FN>, tensor<3x160x128xf8E4M3FN>, tensor<3xi32>, tensor<?x4xf8E8M0FNU>,
        tensor<3x160x4xf8E8M0FNU, #tiles> -> tensor<?x160xbf16>
  %dgate = linalg.generic {indexing_maps = [#id, #id, #id, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%dh, %gate, %up : tensor<?x160xbf16>, tensor<?x160xbf16>, tensor<?x160xbf16>)
      outs(%h0 : tensor<?x160xbf16>) {
  ^bb0(%dh_: bf16, %gate_: bf16, %up_: bf16, %o_: bf16):
    %dhf = arith.extf %dh_ : bf16 to f32
    %gatef = arith.extf %gate_ : bf16 to f32
    %upf = arith.extf %up_ : bf16 to f32
    %minus = arith.negf %gatef : f32
    %exp = math.exp %minus : f32
    %sum = arith.addf %exp, %one : f32
    %sigmoid = arith.divf %one, %sum : f32
    %rest = arith.subf %one, %sigmoid : f32
    %slope = arith.mulf %gatef, %rest : f32
    %factor = arith.addf %slope, %one : f32
    %of_silu = arith.mulf %sigmoid, %factor : f32
    %of_up = arith.mulf %upf, %of_silu : f32
    %r = arith.mulf %dhf, %of_up : f32
    %rounded = arith.truncf %r : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<?x160xbf16>
  %dup = linalg.generic {indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%dh, %gate : tensor<?x160xbf16>, tensor<?x160xbf16>)
      outs(%h0 : tensor<?x160xbf16>) {
  ^bb0(%dh_: bf16, %gate_: bf16, %o_: bf16):
    %dhf = arith.extf %dh_ : bf16 to f32
    %gatef = arith.extf %gate_ : bf16 to f32
    %minus = arith.negf %gatef : f32
    %exp = math.exp %minus : f32
    %sum = arith.addf %exp, %one : f32
    %silu = arith.divf %gatef, %sum : f32
    %r = arith.mulf %dhf, %silu : f32
    %rounded = arith.truncf %r : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<?x160xbf16>
  %d = tensor.concat dim(1) %dgate, %dup
      : (tensor<?x160xbf16>, tensor<?x160xbf16>) -> tensor<?x320xbf16>
  %qd, %sqd = blockscale.quantize %d block [1, 32]
      : tensor<?x320xbf16> -> tensor<?x320xf8E4M3FN>, tensor<?x10xf8E8M0FNU>
  %qd_t, %sqd_t = blockscale.quantize %d block [32, 1] transposed
      : tensor<?x320xbf16> -> tensor<320x?xf8E4M3FN>, tensor<320x?xf8E8M0FNU>
  %dx = blockscale.scaled_grouped_mm %qd, %w_t offsets(%e) scales(%sqd, %sw_t) block [1, 32]
      : tensor<?x320xf8E4M3FN>, tensor<3x128x320xf8E4M3FN>, tensor<3xi32>, tensor<?x10xf8E8M0FNU>,
        tensor<3x128x10xf8E8M0FNU, #tiles> -> tensor<?x128xbf16>
  %dw = blockscale.scaled_grouped_mm %qd_t, %qx_t offsets(%e) scales(%sqd_t, %sqx_t) block [1, 32]
      : tensor<320x?xf8E4M3FN>, tensor<128x?xf8E4M3FN>, tensor<3xi32>, tensor<320x?xf8E8M0FNU>, tensor<128x?xf8E8M0FNU>
        -> tensor<3x320x128xf32>
  %dwd = blockscale.scaled_grouped_mm %qdy_t, %qh_t offsets(%e) scales(%sqdy_t, %sqh_t) block [1, 32]
      : tensor<128x?xf8E4M3FN>, tensor<160x?xf8E4M3FN>, tensor<3xi32>, tensor<128x?xf8E8M0FNU>, tensor<160x?xf8E8M0FNU>
        -> tensor<3x128x160xf32>
  return %y, %dx, %dw, %dwd, %e
      : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<3x320x128xf32>, tensor<3x128x160xf32>, tensor<3xi32>
}
