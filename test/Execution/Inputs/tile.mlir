// Tiles each op of a block-scaled tensor in loops.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %quantize = transform.structured.match ops{["blockscale.quantize", "blockscale.dequantize"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %quantize tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %hadamard = transform.structured.match ops{["blockscale.hadamard"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %2, %3 = transform.structured.tile_using_forall %hadamard tile_sizes [16, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
