func.func @f() -> tensor<4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  return %w : tensor<4xf32>
}
{-# dialect_resources: {builtin: {w: "0x400000000000803F000000400000404000008040"}} #-}
